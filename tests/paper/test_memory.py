from types import SimpleNamespace
from typing import Any

import pytest
import torch

from localgcl.losses import two_view_infonce
from localgcl.methods import METHODS
from paper import memory
from paper.memory import GRAPHS, measure, table
from paper.printed import printed_rows
from paper.store import StudyRow
from tests.paper.problems import graph
from tests.references.graphs import random_rows


def row(method: str, graph: str, peak: int, form: str = "ours", out: bool = False) -> StudyRow:
    return {"method": method, "graph": graph, "form": form, "cap_gib": 16.0, "out_of_memory": out, "peak_mib": peak}


def test_every_method_and_graph_of_the_main_table_is_tried() -> None:
    rows, graphs = printed_rows("tbl-exp-main")
    assert set(memory.METHODS) == set(rows)
    assert set(GRAPHS) == {*graphs, "arxiv-structure"}


def test_the_table_marks_what_the_paper_could_not_run() -> None:
    shown = table(
        [
            row("grace", "cora", 1024),
            row("grace", "physics", 15000, out=True),
            row("grace", "physics", 512, form="as released"),
            row("grace", "arxiv-structure", 2048),
            row("grace", "arxiv", 2048),
            row("dgi", "arxiv-structure", 256),
            row("dgi", "digits", 128),
        ]
    )
    assert shown.columns == ["method", "form", "cora", "physics", "arxiv-structure", "arxiv", "digits"]
    assert shown.rows == [
        ["grace", "ours", "1.00", "**out** [OOM]", "2.00 [OOM]", "2.00 [OOM]", ""],
        ["grace", "as released", "", "0.50 [OOM]", "", "", ""],
        ["dgi", "ours", "", "", "0.25", "", "0.12"],
    ]
    assert "under a cap of 16 GiB" in shown.caption
    assert table([]).rows == []


def test_memory_is_not_counted_on_a_cpu() -> None:
    with pytest.raises(ValueError, match="device is 'cpu'; memory is counted and capped by the allocator of a GPU"):
        list(measure(["dgi"], ["cora"], device="cpu"))


class FakeGPU:
    """The allocator's functions, on a GPU of 64 GiB that holds 100 MiB; `share` is what a process may take of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.share = 1.0
        self.fitted: list[Any] = []
        functions = {
            "get_device_properties": lambda _: SimpleNamespace(total_memory=64 * 2**30),
            "set_per_process_memory_fraction": self.cap,
            "empty_cache": lambda: None,
            "reset_peak_memory_stats": lambda _: None,
            "max_memory_allocated": lambda _: 100 * 2**20,
        }
        for name, function in functions.items():
            monkeypatch.setattr(torch.cuda, name, function)
        monkeypatch.setattr(memory, "load", graph)
        monkeypatch.setattr(memory, "fit", self.fit)

    def cap(self, share: float, index: int) -> None:
        assert index == 0
        self.share = share

    def fit(self, _: Any, config: Any, *, force_memory: bool) -> None:
        assert force_memory  # the memory is capped and measured, not estimated
        assert self.share in (0.25, 0.5)  # 16 or 32 of 64 GiB
        self.fitted.append(config)
        if config.flat().get("mode") == "faithful":
            raise torch.cuda.OutOfMemoryError("tried to allocate")


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> FakeGPU:
    return FakeGPU(monkeypatch)


def test_methods_are_tried_under_the_cap_in_both_forms(gpu: FakeGPU) -> None:
    rows = list(measure(["mvgrl", "dgi"], ["cora", "digits"]))
    assert [(row["graph"], row["method"], row["form"], row["out_of_memory"]) for row in rows] == [
        (graph, *rest)
        for graph in ("cora", "digits")
        for rest in (("mvgrl", "ours", False), ("mvgrl", "as released", True), ("dgi", "ours", False))
    ]
    assert {row["peak_mib"] for row in rows} == {100}
    assert [config.flat().get("mode") for config in gpu.fitted[:3]] == ["scalable", "faithful", None]
    assert {(config.training.steps, config.training.device) for config in gpu.fitted} == {(memory.STEPS, "cuda")}
    assert gpu.share == 1.0  # the cap is lifted


def test_rows_that_are_known_are_not_measured_again(gpu: FakeGPU) -> None:
    known = list(measure(["mvgrl", "dgi"], ["cora"]))
    rest = list(measure(["mvgrl", "dgi"], ["cora", "digits"], known=[known[0], known[2]]))
    assert [(row["graph"], row["method"], row["form"]) for row in rest] == [
        ("cora", "mvgrl", "as released"),
        *(("digits", *each) for each in (("mvgrl", "ours"), ("mvgrl", "as released"), ("dgi", "ours"))),
    ]
    assert list(measure(["mvgrl", "dgi"], ["cora"], known=known)) == []
    assert len(list(measure(["dgi"], ["cora"], known=known, cap_gib=32.0))) == 1  # under another cap
    assert len(gpu.fitted) == 3 + 4 + 1


def test_the_cap_is_lifted_after_an_error(gpu: FakeGPU, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "load", lambda name: [][len(name)])
    with pytest.raises(IndexError):
        list(measure(["dgi"], ["cora"]))
    assert gpu.share == 1.0


def test_every_method_has_settings_to_try(gpu: FakeGPU) -> None:
    methods = [method for method in memory.METHODS if method not in ("grace", "gca", "afgrl")]
    rows = list(measure(methods, ["digits"]))
    assert {row["method"] for row in rows} == set(methods) <= set(METHODS)
    assert len(gpu.fitted) == len(rows)


@pytest.mark.parametrize("method", ["grace", "gca", "afgrl"])
def test_what_the_released_code_holds_is_made_without_the_encoder(
    method: str, gpu: FakeGPU, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[int, ...]] = []
    name = "_similarities" if method == "afgrl" else "_all_pairs"
    real = getattr(memory, name)

    def on_the_cpu(nodes: int, dim: int, setting: float, device: str) -> None:
        assert device == "cuda"
        made.append((nodes, dim))
        real(nodes, 4, setting, "cpu")

    monkeypatch.setattr(memory, name, on_the_cpu)
    ours, released = measure([method], ["digits"])
    assert (ours["form"], released["form"]) == ("ours", "as released")
    assert made == [(graph().num_nodes, gpu.fitted[0].encoder.dim)]
    assert len(gpu.fitted) == 1


def test_the_written_out_loss_is_graces() -> None:
    u, v = (torch.nn.functional.normalize(random_rows(9, 4, seed)) for seed in (0, 1))
    mean = (memory._one_direction(u, v, 0.4) + memory._one_direction(v, u, 0.4)) / 2
    assert float(mean) == pytest.approx(float(two_view_infonce(u, v, temperature=0.4)))


def test_negatives_are_all_pairs_even_where_a_recipe_samples_them(gpu: FakeGPU, monkeypatch: pytest.MonkeyPatch) -> None:
    sampled = {"negatives": "sampled", "num_negatives": 4}
    monkeypatch.setattr("localgcl.methods.settings.recipe", lambda *_: sampled)
    monkeypatch.setattr(memory, "_all_pairs", lambda *_: None)  # as released; no GPU here
    list(measure(["grace"], ["cora"]))
    assert [config.options.negatives for config in gpu.fitted] == ["exact"]
