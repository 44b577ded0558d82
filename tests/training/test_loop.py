import math
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from localgcl.config import Config, LocalGCLWarning, TrainingOptions
from localgcl.datasets import sbm
from localgcl.graph import Graph
from localgcl.methods import configure
from localgcl.training import Interrupted, Model, RunFolder, fit
from localgcl.training.steps import learning_rate

SMALL: dict[str, Any] = {"dim": 32, "num_features": 128, "steps": 12, "device": "cpu", "checkpoint_every": 3}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return sbm(150, classes=3, features=8, seed=1)


def config(**values: Any) -> Config:
    return configure("local-gcl", {**SMALL, **values})


def weights(model: Model) -> list[torch.Tensor]:
    return list(model.method.state_dict().values())


def same(a: Model, b: Model) -> bool:
    return all(torch.equal(x, y) for x, y in zip(weights(a), weights(b), strict=True))


@pytest.mark.parametrize("negatives", ["exact", "sorf", "orf", "rff", "positive"])
def test_the_loss_falls(graph: Graph, negatives: str) -> None:
    history = fit(graph, config(negatives=negatives, learning_rate=0.01, temperature=1.0)).history
    assert [row["step"] for row in history] == list(range(12))
    assert history[-1]["loss"] < history[0]["loss"] - 0.05
    assert history[0]["loss"] == pytest.approx(history[0]["positive"] + history[0]["negative"], rel=1e-5)


def test_a_seed_repeats_to_the_bit_and_another_differs(graph: Graph) -> None:
    first, second, other = (fit(graph, config(negatives="sorf", seed=seed)) for seed in (0, 0, 1))
    assert same(first, second)
    assert not same(first, other)


def test_labels_are_not_looked_at(graph: Graph) -> None:
    blind = Graph(graph.indptr, graph.indices, graph.x)
    assert same(fit(graph, config()), fit(blind, config()))


def test_the_global_generator_is_left_alone(graph: Graph) -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    fit(graph, config(steps=1))
    assert torch.equal(torch.rand(3), expected)


def test_fixed_frequencies_are_one_draw_and_resampled_ones_are_not(graph: Graph) -> None:
    # With a learning rate of almost nothing the embeddings stand still, so only the draw can move the loss.
    still = {"negatives": "rff", "learning_rate": 1e-12, "num_features": 64}
    fixed = fit(graph, config(frequencies="fixed", **still)).history
    fresh = fit(graph, config(frequencies="resampled", **still)).history
    assert len({round(row["negative"], 4) for row in fixed}) == 1
    assert len({round(row["negative"], 4) for row in fresh}) > 6


def test_callbacks_see_each_logged_row(graph: Graph) -> None:
    seen: list[dict[str, Any]] = []
    model = fit(graph, config(log_every=5), callbacks=[seen.append])
    assert [row["step"] for row in seen] == [0, 5, 10, 11]
    assert seen == model.history


def test_patience_stops_early_without_labels(graph: Graph) -> None:
    # At this learning rate the loss jumps about and stops improving long before 400 steps.
    model = fit(graph, config(steps=400, patience=5, learning_rate=0.3, negatives="exact"))
    losses = [row["loss"] for row in model.history]
    assert len(losses) < 400
    assert min(losses[-5:]) > min(losses[:-5])


@pytest.mark.parametrize(("patience", "remedy"), [(5, "raise patience from 5"), (0, "train for more steps")])
def test_best_weights_that_are_the_first_are_reported(graph: Graph, patience: int, remedy: str) -> None:
    # At this learning rate the loss leaps up, and a few steps are not enough to come back.
    leap = configure(
        "dgi", {"dim": 64, "batch_norm": True, "learning_rate": 0.5, "steps": 12, "patience": patience, "device": "cpu"}
    )
    with pytest.warns(LocalGCLWarning, match=rf"in \d+ steps the loss was never below its first value, .*{remedy}"):
        model = fit(graph, leap)
    assert same(model, fit(graph, leap.replace(steps=1)))
    assert model.step == (patience + 1 if patience else 12)


