"""Rows of a table that nobody measured."""

from paper.bench.measure import Measurement
from paper.bench.setups import Size
from paper.bench.table import BenchRow, row

SURROUNDINGS: BenchRow = {
    "device": "cpu",
    "processor": "Test Processor",
    "threads": "1",
    "load": "0.5",
    "torch": "2.9",
    "triton": "",
    "numba": "",
    "python": "3.11",
    "commit": "0123456789abcdef",
    "date": "2026-01-02T03:04:05+00:00",
}


def made_up(
    milliseconds: float,
    n: int = 1000,
    d: int = 256,
    big_d: int = 1024,
    *,
    provider: str = "ours",
    benchmark: str = "negative-term",
    peak: float | None = None,
    note: str = "",
    **surroundings: str,
) -> BenchRow:
    result = Measurement(0.9 * milliseconds, milliseconds, 1.1 * milliseconds, peak, 5, note)
    return row(benchmark, provider, Size(n, d, big_d), result, SURROUNDINGS | surroundings)
