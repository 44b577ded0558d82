"""A run that does not fit the memory is refused before anything large is allocated. What is available is made up here."""

import logging
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import localgcl as lg
from localgcl import estimator
from localgcl.commands import main
from localgcl.datasets import sbm
from localgcl.graph import Graph
from localgcl.methods import METHODS, configure
from localgcl.system.memory import OutOfMemory
from localgcl.training import Model, fit, preflight
from localgcl.training.fitter import FITTERS
from localgcl.training.memory import INTERPRETER, LATE, Sizes, estimate
from localgcl.training.preflight import Room, check_files, in_gib, largest_dim

CPU, GIB = torch.device("cpu"), 2**30
FIT = sys.modules["localgcl.training.fit"]  # the module, which the package shows as its function
HELD = INTERPRETER - LATE
"""What this process holds, as far as the tests are concerned."""


@pytest.fixture(scope="module")
def graph() -> Graph:
    return sbm(3000, mean_degree=10, features=16, splits=0)


class Machine:
    """Free memory of the host and of a GPU, in GiB; None where it cannot be told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.free: float | None = 4.0
        self.card: float | None = None
        self.held = HELD
        monkeypatch.setattr(preflight, "free_memory", lambda: self.bytes(self.free))
        monkeypatch.setattr(preflight, "available_memory", lambda: None if self.free is None else 64 * GIB)
        monkeypatch.setattr(preflight, "resident_memory", lambda: self.held)
        monkeypatch.setattr(preflight, "free_device_memory", lambda _: self.bytes(self.card))

    @staticmethod
    def bytes(gibibytes: float | None) -> int | None:
        return None if gibibytes is None else int(gibibytes * GIB)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def refusal(graph: Graph, device: torch.device = CPU, **settings: Any) -> str:
    with pytest.raises(OutOfMemory) as caught:
        preflight.preflight(graph, configure("local-gcl", {"encoder": "gcn", **settings}), device)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.usefixtures("machine")
def test_what_fits_is_said_in_one_line(graph: Graph) -> None:
    config = configure("local-gcl", {"dim": 64})
    need = estimate(Sizes.of(graph, config.preparation), config, CPU)
    needs = preflight.preflight(graph, config, CPU)
    assert needs.lines() == [f"memory: about {in_gib(need.peak)} of {in_gib(4 * GIB + HELD)} available"]
    # Reading took more than what is to come, and is over.
    assert (
        preflight.preflight(graph, config, CPU, read_peak_bytes=10**11)
        .lines()[0]
        .startswith("memory: about 93.1 GiB of 4.4 GiB")
    )


@pytest.mark.usefixtures("machine")
def test_what_does_not_fit_is_refused_and_the_largest_dim_is_named(graph: Graph) -> None:
    text = refusal(graph, dim=30_000)
    found = re.fullmatch(
        r"training local-gcl with dim 30000 takes about (\d+\.\d) GiB of 4\.4 GiB available; take dim (\d+), the largest that "
        r"fits, or try it all the same with --force-memory \(force_memory=True\)",
        text,
    )
    assert found is not None
    assert float(found[1]) > 4.4
    largest = int(found[2])
    settings = {"encoder": "gcn", "dim": largest}
    preflight.preflight(graph, configure("local-gcl", settings), CPU)
    assert f"take dim {largest}," in refusal(graph, dim=largest + 1)


@pytest.mark.usefixtures("machine")
def test_force_goes_on(graph: Graph) -> None:
    needs = preflight.preflight(graph, configure("local-gcl", {"dim": 30_000}), CPU, force=True)
    assert needs.host > 4.4 * GIB
    assert needs.lines()[0].endswith(" of 4.4 GiB available")


def test_where_no_dim_fits_the_smallest_need_is_named(graph: Graph, machine: Machine) -> None:
    machine.free = 0.01
    text = refusal(graph, dim=64)
    assert re.search(
        r"; no dim fits \(dim 1 takes about 0\.\d GiB\): take fewer or narrower layers, a smaller graph or .*, or try", text
    )
    assert "(dim 5 takes about" in refusal(graph, encoder="hops", dim=64)  # one column a channel at least


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_refused_in_one_line(method: str, graph: Graph, machine: Machine) -> None:
    machine.free = 0.001
    with pytest.raises(OutOfMemory, match=f"^training {method} with dim 512 takes about .* available; ") as caught:
        preflight.preflight(graph, configure(method, {"dim": 512}), CPU)
    assert "\n" not in str(caught.value)


def test_what_this_process_holds_already_counts_on_both_sides(graph: Graph, machine: Machine) -> None:
    config = configure("local-gcl", {"dim": 64})
    before = preflight.preflight(graph, config, CPU)
    machine.held += 10 * GIB  # another graph, or a larger torch
    after = preflight.preflight(graph, config, CPU)
    # The estimate counts the graph among what is held, so that much is not counted twice.
    assert after.host - before.host == pytest.approx(10 * GIB, abs=200 * 2**20)
    assert after.room.host == (before.room.host or 0) + 10 * GIB
    machine.free = 0.01
    assert "no dim fits (dim 1 takes about 10." in refusal(graph, dim=64)


def test_unknown_memory_refuses_nothing(graph: Graph, machine: Machine) -> None:
    machine.free = None
    needs = preflight.preflight(graph, configure("local-gcl", {"dim": 60_000}), CPU)
    assert needs.lines()[0].endswith(" of an unknown amount")


def test_where_free_memory_is_unknown_installed_memory_is_the_limit(
    graph: Graph, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.free = None
    monkeypatch.setattr(preflight, "available_memory", lambda: 2 * GIB)
    assert Room.on(CPU).host == 2 * GIB
    assert "GiB of 2.0 GiB available" in refusal(graph, dim=30_000)


def test_a_gpu_has_a_line_and_a_limit_of_its_own(graph: Graph, machine: Machine) -> None:
    gpu = torch.device("cuda")
    machine.free, machine.card = 100.0, 8.0
    host, card = preflight.preflight(graph, configure("local-gcl", {"dim": 256}), gpu).lines()
    assert host.startswith("memory: about ")
    assert re.fullmatch(r"GPU memory: about 0\.\d GiB of 8\.0 GiB available", card)
    text = refusal(graph, gpu, dim=30_000)
    assert re.search(r"takes about [\d.]+ GiB of 8\.0 GiB available on the GPU; take dim \d+, the largest that fits", text)
    machine.card = 0.01
    assert re.search(r"no dim fits \(dim 1 takes about \d\.\d GiB and 0\.\d GiB on the GPU\)", refusal(graph, gpu, dim=64))


def test_the_largest_dim_is_found_by_bisection() -> None:
    config = configure("local-gcl", {"dim": 1000})
    asked: list[int] = []

    def estimated(changed: Any) -> Any:
        asked.append(changed.encoder.dim)
        return changed.encoder.dim

    assert largest_dim(estimated, config, lambda dim: dim <= 387) == 387  # type: ignore[operator]
    assert len(asked) <= 10
    assert largest_dim(estimated, config, lambda dim: dim <= 0) is None  # type: ignore[operator]
    assert largest_dim(estimated, config, lambda dim: True) == 999  # noqa: ARG005


# Through fit, estimators and the command line


@pytest.mark.usefixtures("machine")
def test_fit_refuses_before_it_prepares(graph: Graph, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def prepare(*_: object) -> None:
        raise AssertionError("the graph was prepared")

    monkeypatch.setattr(Model, "prepared", prepare)
    config, folder = configure("local-gcl", {"dim": 30_000, "device": "cpu"}), tmp_path / "run"
    with pytest.raises(OutOfMemory, match="take dim"):
        fit(graph, config, folder=folder)
    assert not folder.exists()
    with pytest.raises(AssertionError, match="was prepared"):
        fit(graph, config, force_memory=True)


@pytest.mark.parametrize("kind", [lg.LocalGCL, lg.Embedder])
def test_estimators_take_force_memory_which_is_no_setting(
    kind: Any, graph: Graph, machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    machine.free = 0.001
    small = {"dim": 8, "steps": 1, "device": "cpu", "encoder": "mlp"}
    with pytest.raises(MemoryError, match=r"no dim fits.*force_memory=True"):
        kind(**small).fit(graph)
    with caplog.at_level(logging.INFO, "localgcl"):
        model = kind(**small, force_memory=True).fit(graph)
    assert sum(record.getMessage().startswith("memory: about ") for record in caplog.records) == 1
    assert model.get_params()["force_memory"] is True
    assert "force_memory" not in model.model_.config.flat()
    assert kind(**small).set_params(force_memory=True).fit(graph).force_memory is True


def test_the_command_line(machine: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, machine.free = str(tmp_path / "run"), 0.001
    small = ["train", "digits", "--dim", "8", "--steps", "1", "--encoder", "mlp", "--device", "cpu", "--out", out]
    assert main(small) == 1
    assert re.fullmatch(r"localgcl: error: training local-gcl .*--force-memory.*\n", capsys.readouterr().err)
    assert not Path(out).exists()
    assert main([*small, "--force-memory"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("memory")]
    assert re.fullmatch(r"memory: about 0\.\d GiB of 0\.4 GiB available", line)
    assert "force" not in (tmp_path / "run/config.toml").read_text()


@pytest.mark.usefixtures("machine")
def test_quiet_says_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["train", "digits", "--dim", "8", "--steps", "1", "--encoder", "mlp", "--device", "cpu", "--quiet"]
    assert main([*small, "--out", str(tmp_path / "run")]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


# Before reading


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Any]:
    edges, features = tmp_path / "edges.npy", tmp_path / "x.npy"
    np.save(edges, np.arange(20_000).reshape(2, -1) % 500)
    np.save(features, np.ones((500, 100), dtype=np.float32))
    return {"edges": edges, "features": features}


def test_files_that_do_not_fit_are_not_read(
    files: dict[str, Any], machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    check_files(**files)
    machine.held, machine.free = 0, 0.3
    with pytest.raises(
        OutOfMemory, match=r"^reading .*edges\.npy and .*x\.npy takes about 0\.5 GiB of 0\.3 GiB available; "
    ) as no:
        check_files(**files)
    assert "\n" not in str(no.value)
    check_files(**files, force=True)
    with pytest.raises(OutOfMemory, match=r"^reading \S*edges\.npy takes"):
        check_files(files["edges"], None)
    monkeypatch.setattr("localgcl.datasets.source.read_graph", lambda *_, **__: pytest.fail("the files were read"))
    with pytest.raises(OutOfMemory, match=r"^reading "):
        estimator.train(lg.datasets.source.Source(**{name: str(path) for name, path in files.items()}), tmp_path / "run")


def test_damaged_files_are_left_to_the_reader(tmp_path: Path, machine: Machine) -> None:
    machine.held, machine.free = 0, 0.3
    damaged = tmp_path / "e.parquet"
    damaged.write_bytes(b"PAR1 but nothing else")
    check_files(damaged, None)
    check_files(tmp_path / "missing.csv", None)


# When the estimate was wrong


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Unable to allocate 74.5 GiB for an array"),
        RuntimeError(
            "[enforce fail at alloc_cpu.cpp:118] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
            "allocate 79993733325 bytes. Error code 12"
        ),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 74.50 GiB.\nGPU 0 has a total capacity of 16 GiB"),
    ],
    ids=["numpy", "torch", "cuda"],
)
def test_a_failed_allocation_is_one_clear_error(
    error: Exception, graph: Graph, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    small = {"dim": 8, "steps": 1, "device": "cpu", "encoder": "mlp"}
    model = lg.LocalGCL(**small).fit(graph)  # type: ignore[arg-type]
    monkeypatch.setitem(FITTERS, "steps", fail)
    message = r"^out of memory while training local-gcl with dim 8 \(74\.5 GiB more could not be had\); take a smaller dim"
    with pytest.raises(OutOfMemory, match=message):
        lg.LocalGCL(**small).fit(graph)  # type: ignore[arg-type]
    given = [word for name, value in small.items() for word in (f"--{name}", str(value))]
    assert main(["train", "digits", *given, "--out", str(tmp_path / "run"), "--quiet"]) == 1
    assert re.fullmatch(r"localgcl: error: out of memory while training .*\n", capsys.readouterr().err)
    monkeypatch.setattr("localgcl.training.model.prepare", fail)
    with pytest.raises(OutOfMemory, match=r"^out of memory while embedding a graph "):
        model.transform(graph)
    monkeypatch.setattr("localgcl.datasets.source.Source.read", fail)
    assert main(["train", "digits", *given, "--out", str(tmp_path / "other"), "--quiet"]) == 1
    assert re.fullmatch(r"localgcl: error: out of memory while running localgcl train .*\n", capsys.readouterr().err)