def test_a_loss_that_is_no_number_is_an_error(graph: Graph) -> None:
    huge = graph.with_features(graph.x.sign() * 3e38)
    with pytest.raises(ValueError, match=r"the loss became (nan|inf) at step \d+; lower the learning rate or scale"):
        fit(huge, config())


def test_too_many_clamped_rows_are_an_error_unless_allowed(graph: Graph) -> None:
    hard = {"negatives": "rff", "num_features": 16, "temperature": 0.05}
    with pytest.raises(
        ValueError, match=r"of the nodes had a negative term below its true lower bound.*num_features|raise either"
    ):
        fit(graph, config(**hard))
    allowed = fit(graph, config(max_clamped=1.0, **hard))
    assert allowed.history[0]["clamped"] > 0.01


def test_collapse_is_reported(graph: Graph) -> None:
    same_rows = graph.with_features(torch.ones(graph.num_nodes, 4))
    with pytest.warns(LocalGCLWarning, match="the embeddings have collapsed"):
        history = fit(same_rows, config(encoder="mlp", negatives="exact")).history
    assert history[-1]["spread"] < 0.05
    healthy = fit(graph, config()).history[-1]
    assert healthy["spread"] > 0.5
    assert healthy["rank"] > 4


@pytest.mark.parametrize("encoder", ["gcn", "mlp"])
def test_embedding_the_training_graph_again_gives_the_same_embeddings(graph: Graph, encoder: str) -> None:
    model = fit(graph, config(encoder=encoder, batch_norm=True, layers=3, steps=4))
    assert torch.equal(model.embed(graph), model.embed(graph))
    # Statistics re-estimated in one pass make eval mode agree with train mode up to n/(n-1) in the variance: 150/149 here,
    # so 0.4% in each normalised value and about twice that after two layers.
    model.method.train()
    with torch.no_grad():
        from localgcl.graph.prepare import prepare

        in_training = model.method.embed(model.method.prepare(prepare(graph, model.config.preparation, {})))
    difference = torch.linalg.norm(model.embed(graph) - in_training) / torch.linalg.norm(in_training)
    assert 0 < difference < 0.02


class Stop(Exception):
    """Stands for kill -9: nothing in the library may catch it."""


def killer(step: int) -> Any:
    def callback(row: dict[str, Any]) -> None:
        if row["step"] == step:
            raise Stop

    return callback


@pytest.mark.parametrize("step", [2, 4, 7, 10])
def test_a_killed_run_resumes_to_the_same_weights(graph: Graph, tmp_path: Path, step: int) -> None:
    settings = config(negatives="sorf", batch_norm=True, deterministic=True)
    whole = fit(graph, settings, folder=tmp_path / "whole")
    with pytest.raises(Stop):
        fit(graph, settings, folder=tmp_path / "run", callbacks=[killer(step)])
    assert not (tmp_path / "run" / "weights.safetensors").exists()
    resumed = fit(graph, settings, folder=tmp_path / "run", resume=True)
    assert same(whole, resumed)
    ours, theirs = (RunFolder.open(tmp_path / name).read_metrics() for name in ("run", "whole"))
    assert [{k: v for k, v in row.items() if k != "seconds"} for row in ours] == [
        {k: v for k, v in row.items() if k != "seconds"} for row in theirs
    ]


def test_ctrl_c_leaves_a_usable_run_that_resumes(graph: Graph, tmp_path: Path) -> None:
    def interrupt(row: dict[str, Any]) -> None:
        if row["step"] == 6:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted, match="stopped after step 7 of 12"):
        fit(graph, config(), folder=tmp_path / "run", callbacks=[interrupt])
    partial = Model.load(tmp_path / "run")
    assert partial.step == 7
    assert partial.embed(graph).shape == (150, 32)
    resumed = fit(graph, config(), folder=tmp_path / "run", resume=True)
    assert same(resumed, fit(graph, config()))
    assert Model.load(tmp_path / "run").step == 12
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_resuming_a_finished_run_leaves_it_as_it_is(graph: Graph, tmp_path: Path) -> None:
    finished = fit(graph, config(), folder=tmp_path / "run")
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    again = fit(graph, config(), folder=tmp_path / "run", resume=True)
    assert same(finished, again)
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


