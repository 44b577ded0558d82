"""The table of measurements: a CSV file that only grows. Each row says what was measured, where, when and with what."""

import os
from collections.abc import Iterable
from pathlib import Path

from localgcl.system.files import RowFile
from localgcl.system.provenance import provenance
from paper.bench.measure import Measurement
from paper.bench.setups import Size

BenchRow = dict[str, str]
FIELDS = (
    *("benchmark", "provider", "case", "N", "d", "D", "dtype"),
    *("p20_ms", "p50_ms", "p80_ms", "peak_mib", "repeats", "note"),
    *("device", "processor", "threads", "load", "torch", "triton", "numba", "python", "commit", "date"),
)
_SAME = ("benchmark", "provider", "case", "N", "d", "D", "dtype", "device", "processor", "threads")


def environment(device: str, commit: str | None = None) -> BenchRow:
    """The columns that say where and with what a row was measured; `commit` is for copies of the source without history."""
    made = provenance(device, commit)
    return {
        "device": made.device,
        "processor": made.processor,
        "threads": str(made.threads),
        "load": load(),
        **{name: made.packages.get(name, "") for name in ("torch", "triton", "numba")},
        "python": made.python,
        "commit": made.commit,
        "date": made.date,
    }


def load() -> str:
    """The load average of the last minute, this process included: above the number of cores, times mean little."""
    return f"{os.getloadavg()[0]:.1f}"


def row(benchmark: str, provider: str, size: Size, result: Measurement, surroundings: BenchRow) -> BenchRow:
    """One line of the table."""
    timed = not result.note
    return {
        "benchmark": benchmark,
        "provider": provider,
        "case": size.case,
        "N": str(size.nodes),
        "d": str(size.dim),
        "D": str(size.num_features or ""),
        "dtype": "float32" if size.device == "cpu" else "float32, tf32 products",
        "p20_ms": f"{result.p20:.5g}" if timed else "",
        "p50_ms": f"{result.p50:.5g}" if timed else "",
        "p80_ms": f"{result.p80:.5g}" if timed else "",
        "peak_mib": "" if result.peak is None else f"{result.peak:.1f}",
        "repeats": str(result.repeats),
        "note": result.note,
        **surroundings,
    }


def measurements(path: Path) -> RowFile:
    """The table in a file."""
    return RowFile(path, FIELDS)


def read(path: Path) -> list[BenchRow]:
    """All rows, oldest first."""
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there; measure first: python -m paper bench negative-term --out {path}")
    return measurements(path).rows()


def newest(rows: Iterable[BenchRow]) -> list[BenchRow]:
    """The last of the rows that measure the same on the same hardware, in the order of their first measurement."""
    return list({tuple(row[name] for name in _SAME): row for row in rows}.values())


def hardware(row: BenchRow) -> str:
    """The GPU's name, or the CPU's with the number of threads."""
    if row["device"] != "cpu":
        return row["device"]
    return f"{row['processor']}, {row['threads']} thread{'s' * (row['threads'] != '1')}"
