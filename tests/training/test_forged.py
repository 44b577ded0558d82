"""Run folders that are damaged, incomplete or made by somebody else: one line that names the file, whatever is wrong."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from localgcl import LocalGCLWarning
from localgcl.config import Config
from localgcl.datasets import sbm
from localgcl.methods import METHODS, configure
from localgcl.methods.baselines import RandomInit
from localgcl.training import Model, RunFolder, fit
from localgcl.training.weights import read_tensors, write_tensors

GRAPH = sbm(30, classes=2, features=5, mean_degree=4, seed=0)
CONFIG = configure("local-gcl", {"dim": 4, "steps": 2, "device": "cpu", "scaling": "standard", "negatives": "exact"})


@pytest.fixture
def run(tmp_path: Path) -> Path:
    fit(GRAPH, CONFIG, folder=tmp_path / "run")
    return tmp_path / "run"


def refused(run: Path, *words: str) -> None:
    with pytest.raises((ValueError, FileNotFoundError)) as error:
        Model.load(run)
    message = str(error.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def edit(run: Path, old: str, new: str) -> None:
    text = (run / "config.toml").read_text()
    assert old in text
    (run / "config.toml").write_text(text.replace(old, new, 1))


CONFIGS: list[tuple[str, str, str]] = [
    ('method = "local-gcl"', "method = 7", "method is 7"),
    ('method = "local-gcl"', 'method = ["local-gcl"]', "method is ['local-gcl']"),
    ('method = "local-gcl"', "", "lacks method"),
    ("[settings]", "[[settings]]", "settings is"),
    ("[settings]", "[sittings]", "lacks settings"),
    ("[source]", "source = 3\n[sauce]", "source is 3"),
    ("[source]", '[source]\nfile = "x"', "source has file"),
    ("[source]", "[source]\nedges = 3", "source has edges = 3"),
    ("[made]\n", "[made]\nthreads = -1\n[other]\n", "threads is -1"),
    ("dim = 4", "dim = 4.5", "dim is 4.5"),
    ("dim = 4", "dim = true", "dim is True"),
    ("dim = 4", "dim = 2020-01-01", "dim is"),
    ("dim = 4", f"dim = {'9' * 5000}", "config.toml"),
    ("dim = 4", f"dim = {'[' * 5000}", "config.toml"),
    ("learning_rate = 0.0005", f"learning_rate = {'9' * 400}", "learning-rate is 999"),
    ("learning_rate = 0.0005", "learning_rate = nan", "learning-rate is nan"),
    ("dim = 4", "dim = 65536", "weights.safetensors does not fit config.toml"),
    ("dim = 4", "dim = 1000000000", "dim is 1000000000"),
    ("dim = 4", "dim = 5", "expected float32 of shape (5"),
    ('scaling = "standard"', 'scaling = "raw"', "the column statistics are deviation, mean, and scaling is raw"),
]


@pytest.mark.parametrize(("old", "new", "word"), CONFIGS, ids=range(len(CONFIGS)))
def test_configurations(old: str, new: str, word: str, run: Path) -> None:
    edit(run, old, new)
    refused(run, "config.toml", word)


def test_a_configuration_that_is_no_text(run: Path) -> None:
    (run / "config.toml").write_bytes(bytes(range(256)))
    refused(run, "config.toml is not valid TOML")
    (run / "config.toml").unlink()
    (run / "config.toml").mkdir()
    refused(run, "is not a run folder", "config.toml")


WEIGHTS: dict[str, tuple[Callable[[dict[str, Tensor], dict[str, Any]], object], str]] = {
    "a tensor missing": (lambda tensors, _: tensors.pop(next(name for name in tensors if name[0] == "m")), "is missing"),
    "a tensor more": (lambda tensors, _: tensors.update({"method.more": torch.ones(2)}), "method.more"[7:]),
    "a tensor of no kind": (lambda tensors, _: tensors.update(other=torch.ones(2)), "tensor other belongs to neither"),
    "other shape": (
        lambda tensors, _: tensors.update({name: value[:1] for name, value in tensors.items()}),
        "expected float32",
    ),
    "other type": (lambda tensors, _: tensors.update({name: value.double() for name, value in tensors.items()}), "float64"),
    "NaN": (
        lambda tensors, _: [value.fill_(torch.nan) for name, value in tensors.items() if name[0] == "m"],
        "NaN or infinite",
    ),
    "NaN mean": (lambda tensors, _: tensors["statistics.mean"].fill_(torch.nan), "column statistics (mean)"),
    "zero deviation": (lambda tensors, _: tensors["statistics.deviation"].fill_(0), "column statistics (deviation)"),
    "no statistics": (lambda tensors, _: tensors.pop("statistics.mean"), "the column statistics are deviation"),
    "no inputs": (lambda _, facts: facts.pop("num_inputs"), "num_inputs is None"),
    "inputs of text": (lambda _, facts: facts.update(num_inputs="5"), "num_inputs is '5'"),
    "inputs without end": (lambda _, facts: facts.update(num_inputs=10**12), "num_inputs is 1000000000000"),
    "many inputs": (lambda _, facts: facts.update(num_inputs=10**9), "shape (1000000000,)"),
    "no step": (lambda _, facts: facts.pop("step"), "step is None"),
    "step before the first": (lambda _, facts: facts.update(step=-1), "step is -1"),
    "step is true": (lambda _, facts: facts.update(step=True), "step is True"),
}


@pytest.mark.parametrize(("change", "word"), WEIGHTS.values(), ids=WEIGHTS)
def test_weights_with_a_right_hash(change: Callable[[dict[str, Tensor], dict[str, Any]], object], word: str, run: Path) -> None:
    tensors, facts = read_tensors(run / "weights.safetensors")
    change(tensors, facts)
    write_tensors(run / "weights.safetensors", tensors, facts)
    refused(run, "weights.safetensors", word)


def test_weights_that_are_a_folder(run: Path) -> None:
    (run / "weights.safetensors").unlink()
    (run / "weights.safetensors").mkdir()
    with pytest.raises(OSError, match=r"weights\.safetensors"):
        Model.load(run)


METRICS = [
    b"\xff\xfe",
    b"step,seconds,loss\n0,0.1,high\n",
    b"step,seconds,loss\n0,0.1\n",
    b"step,seconds,loss\n0,0.1,1,2\n",
    b"seconds,loss\n0.1,1\n",
    b"step,seconds,loss\ninf,0.1,1\n",
    b'step,seconds,loss\n"0,0.1,1\n',
    b"step,seconds,loss\n" + b"1" * 200_000,
]


@pytest.mark.parametrize("content", METRICS, ids=range(len(METRICS)))
def test_a_damaged_log_does_not_keep_a_model_from_embedding(content: bytes, run: Path) -> None:
    expected = Model.load(run).embed(GRAPH)
    (run / "metrics.csv").write_bytes(content)
    with pytest.warns(LocalGCLWarning, match=r"metrics\.csv is damaged .* the model is loaded without it"):
        model = Model.load(run)
    assert torch.equal(model.embed(GRAPH), expected)
    assert model.history == []


def test_a_log_that_is_a_folder(run: Path) -> None:
    (run / "metrics.csv").unlink()
    (run / "metrics.csv").mkdir()
    with pytest.warns(LocalGCLWarning, match=r"metrics\.csv is damaged"):
        Model.load(run)


def test_a_damaged_log_is_not_written_over(run: Path) -> None:
    """A resumed run adds to it. Whether what is there can be lost is for the user to say."""
    (run / "weights.safetensors").unlink()
    (run / "metrics.csv").write_text("my notes")
    with pytest.raises(ValueError, match=r"metrics\.csv is damaged .* restore a copy or delete it"):
        fit(GRAPH, CONFIG, folder=run, resume=True)
    assert (run / "metrics.csv").read_text() == "my notes"


class Reading(RandomInit):
    """A method whose constructor computes with values: its shapes are not known before it is built."""

    def __init__(self, num_inputs: int, config: Config) -> None:
        super().__init__(num_inputs, config)
        self.scale = float(torch.ones(3).sum())


def test_methods_that_compute_when_they_are_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "reading", Reading)
    model = fit(GRAPH, configure("reading", {"dim": 4, "device": "cpu"}), folder=tmp_path / "run")
    assert torch.equal(Model.load(tmp_path / "run").embed(GRAPH), model.embed(GRAPH))


class Masking(RandomInit):
    """A method with a buffer that holds infinities, as masks do."""

    def __init__(self, num_inputs: int, config: Config) -> None:
        super().__init__(num_inputs, config)
        self.register_buffer("mask", torch.tensor([0.0, -torch.inf]))


def test_infinite_buffers_are_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "masking", Masking)
    fit(GRAPH, configure("masking", {"dim": 4, "device": "cpu"}), folder=tmp_path / "run")
    Model.load(tmp_path / "run")


def test_embeddings_that_overflow_are_refused(run: Path) -> None:
    huge = GRAPH.with_features(torch.full((30, 5), 3e38))
    with pytest.raises(ValueError, match="the embeddings of 30 of 30 nodes are NaN or infinite; scale the features"):
        Model.load(run).embed(huge)


def test_what_a_killed_process_left_is_removed(run: Path) -> None:
    leftover = run / ".checkpoint-00000099-0123456789abcdef.safetensors.localgcl-89abcdef.safetensors"
    leftover.write_bytes(b"half a file")
    fit(GRAPH, CONFIG, folder=run, resume=True)
    assert not leftover.exists()
    other = run.parent / "other"
    other.mkdir()
    (other / ".config.toml.localgcl-89abcdef.toml").write_bytes(b"half a file")
    fit(GRAPH, CONFIG, folder=other)
    assert RunFolder.open(other).config == CONFIG