def test_a_damaged_checkpoint_is_refused(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(Stop):
        fit(graph, config(), folder=tmp_path / "run", callbacks=[killer(7)])
    (checkpoint,) = (tmp_path / "run").glob("checkpoint-*")
    content = bytearray(checkpoint.read_bytes())
    content[-1] ^= 1
    checkpoint.write_bytes(content)
    with pytest.raises(ValueError, match="is damaged"):
        fit(graph, config(), folder=tmp_path / "run", resume=True)


def test_deterministic_mode_is_put_back(graph: Graph) -> None:
    fit(graph, config(steps=1, deterministic=True, threads=1))
    assert not torch.are_deterministic_algorithms_enabled()


def test_a_resumed_run_takes_the_threads_it_was_started_with(graph: Graph, tmp_path: Path) -> None:
    seen: list[int] = []
    before = torch.get_num_threads()
    torch.set_num_threads(before + 1)
    with pytest.raises(Stop):
        fit(graph, config(), folder=tmp_path / "run", callbacks=[killer(5)])
    torch.set_num_threads(before)
    fit(graph, config(), folder=tmp_path / "run", resume=True, callbacks=[lambda _: seen.append(torch.get_num_threads())])
    assert set(seen) == {before + 1}
    assert torch.get_num_threads() == before


def test_warm_start(graph: Graph, tmp_path: Path) -> None:
    first = fit(graph, config(), folder=tmp_path / "first")
    again = fit(graph, config(steps=0), warm_start=tmp_path / "first")
    assert same(first, again)
    with pytest.raises(ValueError, match="has other layers than this configuration"):
        fit(graph, config(dim=16), warm_start=tmp_path / "first")


def test_autocast_trains(graph: Graph) -> None:
    model = fit(graph, config(autocast=True, learning_rate=0.01))
    assert math.isfinite(model.history[-1]["loss"])
    assert model.embed(graph).dtype == torch.float32


def test_tensorboard_events(graph: Graph, tmp_path: Path) -> None:
    fit(graph, config(tensorboard=True), folder=tmp_path / "run")
    assert list((tmp_path / "run" / "tensorboard").glob("events*"))
    with pytest.raises(ValueError, match="go into the run folder; name one"):
        fit(graph, config(tensorboard=True))


# Optimisers, schedules, the weights that are kept


def test_learning_rates_rise_and_fall_as_asked() -> None:
    plain = TrainingOptions(steps=100, learning_rate=0.1)
    assert {learning_rate(step, plain) for step in range(100)} == {0.1}
    warm = TrainingOptions(steps=100, learning_rate=0.1, warmup=20)
    assert [learning_rate(step, warm) for step in (0, 10, 20, 99)] == pytest.approx([0, 0.05, 0.1, 0.1])
    cosine = TrainingOptions(steps=100, learning_rate=0.1, warmup=20, schedule="cosine")
    half = 0.1 * (1 + math.cos(math.pi / 4)) / 2
    assert [learning_rate(step, cosine) for step in (0, 10, 20, 40, 60)] == pytest.approx([0, 0.05, 0.1, half, 0.05])
    assert 0 < learning_rate(99, cosine) < 1e-4
    short = TrainingOptions(steps=5, learning_rate=0.1, warmup=20, schedule="cosine")
    assert learning_rate(4, short) == pytest.approx(0.02)


def test_the_schedule_is_what_the_optimiser_uses(graph: Graph) -> None:
    still = fit(graph, config(steps=0))
    # The first step of a warm-up has learning rate 0, the second does not.
    assert same(still, fit(graph, config(steps=1, warmup=5)))
    assert not same(still, fit(graph, config(steps=2, warmup=5)))
    assert not same(fit(graph, config(schedule="cosine")), fit(graph, config()))


def test_adamw_decays_weights_beside_the_gradient(graph: Graph) -> None:
    # A step of Adam is at most about the learning rate an entry, whatever the penalty; AdamW's decay takes its share besides.
    start, adam, adamw = (
        fit(graph, config(steps=steps, learning_rate=0.01, weight_decay=50.0, optimiser=name)).method
        for steps, name in ((0, "adam"), (1, "adam"), (1, "adamw"))
    )
    before, plain, decayed = (m.state_dict()["encoder.weights.0.weight"] for m in (start, adam, adamw))
    assert (plain - before).abs().max() <= 0.01 * (1 + 1e-4)
    # 1 - 0.01 * 50 of the weight is left, then the same kind of step.
    assert (decayed - before / 2).abs().max() <= 0.01 * (1 + 1e-4)
    assert before.abs().max() > 0.1


# Few random features, drawn anew at each step, and hardly any learning: the lowest loss comes by chance, somewhere in between.
ROUGH: dict[str, Any] = {"steps": 40, "learning_rate": 1e-4, "negatives": "rff", "num_features": 32, "temperature": 1.0}


def test_the_best_weights_are_those_that_gave_the_lowest_loss(graph: Graph) -> None:
    losses = [row["loss"] for row in fit(graph, config(**ROUGH)).history]
    best = min(range(len(losses)), key=losses.__getitem__)
    assert 0 < best < len(losses) - 1
    kept = fit(graph, config(**ROUGH, keep="best"))
    assert [row["loss"] for row in kept.history] == losses
    # The loss of step t is that of the weights after t steps.
    assert same(kept, fit(graph, config(**{**ROUGH, "steps": best})))
    assert not same(kept, fit(graph, config(**ROUGH)))


@pytest.mark.parametrize("step", [2, 7, 25])
def test_a_killed_run_resumes_with_schedule_and_best_weights(graph: Graph, tmp_path: Path, step: int) -> None:
    settings = config(
        **ROUGH, keep="best", optimiser="adamw", schedule="cosine", warmup=4, weight_decay=1e-3, patience=20, deterministic=True
    )
    whole = fit(graph, settings, folder=tmp_path / "whole")
    with pytest.raises(Stop):
        fit(graph, settings, folder=tmp_path / "run", callbacks=[killer(step)])
    resumed = fit(graph, settings, folder=tmp_path / "run", resume=True)
    assert same(whole, resumed)
    assert [row["loss"] for row in resumed.history] == [row["loss"] for row in whole.history]


def test_the_best_weights_of_before_a_kill_are_still_known(graph: Graph, tmp_path: Path) -> None:
    losses = [row["loss"] for row in fit(graph, config(**ROUGH)).history]
    best = min(range(len(losses)), key=losses.__getitem__)
    late = best + 4  # a checkpoint has been written in between
    assert late < 39
    settings = config(**ROUGH, keep="best")
    with pytest.raises(Stop):
        fit(graph, settings, folder=tmp_path / "run", callbacks=[killer(late)])
    resumed = fit(graph, settings, folder=tmp_path / "run", resume=True)
    assert same(resumed, fit(graph, config(**{**ROUGH, "steps": best})))


def test_ctrl_c_leaves_the_best_weights_and_resumes_from_the_last(graph: Graph, tmp_path: Path) -> None:
    def interrupt(row: dict[str, Any]) -> None:
        if row["step"] == 20:
            signal.raise_signal(signal.SIGINT)

    settings = config(**ROUGH, keep="best")
    with pytest.raises(Interrupted):
        fit(graph, settings, folder=tmp_path / "run", callbacks=[interrupt])
    losses = [row["loss"] for row in RunFolder.open(tmp_path / "run").read_metrics()]
    best = min(range(len(losses)), key=losses.__getitem__)
    assert same(Model.load(tmp_path / "run"), fit(graph, config(**{**ROUGH, "steps": best})))
    assert same(fit(graph, settings, folder=tmp_path / "run", resume=True), fit(graph, settings))
