"""A recorded step on a GPU of which only the order of events is real; tests/test_cuda.py has the numbers."""

import contextlib
import types
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from localgcl.datasets import sbm
from localgcl.methods import configure, find_method
from localgcl.training.step import RecordedStep, make_optimiser


class Events(list[str]):
    """What happens on two streams, "main" and "side", in the order in which the host asks for it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.stream = "main"
        functions = {
            "Stream": lambda: self._stream("side"),
            "current_stream": lambda: self._stream(self.stream),
            "stream": self._on,
            "graph": self._recording,
            "CUDAGraph": lambda: types.SimpleNamespace(
                register_generator_state=lambda _: None, replay=lambda: self.append(f"replay on {self.stream}")
            ),
        }
        for name, function in functions.items():
            monkeypatch.setattr(torch.cuda, name, function)

    def _stream(self, name: str) -> Any:
        return types.SimpleNamespace(name=name, wait_stream=lambda other: self.append(f"{name} waits for {other.name}"))

    @contextlib.contextmanager
    def _on(self, stream: Any) -> Iterator[None]:
        before, self.stream = self.stream, stream.name
        yield
        self.stream = before

    @contextlib.contextmanager
    def _recording(self, _: Any, stream: Any) -> Iterator[None]:
        with self._on(stream):
            self.append(f"counter reset on {self.stream}")
            yield


def test_each_stream_waits_for_the_other_where_work_passes_between_them(monkeypatch: pytest.MonkeyPatch) -> None:
    events = Events(monkeypatch)
    graph, config = sbm(200, seed=0), configure("local-gcl", {"dim": 4})
    method = find_method("local-gcl")(graph.num_features, config)
    batch = method.prepare(graph)
    step = RecordedStep(method, make_optimiser(method, config.training, graph), torch.Generator())
    monkeypatch.setattr(step, "_whole", lambda _: events.append(f"step on {events.stream}"))
    monkeypatch.setattr(step, "terms", {}, raising=False)
    for _ in range(5):
        step.loss(batch)
    eager = ["side waits for main", "step on side", "main waits for side"]
    # torch resets the random numbers' counter before it records, and every replay sets it: in this order, or numbers recur.
    recording = ["counter reset on side", "step on side", "main waits for side"]
    assert events == [*3 * eager, *recording, "replay on main", "replay on main"]
