"""Maintainers' tools, run from the repository: `python -m benchmarks.NAME`. They write its pages and refit its cost model."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
"""The repository that these tools belong to."""
BENCH = ROOT / "benchmarks" / "results" / "bench.csv"
"""What `python -m paper bench` measured, in the repository."""
