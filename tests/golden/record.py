"""Embeddings of every method, to be compared bit for bit between two versions of the package: `python -m tests.golden.compare`.

`python tests/golden/record.py FILE.npz` writes those of the package that is on the path. Only public names and the command line
are used, so that this file runs on the version before a change, too. One thread, so that sums are rounded alike.
"""

import os
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

import localgcl as lg
from localgcl.methods import METHODS

TINY: dict[str, Any] = {"dim": 12, "steps": 6, "device": "cpu", "threads": 1, "deterministic": True, "log_every": 1, "seed": 3}
HOPS: dict[str, Any] = {"encoder": "hops", "num_features": 512, "temperature": 1.0, "max_clamped": 1.0}
BATCHES: dict[str, Any] = {**HOPS, "batch": 30, "negatives": "sorf"}
VARIANTS: dict[str, dict[str, Any]] = {
    "gcn": {"encoder": "gcn"},
    "mlp": {"encoder": "mlp"},
    "unequal widths": {**HOPS, "dim": 40, "channels": ("X", "SX", "G2X")},
    "fourier": {**HOPS, "channels": ("X", "BX"), "fourier": 7},
    "components": {**HOPS, "pca": 5},
    "weighted positives": {"encoder": "gcn", "positives": "weighted", "include_self": True},
    "mixed negatives": {
        "encoder": "gcn",
        "hard_negatives": "progcl-mix",
        "hard_pool": 20,
        "hard_selected": 4,
        "hard_start": 0.0,
    },
    "head and masks": {**HOPS, "head": 8, "masked": 0.3},
    "batches of hops": {**BATCHES, "sampled": 3},
    "batches of a GCN": {**BATCHES, "encoder": "gcn", "sampled": 3, "batch_norm": True, "layers": 2},
    "dropout": {"encoder": "gcn", "dropout": 0.4, "activation": "rrelu", "keep": "best"},
}
"""Settings of Local-GCL."""


def graphs() -> dict[str, lg.Graph]:
    """Dense features; sparse ones; and weighted edges with isolated nodes."""
    dice = np.random.default_rng(0)
    plain = lg.sbm(60, classes=3, features=6)
    words = sp.random_array((80, 40), density=0.1, rng=dice, dtype=np.float32, format="csr")
    ends = dice.integers(0, 80, (2, 240))
    sparse = lg.Graph.from_edges(ends[0], ends[1], x=words, y=dice.integers(0, 3, 80)).symmetrized()
    ends, weights = dice.integers(0, 66, (2, 200)), dice.random(200, dtype=np.float32) + 0.1
    table = dice.normal(size=(70, 5)).astype(np.float32)
    weighted = lg.Graph.from_edges(ends[0], ends[1], x=table, y=dice.integers(0, 2, 70), weights=weights)
    return {"plain": plain, "sparse": sparse, "weighted": weighted}


def record(place: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Names of cases and their embeddings; files go to `place`."""
    found = graphs()
    for graph_name, graph in found.items():
        for method in METHODS:
            yield f"{method}, {graph_name}", embedded(graph, method=method)
        for name, settings in VARIANTS.items():
            if graph_name != "sparse" or name != "fourier":  # Fourier features are for dense tables
                yield f"local-gcl with {name}, {graph_name}", embedded(graph, **settings)
    yield "resumed", resumed(found["plain"], place / "resumed")
    folder = graph_folder(place)
    for name, settings in {"hops": BATCHES, "gcn": {**BATCHES, "encoder": "gcn"}}.items():
        lg.train(lg.Graph.open(folder), place / name, **{**TINY, **settings})
        yield f"graph folder, {name}", np.load(place / name / "embeddings.npy")
    for size in (1, 2):
        yield f"ranks, {size}", by_ranks(folder, place / f"ranks-{size}", size)
    command("embed", place / "hops", "--edges", place / "e.csv", "--features", place / "x.csv", "-o", place / "files.npy")
    yield "files of the folder", np.load(place / "files.npy")
    more: list[str | Path] = ["--add-edges", place / "more.csv", "--add-features", place / "new.csv"]
    command("train", folder, *flags(BATCHES), "--out", place / "known")
    command("embed", place / "known", *more, "-o", place / "new.npy")
    yield "new nodes", np.load(place / "new.npy")


def embedded(graph: lg.Graph, **settings: Any) -> np.ndarray:
    """Embeddings of the nodes, with the logged losses in a last row."""
    chosen = {**TINY, **settings}
    model = lg.Embedder(chosen.pop("method", "local-gcl"), random_state=chosen.pop("seed"), **chosen)
    z: np.ndarray = model.fit_transform(graph)
    losses = np.zeros((1, z.shape[1]), np.float32)
    logged = [row["loss"] for row in model.history_][: z.shape[1]]
    losses[0, : len(logged)] = logged
    return np.concatenate([z, losses])


def resumed(graph: lg.Graph, out: Path) -> np.ndarray:
    """A run that is stopped in its third step and goes on."""

    def stop(row: dict[str, Any]) -> None:
        if row["step"] == 2:
            signal.raise_signal(signal.SIGINT)

    settings = {**TINY, "encoder": "gcn", "dropout": 0.2}
    try:
        lg.train(graph, out, callbacks=(stop,), **settings)
    except KeyboardInterrupt:
        lg.train(graph, out, resume=True)
    z: np.ndarray = np.load(out / "embeddings.npy")
    return z


def graph_folder(place: Path) -> Path:
    """A folder of 70 nodes with weights, and the tables of two new nodes."""
    graph = graphs()["weighted"]
    rows = zip(graph.rows.tolist(), graph.indices.tolist(), graph.weights.tolist(), strict=True)  # type: ignore[union-attr]
    edges = "".join(f"n{i},n{j},{w:.6f}\n" for i, j, w in rows)
    (place / "e.csv").write_text(f"source,target,weight\n{edges}")
    (place / "x.csv").write_text("id,a,b,c,d,e\n" + "".join(f"n{i},{_cells(row)}\n" for i, row in enumerate(graph.x.tolist())))
    (place / "new.csv").write_text("id,a,b,c,d,e\nm0,1,2,3,4,5\nm1,0.5,0,0,0,-1\n")
    (place / "more.csv").write_text("source,target,weight\nm0,n3,1.5\nm1,m0,0.5\nn4,n5,2\n")
    command("convert", place / "e.csv", "--features", place / "x.csv", "--out", place / "folder")
    return place / "folder"


def _cells(row: list[float]) -> str:
    return ",".join(f"{value:.6f}" for value in row)


def by_ranks(folder: Path, out: Path, size: int) -> np.ndarray:
    """The embeddings of a run by ranks of torchrun."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(size), "-m", "localgcl"]
    run(*torchrun, "train", folder, *flags({**BATCHES, "scaling": "standard"}), "--out", out)
    z: np.ndarray = np.load(out / "embeddings.npy")
    return z


def flags(settings: dict[str, Any]) -> list[str]:
    """Settings as options of the command line."""
    words = []
    for name, value in {**TINY, **settings}.items():
        flag = name.replace("_", "-")
        values = value if isinstance(value, tuple) else (value,)
        words += [f"--{flag}"] if value is True else [f"--{flag}", *map(str, values)]
    return words


def command(*arguments: str | Path) -> None:
    """`localgcl ARGUMENTS` in a process of its own."""
    run(sys.executable, "-m", "localgcl", *arguments)


def run(*words: str | Path) -> None:
    """Runs a program; its output is shown if it fails."""
    done = subprocess.run([*map(str, words)], env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        arrays: dict[str, Any] = dict(record(Path(folder)))
        np.savez(sys.argv[1], **arrays)
