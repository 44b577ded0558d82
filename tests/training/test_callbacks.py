"""What sees training while it runs: rows in order, a stop that leaves a complete run, TensorBoard."""

from pathlib import Path
from typing import Any

import pytest
import torch

import localgcl as lg
from localgcl.methods import configure
from localgcl.training import Callback, Model, RunFolder, TensorBoard, fit
from localgcl.training.ranks import Ranks
from localgcl.training.session import Session

SMALL: dict[str, Any] = {"dim": 8, "num_features": 64, "steps": 12, "device": "cpu", "checkpoint_every": 3}


@pytest.fixture(scope="module")
def graph() -> lg.Graph:
    return lg.sbm(60, classes=3, features=6, seed=1)


class StopAt:
    """Ends training in a step; counts its calls."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.calls = 0

    def __call__(self, row: dict[str, Any], /) -> None:
        self.calls += 1
        if row["step"] == self.step:
            raise lg.StopTraining


def test_any_callable_is_a_callback() -> None:
    assert isinstance(print, Callback)
    assert isinstance(StopAt(3), Callback)
    assert not isinstance("print", Callback)


def test_a_stop_leaves_a_complete_run(graph: lg.Graph, tmp_path: Path) -> None:
    told: list[dict[str, Any]] = []
    model = lg.train(graph, tmp_path / "run", callbacks=(StopAt(4), told.append), **SMALL)
    assert [row["step"] for row in told] == [0, 1, 2, 3, 4]  # the callbacks after it see the last row, too
    run = RunFolder.open(tmp_path / "run")
    assert [row["step"] for row in run.read_metrics()] == [0, 1, 2, 3, 4]
    assert not list(run.path.glob("checkpoint*"))
    assert run.embeddings.exists()
    # The weights are those of five steps, and resuming changes nothing.
    short = fit(graph, configure("local-gcl", {**run.config.flat(), "steps": 5}))
    assert same(model.model_, short)
    assert same(lg.train(graph, tmp_path / "run", resume=True).model_, short)


def test_a_stop_keeps_the_best_weights(graph: lg.Graph) -> None:
    settings = {**SMALL, "keep": "best", "learning_rate": 1.0, "steps": 12}  # far too high: the loss jumps about
    stopped = fit(graph, configure("local-gcl", settings), callbacks=[StopAt(8)])
    assert same(stopped, fit(graph, configure("local-gcl", {**settings, "steps": 9})))


def same(a: Model, b: Model) -> bool:
    pairs = zip(a.method.state_dict().values(), b.method.state_dict().values(), strict=True)
    return all(torch.equal(x, y) for x, y in pairs)


def test_estimators_stop_too(graph: lg.Graph) -> None:
    stop = StopAt(2)
    model = lg.LocalGCL(dim=8, steps=12, device="cpu").fit(graph, callbacks=(stop,))
    assert (stop.calls, len(model.history_)) == (3, 3)
    assert model.transform(graph).shape == (60, 8)


def test_other_errors_are_the_callers(graph: lg.Graph) -> None:
    def fail(_: dict[str, Any]) -> None:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        lg.LocalGCL(dim=8, steps=2, device="cpu").fit(graph, callbacks=(fail,))


def test_what_a_callback_returns_is_ignored(graph: lg.Graph) -> None:
    model = lg.LocalGCL(dim=8, steps=3, device="cpu").fit(graph, callbacks=(lambda _: True,))
    assert len(model.history_) == 3


def test_one_of_several_ranks_cannot_stop() -> None:
    session = Session(torch.Generator(), Ranks(0, 2, None, None), callbacks=[StopAt(0)])
    with pytest.raises(ValueError, match="a callback cannot stop one of several ranks; leave it out, or set patience"):
        session.log({"step": 0})


def test_tensorboard_takes_every_number(graph: lg.Graph, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # type: ignore[import-untyped]

    model = lg.LocalGCL(dim=8, steps=3, device="cpu").fit(graph, callbacks=(TensorBoard(tmp_path / "logs"),))
    events = EventAccumulator(str(tmp_path / "logs"))
    events.Reload()
    assert {"loss", "positive", "negative", "seconds", "spread", "rank"} <= set(events.Tags()["scalars"])
    values = [(event.step, event.value) for event in events.Scalars("loss")]
    assert values == [(row["step"], pytest.approx(row["loss"], rel=1e-6)) for row in model.history_]  # float32
