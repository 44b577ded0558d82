"""READERS: what the library brings, and data sets from outside."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch

import localgcl as lg
from localgcl import Graph
from localgcl.commands import main
from localgcl.datasets import CATALOGUE, READERS, RawFile, Reader
from localgcl.datasets.source import Source

EDGES = b"0,1\n1,2\n"


def mine() -> Graph:
    return lg.sbm(40, classes=2, mean_degree=4.0, features=3, splits=0)


def test_every_data_set_of_the_catalogue_has_a_reader() -> None:
    assert set(READERS) == set(CATALOGUE)


def test_one_registration_adds_a_data_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unknown dataset 'mine'"):
        lg.load("mine")
    monkeypatch.setitem(READERS, "mine", Reader((), lambda _: mine()))
    assert "mine" not in CATALOGUE
    for graph in (lg.load("mine"), lg.load("Mine"), Source(dataset="mine").read()):
        assert torch.equal(graph.x, mine().x)
    with pytest.raises(ValueError, match="did you mean 'mine'"):
        lg.load("mines")

    run = tmp_path / "run"
    assert main(["train", "mine", "--method", "random-init", "--dim", "4", "--out", str(run), "--quiet"]) == 0
    assert main(["embed", str(run), "mine", "-o", str(tmp_path / "z.csv")]) == 0
    assert len((tmp_path / "z.csv").read_text().splitlines()) == 41


def test_a_reader_from_outside_gets_its_verified_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def read(contents: Mapping[str, bytes]) -> Graph:
        (edges,) = contents.values()
        source, target = zip(*(map(int, line.split(b",")) for line in edges.splitlines()), strict=True)
        return Graph.from_edges(list(source), list(target), x=torch.ones(3, 1), name="mine")

    checksum = f"sha256:{hashlib.sha256(EDGES).hexdigest()}"
    file = RawFile("Mine/edges.csv", "http://127.0.0.1:1/edges.csv", checksums=(checksum,))
    monkeypatch.setitem(READERS, "mine", Reader((file,), read))
    (tmp_path / "Mine").mkdir()
    (tmp_path / "Mine" / "edges.csv").write_bytes(EDGES)
    assert lg.load("mine", tmp_path, download=False).indices.tolist() == [1, 2]
    (tmp_path / "Mine" / "edges.csv").write_bytes(EDGES + b"2,0\n")
    with pytest.raises(ValueError, match=f"but {checksum} is expected"):
        lg.load("mine", tmp_path, download=False)


def test_two_files_of_one_name_are_refused() -> None:
    files = (RawFile("a/edges.csv", ""), RawFile("b/nodes.csv", ""), RawFile("b/edges.csv", ""))
    with pytest.raises(ValueError, match=r"two raw files are called 'edges\.csv'"):
        Reader(files, lambda _: mine())
