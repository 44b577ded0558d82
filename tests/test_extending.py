"""Somebody outside the package adds a method, a feature map, a data set or an export format by one registration.

Each test ends in something that only the registered object can have done, through the command line and through Python.
"""

import dataclasses
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import localgcl as lg
from localgcl.commands import main
from localgcl.config import Checked, option
from localgcl.datasets import READERS, Reader
from localgcl.io.export import WRITERS
from localgcl.methods import METHODS, Batch, Method, Terms
from localgcl.nn.features import MAPS, RandomFourier
from localgcl.training import RunFolder

TINY = ["--dim", "4", "--steps", "2", "--device", "cpu", "--quiet"]


def run(*arguments: str | Path) -> int:
    return main([str(argument) for argument in arguments])


def refused(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """What is said of something that nobody registered, as an error of the input (1) or of the command line (2)."""
    try:
        code = run(*arguments)
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else -1
    assert code in (1, 2)
    return capsys.readouterr().err


# A method


@dataclasses.dataclass(frozen=True)
class PullOptions(Checked):
    reach: float = option(1.0, "the length that embeddings are pulled to", above=0)


class Pull(Method):
    """Makes all embeddings of one length, and hands out their signs: no other method's embeddings are all -1, 0 or 1."""

    Options = PullOptions
    idea, cost = "all embeddings of one length", "O(N d)"

    def loss(self, batch: Batch, generator: torch.Generator) -> Terms:
        length = self.encoder(batch.inputs, generator).norm(dim=1)
        return {"loss": (length - self.options.reach).square().mean(), "length": length.mean()}

    def embed(self, batch: Batch) -> torch.Tensor:
        return super().embed(batch).sign()


def test_a_method(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no method 'pull'" in refused(capsys, "train", "digits", "--method", "pull", *TINY, "--out", tmp_path / "no")
    monkeypatch.setitem(METHODS, "pull", Pull)

    assert run("train", "digits", "--method", "pull", "--reach", "3", *TINY, "--out", tmp_path / "run") == 0
    folder = RunFolder.open(tmp_path / "run")
    assert (folder.config.method, folder.config.options.reach) == ("pull", 3.0)
    assert all("length" in row for row in folder.read_metrics())
    z = np.load(folder.embeddings)
    assert z.shape == (1797, 4)
    assert set(np.unique(z)) <= {-1, 0, 1}

    graph = lg.sbm(60, classes=3, features=6)
    model = lg.Embedder("pull", reach=3.0, dim=4, steps=2, device="cpu")
    assert set(np.unique(model.fit_transform(graph))) <= {-1, 0, 1}
    assert [row["step"] for row in model.history_] == [0, 1]
    assert run("methods") == 0
    assert "all embeddings of one length" in capsys.readouterr().out


# A feature map


class Counting(RandomFourier):
    """Random Fourier features that count their draws."""

    draws = 0

    def build(self, dim, temperature, effective, dice):  # type: ignore[no-untyped-def]  # its parent says what these are
        type(self).draws += 1
        return super().build(dim, temperature, effective, dice)


def test_a_feature_map(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(Counting, "draws", 0)
    # Temperature 1 needs few features; too few at a low one stop the run.
    asked = ["train", "digits", "--negatives", "counting", "--num-features", "512", "--temperature", "1", *TINY]
    assert "counting" in refused(capsys, *asked, "--out", tmp_path / "no")
    monkeypatch.setitem(MAPS, "counting", Counting)

    assert run(*asked, "--out", tmp_path / "run") == 0
    assert Counting.draws == 2  # one a step: 4 dimensions are one channel
    assert RunFolder.open(tmp_path / "run").config.options.negatives == "counting"

    graph = lg.sbm(60, classes=3, features=6)
    z = torch.randn(60, 8, generator=torch.Generator().manual_seed(0))

    def loss(negatives: str) -> float:
        options = {"temperature": 1.0, "num_features": 256, "generator": torch.Generator().manual_seed(1)}
        return float(lg.losses.local_contrastive(z, graph, negatives=negatives, **options))  # type: ignore[arg-type]

    assert loss("counting") == loss("rff") != loss("orf")
    assert Counting.draws == 3
    with pytest.raises(ValueError, match="did you mean 'counting'"):
        loss("countin")


# A data set


def test_a_data_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "unknown dataset 'tiny'" in refused(capsys, "train", "tiny", *TINY, "--out", tmp_path / "no")
    graph = lg.sbm(60, classes=3, features=6)
    monkeypatch.setitem(READERS, "tiny", Reader((), lambda _: graph))

    assert lg.load("tiny") is graph
    assert run("train", "tiny", *TINY, "--out", tmp_path / "run") == 0
    assert RunFolder.open(tmp_path / "run").source == {"dataset": "tiny"}
    assert run("embed", tmp_path / "run", "-o", tmp_path / "z.npy") == 0
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), lg.LocalGCL.load(tmp_path / "run").transform(graph))


# An export format


def write_sums(file: BinaryIO, z: NDArray[np.float32], ids: NDArray[np.int64]) -> None:
    file.write("".join(f"{name} {row.sum():.3f}\n" for name, row in zip(ids, z, strict=True)).encode())


def test_an_export_format(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train", "digits", "--method", "random-init", "--dim", "4", "--quiet", "--out", tmp_path / "run") == 0
    assert "'.sums'" in refused(capsys, "embed", tmp_path / "run", "-o", tmp_path / "z.sums")
    assert not (tmp_path / "z.sums").exists()
    monkeypatch.setitem(WRITERS, ".sums", write_sums)

    assert run("embed", tmp_path / "run", "-o", tmp_path / "z.sums") == 0
    z = np.load(tmp_path / "run" / "embeddings.npy")
    assert (tmp_path / "z.sums").read_text().splitlines() == [f"{i} {row.sum():.3f}" for i, row in enumerate(z)]
    capsys.readouterr()
    with pytest.raises(SystemExit):
        run("embed", "--help")
    assert ".sums" in capsys.readouterr().out
