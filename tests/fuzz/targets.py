"""The readers that are fuzzed: for each, small valid files and the function that reads them."""

import gzip
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from localgcl.io.files import read_graph
from localgcl.io.targets import read_labelled_embeddings
from tests.datasets import small
from tests.datasets.small import ADJACENCY, EDGES, Files, X
from tests.fuzz import commands, runs
from tests.fuzz.mutations import members_of, repacked
from tests.io.helpers import parquet, saved


class Target(NamedTuple):
    """One reader.

    Args:
        seeds: Valid inputs, each the files of one graph by name.
        changed: Names of the files that are mutated.
        read: Reads the files, given by content; if `on_disk`, they also lie in the given folder.
        once: MiB more, for what is loaded, started or compiled once, such as threads and numba's functions.
    """

    seeds: tuple[Files, ...]
    changed: tuple[str, ...]
    read: Callable[[Files, Path], object]
    on_disk: bool = True
    once: int = 0


# Files of users: four nodes, 0 to 3 or a to d

EDGES_CSV = b"source,target\n" + b"".join(b"%d,%d\n" % (a, b) for a, b in EDGES.T)
FIXED = {"edges.csv": EDGES_CSV}

_FORMATS = ("csr", "csc", "coo", "bsr", "dia")
_SPARSE = [saved(sp.save_npz, getattr(sp, f"{kind}_array")(ADJACENCY), compressed=False) for kind in _FORMATS]
_SPARSE_X = [saved(sp.save_npz, getattr(sp, f"{kind}_array")(X), compressed=False) for kind in _FORMATS]
_TEXT_IDS = b'Source,weight,TARGET\n"a",1,b\nb,1.0,c d\n'
_INDEXED = pd.DataFrame({"f": [0.5, 1.5, 2.5, 3.5]}, index=pd.Index([3, 2, 1, 0], name="id")).to_parquet()

EDGE_FILES: dict[str, list[bytes]] = {
    "csv": [EDGES_CSV, _TEXT_IDS, b"1,2\n-3,4\n"],
    "tsv": [EDGES_CSV.replace(b",", b"\t")],
    "csv.gz": [gzip.compress(EDGES_CSV, mtime=0), gzip.compress(_TEXT_IDS, mtime=0)],
    "parquet": [parquet(source=EDGES[0], target=EDGES[1]), parquet(target=["a", "b", "b"], source=["b", "é", "a"])],
    "npy": [saved(np.save, EDGES), saved(np.save, EDGES.T.astype(">i4")), saved(np.save, EDGES.astype("U2"))],
    "npz": [saved(np.savez, source=EDGES[0], target=EDGES[1]), saved(np.savez_compressed, edge_index=EDGES.astype(float))],
    "sparse.npz": _SPARSE,
}
FEATURE_FILES: dict[str, list[bytes]] = {
    "csv": [b"id,f,g\n0,1,2.5\n1,-1e3,0\n3,.5,7\n2,0,0\n"],
    "csv.gz": [gzip.compress(b"id,f\n0,1\n1,2\n2,3\n3,4\n", mtime=0)],
    "parquet": [parquet(id=["0", "1", "2", "3"], f=X[:, 0], g=[True, False, True, False]), _INDEXED],
    "npy": [saved(np.save, X), saved(np.save, np.asfortranarray(X.astype(">f8"))), saved(np.save, np.arange(4))],
    "npz": [saved(np.savez, x=X), saved(np.savez_compressed, x=X.astype(np.float16), y=[1])],
    "sparse.npz": _SPARSE_X,
}
LABEL_FILES: dict[str, list[bytes]] = {
    "csv": [b"id,label\n0,1\n1,0\n3,-1\n2,2\n"],
    "parquet": [parquet(id=[0, 1, 3], label=[1, 0, 2]), parquet(id=["0", "1"], label=["1", "0"])],
    "npy": [saved(np.save, np.array([0, 1, -1, 1])), saved(np.save, np.array(["0", "1", "-1", "1"]))],
    "npz": [saved(np.savez, y=np.array([0.0, 1, -1, 1]))],
}


def _edges(name: str) -> Callable[[Files, Path], object]:
    return lambda _, folder: read_graph(folder / name)


def _features(name: str) -> Callable[[Files, Path], object]:
    return lambda _, folder: read_graph(folder / "edges.csv", features=folder / name)


def _labels(name: str) -> Callable[[Files, Path], object]:
    return lambda _, folder: read_graph(folder / "edges.csv", labels=folder / name)


def _embeddings(_files: Files, folder: Path) -> object:
    return read_labelled_embeddings(folder / "z.npy", folder / "y.csv")


def _of_files(role: str, contents: Mapping[str, list[bytes]], read: Callable[[str], Any], fixed: Files) -> dict[str, Target]:
    made = {}
    for kind, seeds in contents.items():
        name = f"{role}.{kind}"
        made[f"{role}-{kind}"] = Target(tuple({**fixed, name: _timeless(seed)} for seed in seeds), (name,), read(name))
    return made


# Files of publishers


def _of_contents(seed: Files, read: Callable[[Files], object]) -> Target:
    fixed = {name: _timeless(content) for name, content in seed.items()}
    return Target((fixed,), tuple(seed), lambda files, _: read(files), on_disk=False)


def _timeless(content: bytes) -> bytes:
    """An archive without the time it was written at, so that an input is the same in every run; other contents as they are."""
    return repacked(*members_of(content)) if content.startswith(b"PK") else content


def _of_dataset(name: str) -> Target:
    return _of_contents(small.DATASETS[name](), small.read(name))


TARGETS: dict[str, Target] = {
    **_of_files("edges", EDGE_FILES, _edges, {}),
    **_of_files("features", FEATURE_FILES, _features, FIXED),
    **_of_files("labels", LABEL_FILES, _labels, FIXED),
    "embeddings": Target(({"z.npy": saved(np.save, X), "y.csv": LABEL_FILES["csv"][0]},), ("z.npy", "y.csv"), _embeddings),
    "planetoid": _of_dataset("cora"),
    "gnn-benchmark": _of_dataset("photo"),
    "geom-gcn": _of_dataset("chameleon"),
    "geom-gcn-indexed": _of_dataset("actor"),
    "heterophilous": _of_dataset("chameleon-filtered"),
    "ogb": _of_dataset("arxiv"),
    "downloaded-archive": _of_contents(small.archive(), small.read_member),
    "run-load": Target((runs.FINISHED,), tuple(runs.FINISHED), runs.load, False, 1024),
    "run-resume": Target(runs.INTERRUPTED, tuple(runs.INTERRUPTED[0]), runs.resume, False, 1024),
    "command-line": Target(tuple(map(commands.content, commands.SEEDS)), (commands.NAME,), commands.call, False, 2048),
}
"""The readers by name, and those of run folders and command lines. The images of `digits` come with scikit-learn: no file of
theirs is read."""
