"""A short run of the fuzzer, and the cases that longer ones found; `python -m tests.fuzz.run` is the long run."""

import io
import zipfile
from pathlib import Path

import pytest

from tests.fuzz.inputs import Finding, attempt, fault_of, made
from tests.fuzz.minimise import shortened
from tests.fuzz.run import CASES
from tests.fuzz.targets import TARGETS

FEW = range(30)
"""Numbers of the inputs of a short run; the same ones each time, so that a test that passes goes on passing."""

STORED = sorted(str(folder.relative_to(CASES)) for folder in CASES.glob("*/*"))


@pytest.mark.parametrize("reader", TARGETS)
def test_seeds_are_read(reader: str, tmp_path: Path) -> None:
    """Mutations of files that cannot be read would find nothing."""
    for seed in TARGETS[reader].seeds:
        assert attempt(reader, seed, tmp_path) is True


@pytest.mark.parametrize("reader", TARGETS)
def test_changed_files_are_read_or_refused_in_one_line(reader: str, tmp_path: Path) -> None:
    outcomes = {number: attempt(reader, made(reader, number), tmp_path) for number in FEW}
    assert {number: outcome for number, outcome in outcomes.items() if isinstance(outcome, Finding)} == {}
    assert set(outcomes.values()) == {True, False}  # some of each: the mutations are neither too weak nor too strong


@pytest.mark.parametrize("case", STORED)
def test_what_was_found_stays_mended(case: str, tmp_path: Path) -> None:
    reader = case.partition("/")[0]
    changed = {path.name: path.read_bytes() for path in (CASES / case).iterdir()}
    assert changed
    assert not isinstance(attempt(reader, {**TARGETS[reader].seeds[0], **changed}, tmp_path), Finding)


# The fuzzer itself


def test_an_input_is_known_by_its_number() -> None:
    assert made("edges-npz", 7) == made("edges-npz", 7)
    assert made("edges-npz", 7) != made("edges-npz", 8)


def test_archives_of_the_seeds_hold_no_time() -> None:
    """Else an input would be another one in every run."""
    contents = [content for target in TARGETS.values() for seed in target.seeds for content in seed.values()]
    archives = [zipfile.ZipFile(io.BytesIO(content)) for content in contents if content.startswith(b"PK")]
    assert len(archives) > 10
    assert {member.date_time for archive in archives for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (ValueError("edges.csv has no rows"), ""),
        (OSError("edges.csv cannot be opened"), ""),
        (KeyError("edges.csv"), "KeyError"),
        (UnicodeError("edges.csv"), "UnicodeError"),
        (ValueError("the file has no rows"), "message that names no file"),
        (ValueError("edges.csv\nTraceback"), "message of several lines or with control characters"),
        (ValueError("edges.csv \x1b[31m"), "message of several lines or with control characters"),
        (ValueError("edges.csv " + "x" * 500), "message without an end"),
    ],
)
def test_what_counts_as_a_fault(error: Exception, fault: str) -> None:
    assert fault_of(error, ("edges.csv",)) == fault


def test_memory_that_ran_out_is_a_fault_however_it_is_worded() -> None:
    error = ValueError("edges.csv cannot be read")
    error.__cause__ = MemoryError()
    assert fault_of(error, ("edges.csv",)) == "hidden MemoryError"


def test_cases_are_made_small() -> None:
    assert shortened(b"0123456789" * 20, lambda content: b"7" in content) == b"7"
