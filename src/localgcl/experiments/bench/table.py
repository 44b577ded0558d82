"""The table of measurements: one CSV file to which rows are appended, each with all one needs to judge it."""

import os
import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from localgcl.experiments.bench.measure import Measurement
from localgcl.experiments.bench.setups import Cell
from localgcl.system.ledger import append_rows, read_rows
from localgcl.system.provenance import describe

Row = dict[str, str]
FIELDS = (
    *("benchmark", "provider", "case", "N", "d", "D", "dtype"),
    *("p20_ms", "p50_ms", "p80_ms", "peak_mib", "repeats", "note"),
    *("device", "processor", "threads", "load", "torch", "triton", "numba", "python", "commit", "date"),
)
_SIZES = ("benchmark", "provider", "case", "N", "d", "D", "dtype", "device", "processor", "threads")


def environment(device: str, commit: str | None = None) -> Row:
    """The columns that say where and with what a row was measured; `commit` stands in where git knows none."""
    made = describe()
    return {
        "device": torch.cuda.get_device_name(device) if device != "cpu" else "cpu",
        "processor": made["processor"],
        "threads": str(torch.get_num_threads()),
        "load": load(),
        "torch": made["packages"]["torch"],
        "triton": _version("triton"),
        "numba": _version("numba"),
        "python": platform.python_version(),
        "commit": commit or made["commit"] or "",
        "date": made["date"],
    }


def load() -> str:
    """How many processes wanted to run in the last minute, this one included: with more than the cores, times mean little."""
    return f"{os.getloadavg()[0]:.1f}"


def row(benchmark: str, provider: str, cell: Cell, result: Measurement, surroundings: Row) -> Row:
    """One line of the table."""
    timed = not result.note
    return {
        "benchmark": benchmark,
        "provider": provider,
        "case": cell.case,
        "N": str(cell.nodes),
        "d": str(cell.dim),
        "D": str(cell.num_features or ""),
        "dtype": "float32" if cell.device == "cpu" else "float32, tf32 products",
        "p20_ms": f"{result.p20:.5g}" if timed else "",
        "p50_ms": f"{result.p50:.5g}" if timed else "",
        "p80_ms": f"{result.p80:.5g}" if timed else "",
        "peak_mib": "" if result.peak is None else f"{result.peak:.1f}",
        "repeats": str(result.repeats),
        "note": result.note,
        **surroundings,
    }


def append(path: Path, rows: Sequence[Row]) -> None:
    """Adds rows; processes may share the file."""
    append_rows(path, FIELDS, rows)


def read(path: Path) -> list[Row]:
    """All rows, oldest first."""
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there; measure first, for example: localgcl bench negative-term --out {path}")
    return read_rows(path, FIELDS)


def newest(rows: Iterable[Row]) -> list[Row]:
    """Of rows that measure the same on the same hardware, the last one; in the order in which each was first measured."""
    return list({tuple(row[name] for name in _SIZES): row for row in rows}.values())


def hardware(row: Row) -> str:
    """Where a row was measured, for people."""
    if row["device"] != "cpu":
        return row["device"]
    return f"{row['processor']}, {row['threads']} thread{'s' * (row['threads'] != '1')}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
