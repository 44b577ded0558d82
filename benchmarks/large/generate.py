"""Writes a block model of any size to files: `python -m benchmarks.large.generate FOLDER --nodes 1000000 --edges 10000000`.

Node i belongs to class i mod `classes`. An edge starts at a uniform node and ends, with probability `homophily`, at a node of
the same class, else at one of another class. Features are the mean of the class plus noise. Memory is that of one chunk of
rows, and every chunk is drawn from its own seed: the same arguments give the same files.
"""

import argparse
import dataclasses
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

CHUNK = 250_000
"""Rows that are drawn and written at a time."""


@dataclasses.dataclass(frozen=True)
class BlockModel:
    """What to draw."""

    nodes: int
    edges: int
    features: int
    classes: int = 10
    homophily: float = 0.8
    noise: float = 2.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 < self.classes <= self.nodes:
            raise ValueError(f"{self.classes} classes for {self.nodes} nodes; give 2 classes or more, and a node for each")

    def edge_rows(self, part: range) -> Iterator[pa.RecordBatch]:
        for chunk, count in _chunks(part):
            rng = self._drawing("edges", chunk)
            source = rng.integers(self.nodes, size=count)
            other = rng.integers(1, self.classes, size=count)
            shift = np.where(rng.random(count) < self.homophily, 0, other)
            wanted = (source + shift) % self.classes
            members = (self.nodes - wanted - 1) // self.classes + 1
            target = wanted + self.classes * (rng.random(count) * members).astype(np.int64)
            yield pa.record_batch({"source": self.names(source), "target": self.names(target)})

    def feature_rows(self, part: range) -> Iterator[pa.RecordBatch]:
        means = self._drawing("means", 0).normal(size=(self.classes, self.features)).astype(np.float32)
        for chunk, count in _chunks(part):
            nodes = np.arange(chunk, chunk + count)
            noise = self._drawing("features", chunk).normal(scale=self.noise, size=(count, self.features)).astype(np.float32)
            x = np.ascontiguousarray((means[nodes % self.classes] + noise).T)
            yield pa.record_batch({"id": self.names(nodes), **{f"f{j}": column for j, column in enumerate(x)}})

    def label_rows(self, part: range) -> Iterator[pa.RecordBatch]:
        for chunk, count in _chunks(part):
            nodes = np.arange(chunk, chunk + count)
            yield pa.record_batch({"id": self.names(nodes), "label": nodes % self.classes})

    def names(self, nodes: NDArray[np.int64]) -> Any:
        """Text ids, all different and in no order: 10 digits of base 16, by an odd factor modulo 2^40."""
        mixed = ((nodes.astype(np.uint64) + 1) * np.uint64(0x9E3779B97F4A7C15)) & np.uint64(2**40 - 1)
        octets = mixed.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 3:]
        digits = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
        text = np.empty((len(nodes), 11), dtype=np.uint8)
        text[:, 0], text[:, 1::2], text[:, 2::2] = ord("u"), digits[octets >> 4], digits[octets & 15]
        offsets = np.arange(0, text.size + 1, 11, dtype=np.int32)
        return pa.Array.from_buffers(pa.string(), len(nodes), [None, pa.py_buffer(offsets), pa.py_buffer(text)])

    def _drawing(self, what: str, chunk: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *what.encode(), chunk])


def write(model: BlockModel, folder: Path, *, kind: str = "parquet", parts: int = 1) -> dict[str, list[Path]]:
    """Writes edges, features and labels, in `parts` files each, and returns their paths."""
    tables: dict[str, tuple[int, Callable[[range], Iterator[pa.RecordBatch]]]] = {
        "edges": (model.edges, model.edge_rows),
        "features": (model.nodes, model.feature_rows),
        "labels": (model.nodes, model.label_rows),
    }
    folder.mkdir(parents=True, exist_ok=True)
    return {
        name: [
            _write(rows(part), folder / f"{name}-{number:03}.{kind}")
            for number, part in enumerate(_parts(count, parts))
            if part
        ]
        for name, (count, rows) in tables.items()
    }


def _write(batches: Iterator[pa.RecordBatch], path: Path) -> Path:
    first = next(batches)
    opened = pyarrow.parquet.ParquetWriter if path.suffix == ".parquet" else pyarrow.csv.CSVWriter
    with opened(path, first.schema) as writer:
        for batch in itertools.chain([first], batches):
            writer.write_batch(batch)
    return path


def _parts(count: int, parts: int) -> Iterator[range]:
    """The rows of each file: whole chunks, so that the content does not depend on the number of files."""
    chunks = -(-count // CHUNK)
    for part in range(parts):
        start, stop = (min(count, chunks * p // parts * CHUNK) for p in (part, part + 1))
        yield range(start, stop)


def _chunks(part: range) -> Iterator[tuple[int, int]]:
    """First row and number of rows of each chunk."""
    for start in range(part.start, part.stop, CHUNK):
        yield start, min(CHUNK, part.stop - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--format", choices=("parquet", "csv"), default="parquet")
    parser.add_argument("--parts", type=int, default=1, help="number of files of each table")
    for name, default in {"nodes": 100_000, "edges": 1_000_000, "features": 16, "classes": 10, "seed": 0}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--homophily", type=float, default=0.8)
    parser.add_argument("--noise", type=float, default=2.0, help="deviation of features from the mean of the class")
    given = vars(parser.parse_args())
    folder, kind, parts = given.pop("folder"), given.pop("format"), given.pop("parts")
    for name, paths in write(BlockModel(**given), folder, kind=kind, parts=parts).items():
        print(f"{name}: {len(paths)} files, {sum(path.stat().st_size for path in paths):,} bytes")


if __name__ == "__main__":
    main()
