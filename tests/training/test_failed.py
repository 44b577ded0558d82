"""A run that failed says why, is not resumed into the same failure, and makes room for another attempt."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

import localgcl as lg
from localgcl.commands import main
from localgcl.datasets import READERS, Reader, sbm
from localgcl.methods import METHODS, Batch, Terms, configure
from localgcl.methods.local_gcl import LocalGCL
from localgcl.training import Model, fit
from localgcl.training.run import TrainingFailed, set_aside
from paper import cells

GRAPH = sbm(40, classes=2, features=4, mean_degree=6, seed=0)
GOOD = configure("local-gcl", {"dim": 4, "steps": 6, "device": "cpu", "negatives": "exact", "checkpoint_every": 2})


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Makes the loss of a step, or a weight after it, NaN; by default after the checkpoint of step 4."""
    when: dict[str, Any] = {"loss": 4, "weight": None}
    loss, after_step = LocalGCL.loss, LocalGCL.after_step

    def wrong_loss(self: LocalGCL, batch: Batch, generator: torch.Generator) -> Terms:
        terms = loss(self, batch, generator)
        return {**terms, "loss": terms["loss"] * math.nan} if self.step == when["loss"] else terms

    def wrong_weight(self: LocalGCL, step: int) -> None:
        after_step(self, step)
        if step == when["weight"]:
            next(self.parameters()).data[0] = math.inf

    monkeypatch.setattr(LocalGCL, "loss", wrong_loss)
    monkeypatch.setattr(LocalGCL, "after_step", wrong_weight)
    return when


@pytest.mark.usefixtures("broken")
def test_the_folder_says_why_and_what_to_do(tmp_path: Path) -> None:
    run = tmp_path / "run"
    reason = "the loss became nan at step 4; lower the learning rate or scale the features"
    with pytest.raises(TrainingFailed, match=rf"{reason}, and repeat the command: the failed run moves to .*run/failed-1"):
        fit(GRAPH, GOOD, folder=run)
    assert (run / "failed.txt").read_text() == f"{reason}\n"
    with pytest.raises(ValueError, match=rf"resuming it would repeat that: {reason}; leave --resume out"):
        fit(GRAPH, GOOD, folder=run, resume=True)
    with pytest.raises(ValueError, match=reason):
        lg.train(GRAPH, out=run, resume=True, learning_rate=1e-5)
    with pytest.raises(ValueError, match=reason):
        Model.load(run)


def test_another_attempt_keeps_the_first_beside_it(broken: dict[str, Any], tmp_path: Path) -> None:
    run = tmp_path / "run"
    for attempt in (1, 2):
        with pytest.raises(TrainingFailed):
            fit(GRAPH, GOOD.replace(seed=attempt), folder=run)
    checkpoint, *others = names(run / "failed-1")
    assert checkpoint.startswith("checkpoint-00000004-")
    assert others == ["config.toml", "failed.txt", "metrics.csv"]
    (run / "notes.md").write_text("mine")
    broken["loss"] = None
    fit(GRAPH, GOOD, folder=run)
    assert names(run) == ["config.toml", "failed-1", "failed-2", "metrics.csv", "notes.md", "weights.safetensors"]
    assert "seed = 2" in (run / "failed-2" / "config.toml").read_text()
    assert torch.equal(Model.load(run).embed(GRAPH), fit(GRAPH, GOOD).embed(GRAPH))
    with pytest.raises(FileExistsError, match="already exists"):  # this one did not fail
        fit(GRAPH, GOOD, folder=run)


def test_an_attempt_that_was_killed_before_it_wrote_anything(broken: dict[str, Any], tmp_path: Path) -> None:
    run = tmp_path / "run"
    with pytest.raises(TrainingFailed):
        fit(GRAPH, GOOD, folder=run)
    assert set_aside(run)
    assert names(run) == ["failed-1"]
    broken["loss"] = None
    fit(GRAPH, GOOD, folder=run)


def test_a_finished_run_is_not_set_aside(tmp_path: Path) -> None:
    fit(GRAPH, GOOD, folder=tmp_path / "run")
    before = names(tmp_path / "run")
    assert not set_aside(tmp_path / "run")
    assert names(tmp_path / "run") == before


@pytest.mark.parametrize("last", [False, True])
def test_weights_are_checked_before_they_are_stored(last: bool, broken: dict[str, Any], tmp_path: Path) -> None:
    """With few rows in the log, the loss would be looked at much later: here at step 5 or never."""
    broken.update(loss=None, weight=5 if last else 1)
    with pytest.raises(TrainingFailed, match="NaN or infinite"):
        fit(GRAPH, GOOD.replace(log_every=100), folder=tmp_path / "run")
    assert not (tmp_path / "run" / "weights.safetensors").exists()
    assert list((tmp_path / "run").glob("checkpoint-00000002-*")) == []


def test_what_a_method_refuses_counts_as_failure(tmp_path: Path) -> None:
    """One random feature at this temperature gives sums below their bound, at every attempt."""
    config = GOOD.replace(negatives="rff", num_features=1, temperature=0.1)
    with pytest.raises(TrainingFailed, match=r"too few random features .* and repeat the command"):
        fit(GRAPH, config, folder=tmp_path / "run")
    assert "too few random features" in (tmp_path / "run" / "failed.txt").read_text()


def test_a_cell_of_an_experiment_is_trained_anew(broken: dict[str, Any], tmp_path: Path) -> None:
    """Experiments resume what is there, and the code may have been mended since."""
    cpu = torch.device("cpu")
    with pytest.raises(TrainingFailed):
        cells._train(GRAPH, GOOD, cpu, tmp_path / "run")
    broken["loss"] = None
    assert cells._train(GRAPH, GOOD, cpu, tmp_path / "run")[0].step == 6


@pytest.mark.usefixtures("broken")
def test_without_a_folder_nothing_is_marked() -> None:
    with pytest.raises(TrainingFailed, match=r"scale the features$"):
        fit(GRAPH, GOOD)


@pytest.mark.parametrize("method", [name for name, kind in METHODS.items() if kind.learns])
def test_a_learning_rate_far_too_high(method: str) -> None:
    """After one step of 1e25, which options do not allow, embeddings overflow; the loss before that step is a number."""
    config = configure(method, {"dim": 4, "steps": 3, "device": "cpu"})
    object.__setattr__(config.training, "learning_rate", 1e25)
    with pytest.raises(TrainingFailed, match=r"(loss|embeddings) .* lower the learning rate"):
        fit(GRAPH, config)


def test_the_command_can_be_repeated_with_other_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Features whose squares overflow, before and after they are standardised."""
    huge = GRAPH.with_features(GRAPH.x * 1e30)
    monkeypatch.setitem(READERS, "tiny", Reader((), lambda _: huge))
    command = [
        "train",
        "tiny",
        "--encoder",
        "gcn",
        "--dim",
        "4",
        "--steps",
        "3",
        "--device",
        "cpu",
        "--out",
        str(tmp_path / "run"),
    ]
    assert main([*command, "--scaling", "raw"]) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("localgcl: error: the loss became nan at step 0; lower the learning rate or scale the features")
    assert main(["train", "--resume", "--out", str(tmp_path / "run")]) == 1
    assert "resuming it would repeat that" in capsys.readouterr().err
    assert main([*command, "--scaling", "standard"]) == 0
    assert "note: the run in" in capsys.readouterr().err
