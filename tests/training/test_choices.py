"""What depends on the size of the graph or on the machine is chosen once, before training, and stored with the run."""

from pathlib import Path
from typing import Any

import pytest
import torch

import localgcl as lg
from localgcl.methods import configure
from localgcl.methods.local_gcl import LocalGCL
from localgcl.ops import costs
from localgcl.report.measures import read_kernel
from localgcl.report.nodes import read_subject
from localgcl.system import limits
from localgcl.training import Interrupted, Model, RunFolder, fit

GRAPH = lg.sbm(300, classes=3, features=8)
# One linear channel is no wider than its input; the GCN is.
UNEQUAL: dict[str, Any] = {"encoder": "hops", "layers": 1, "channels": ("X", "G2X"), "dim": 200, "device": "cpu", "steps": 20}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Exact below 50 columns, and the widths that were asked about."""
    widths: list[int] = []

    def choose(num_nodes: int, dim: int, *_: Any, **__: Any) -> str:
        assert num_nodes == 300
        widths.append(dim)
        return "exact" if dim < 50 else "sorf"

    for module in ("methods.negatives", "losses.local"):
        monkeypatch.setattr(f"localgcl.{module}.choose_negatives", choose)
    return widths


def test_each_channel_has_its_form_which_is_told_stored_and_reported(asked: list[int], tmp_path: Path) -> None:
    said: list[str] = []
    model = fit(GRAPH, configure("local-gcl", UNEQUAL), folder=tmp_path / "run", say=said.append)
    assert isinstance(model.method, LocalGCL)
    assert model.method.widths == [8, 100]
    assert asked == [8, 100]  # once, and not at each step
    lines = [line for line in said if line.startswith("negatives")]
    assert [line.partition(" (")[0] for line in lines] == [
        "negatives of 1 of 2 channels, up to 8 wide: exact",
        "negatives of 1 of 2 channels, up to 100 wide: sorf",
    ]
    assert RunFolder.open(tmp_path / "run").made["chosen"] == {"negatives": ["exact", "sorf"]}
    series, note = read_kernel(read_subject(RunFolder.open(tmp_path / "run"), GRAPH))
    assert ([one.name for one in series], note) == (["G2X"], "")


def test_a_run_goes_on_with_the_forms_that_it_began_with(asked: list[int], tmp_path: Path) -> None:
    whole = fit(GRAPH, configure("local-gcl", UNEQUAL))

    def stop(row: dict[str, Any]) -> None:
        if row["step"] == 5:
            raise KeyboardInterrupt

    config, folder = configure("local-gcl", {**UNEQUAL, "checkpoint_every": 1}), tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        fit(GRAPH, config, folder=folder, callbacks=[stop])
    asked.clear()
    resumed = fit(GRAPH, config, folder=folder, resume=True)
    assert asked == []  # elsewhere another form might be faster
    assert torch.equal(resumed.embed(GRAPH), whole.embed(GRAPH))


def test_a_damaged_record_is_one_line(tmp_path: Path) -> None:
    config = configure("local-gcl", {**UNEQUAL, "checkpoint_every": 1})

    def stop(_: dict[str, Any]) -> None:
        raise Interrupted("stopped", [])

    with pytest.raises(Interrupted):
        fit(GRAPH, config, folder=tmp_path / "run", callbacks=[stop])
    file = tmp_path / "run" / "config.toml"
    file.write_text(file.read_text().replace('"exact",', '"exakt",', 1))
    (tmp_path / "run" / "weights.safetensors").unlink()
    with pytest.raises(ValueError, match=r"negatives were chosen as \['exakt', .*; give 2 of exact, sorf"):
        fit(GRAPH, config, folder=tmp_path / "run", resume=True)


def test_saved_estimators_keep_the_forms(asked: list[int], tmp_path: Path) -> None:
    Model.load(_saved(tmp_path))
    assert RunFolder.open(tmp_path / "saved").made["chosen"]["negatives"] == ["exact", "sorf"]
    assert len(asked) == 2


def _saved(place: Path) -> Path:
    lg.Embedder("local-gcl", **{**UNEQUAL, "steps": 1, "fourier": 0}).fit(GRAPH).save(place / "saved")
    return place / "saved"


def test_the_machine_is_asked_a_few_times_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not at each step: limits and free memory are files below /proc and of control groups."""
    read, choose = limits._read, costs.choose_negatives
    files: list[Path] = []
    chosen: list[str] = []

    def counted(path: Path) -> str:
        files.append(path)
        return read(path)

    def noted(*arguments: Any, **options: Any) -> str:
        chosen.append(choose(*arguments, **options))
        return chosen[-1]

    monkeypatch.setattr(limits, "_read", counted)
    for module in ("methods.negatives", "losses.local"):
        monkeypatch.setattr(f"localgcl.{module}.choose_negatives", noted)
    fit(GRAPH, configure("local-gcl", {**UNEQUAL, "batch": 100}))
    assert len(chosen) == 2  # channels; there were 321 calls in such a run
    assert sum(Path("/proc") in path.parents for path in files) < 20
