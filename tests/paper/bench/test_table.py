import multiprocessing
from pathlib import Path

import pytest

from paper.bench.table import FIELDS, environment, hardware, measurements, newest, read
from tests.paper.bench.rows import SURROUNDINGS, made_up


def test_rows_come_back_as_they_went(tmp_path: Path) -> None:
    path = tmp_path / "new" / "bench.csv"
    first = [made_up(1.5, peak=3.25), made_up(0.0, note="out of memory", provider="dense-exact")]
    measurements(path).append(*first)
    measurements(path).append(made_up(2.5, n=2000))
    assert read(path) == [*first, made_up(2.5, n=2000)]
    assert path.read_text().count("benchmark,provider") == 1
    assert tuple(first[0]) == FIELDS
    assert (first[0]["p50_ms"], first[0]["peak_mib"], first[1]["p50_ms"], first[1]["note"]) == (
        "1.5",
        "3.2",
        "",
        "out of memory",
    )


def test_other_columns_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bench.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"has other columns than these rows; write to another file \(--out\). It has: a,b"):
        measurements(path).append(made_up(1.0))
    with pytest.raises(ValueError, match="has other columns"):
        read(path)
    assert path.read_text() == "a,b\n1,2\n"
    with pytest.raises(FileNotFoundError, match="measure first"):
        read(tmp_path / "none.csv")


def _append_many(job: tuple[Path, int]) -> None:
    path, who = job
    for index in range(20):
        measurements(path).append(made_up(1.0, n=1000 * who + index))


def test_processes_that_share_a_table_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "bench.csv"
    # Not by fork: another test's threads may hold a lock at that moment, and the child would wait for it for ever.
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        pool.map(_append_many, [(path, who) for who in (1, 2, 3)])
    assert sorted(int(row["N"]) for row in read(path)) == [1000 * who + index for who in (1, 2, 3) for index in range(20)]


def test_the_last_measurement_counts() -> None:
    old, other, new = made_up(1.0), made_up(5.0, n=2000), made_up(2.0, commit="later")
    elsewhere = made_up(3.0, processor="Another")
    assert newest([old, other, new, elsewhere]) == [new, other, elsewhere]


def test_surroundings() -> None:
    here = environment("cpu")
    assert set(here) == set(SURROUNDINGS)
    assert here["device"] == "cpu"
    assert int(here["threads"]) >= 1
    assert float(here["load"]) >= 0
    assert environment("cpu", commit="abc")["commit"] == "abc"
    assert hardware(made_up(1.0)) == "Test Processor, 1 thread"
    assert hardware(made_up(1.0, threads="2")) == "Test Processor, 2 threads"
    assert hardware(made_up(1.0, device="NVIDIA H200")) == "NVIDIA H200"
