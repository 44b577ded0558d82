import errno
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from localgcl.system import files
from localgcl.system.files import RowFile

FIELDS = ("name", "value")


def row(name: str, value: object = 1) -> dict[str, object]:
    return {"name": name, "value": value}


def names(path: Path) -> list[str]:
    return [row["name"] for row in RowFile(path, FIELDS).rows()]


def test_rows_come_back_as_text_in_their_order(tmp_path: Path) -> None:
    file = RowFile(tmp_path / "new" / "rows.csv", ("a", "b"))
    assert file.rows() == []
    file.append({"a": 1, "b": "x, y"}, {"a": 2, "b": ""})
    file.append({"b": "z", "a": 3})
    assert file.rows() == [{"a": "1", "b": "x, y"}, {"a": "2", "b": ""}, {"a": "3", "b": "z"}]
    with pytest.raises(ValueError, match=r"rows\.csv has other columns"):
        RowFile(file.path, ("a", "c")).append({"a": 1, "c": 2})


def test_rows_come_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "new" / "rows.csv"
    assert RowFile(path, FIELDS).rows() == []
    RowFile(path, FIELDS).append(row("a"), row("b, with a comma", 'and a "quote"'))
    RowFile(path, FIELDS).append(row("é", "two\nlines"))
    assert RowFile(path, FIELDS).rows() == [
        {"name": "a", "value": "1"},
        {"name": "b, with a comma", "value": 'and a "quote"'},
        {"name": "é", "value": "two\nlines"},
    ]
    assert path.read_bytes().startswith(b"name,value\na,1\n")


def test_other_columns_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    RowFile(path, FIELDS).append(row("a"))
    before = path.read_bytes()
    for action in (lambda: RowFile(path, ("name",)).append({"name": "b"}), lambda: RowFile(path, ("name",)).rows()):
        with pytest.raises(ValueError, match=r"rows\.csv has other columns .* It has: name,value"):
            action()
    assert path.read_bytes() == before


WRITER = """
import sys
from pathlib import Path
if sys.argv[4:] == ["without locks"]:
    sys.modules["fcntl"] = None
from localgcl.system.files import RowFile
path, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
for i in range(count):
    RowFile(path, ("name", "value")).append({"name": f"{name}{i}", "value": "x" * (1 + 97 * i % 5000)})
"""


@pytest.mark.parametrize("how", [[], ["without locks"]])
def test_two_processes_lose_no_row(tmp_path: Path, how: list[str]) -> None:
    path, count = tmp_path / "rows.csv", 40
    RowFile(path, FIELDS).append(row("first"))
    pipe = subprocess.PIPE
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name, str(count), *how], stdin=pipe, stdout=pipe, text=True)
        for name in "ab"
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:  # both start at once
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    found = names(path)
    assert found[0] == "first"
    assert sorted(found[1:]) == sorted(f"{name}{i}" for name in "ab" for i in range(count))


def test_an_unfinished_line_is_removed_and_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "rows.csv"
    RowFile(path, FIELDS).append(row("a"))
    with path.open("a") as file:
        file.write("half a r")
    with caplog.at_level(logging.WARNING, "localgcl"):
        assert names(path) == ["a"]
        RowFile(path, FIELDS).append(row("b"))
    assert len(caplog.messages) == 2
    assert all(line.endswith("rows.csv ends in an unfinished line, which does not count: half a r") for line in caplog.messages)
    assert path.read_text() == "name,value\na,1\nb,1\n"


def test_an_unfinished_header_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("name,va")
    RowFile(path, FIELDS).append(row("a"))
    assert path.read_text() == "name,value\na,1\n"


def test_without_locks_an_unfinished_line_stays_and_rows_start_on_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "fcntl", None)
    monkeypatch.setattr(files, "msvcrt", None)
    path = tmp_path / "rows.csv"
    path.write_text("name,value\na,1\nhal")
    RowFile(path, FIELDS).append(row("b"))
    assert path.read_text() == "name,value\na,1\nhal\nb,1\n"


def test_an_open_quote_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('name,value\na,1\nb,"two\nlines\n')
    for action in (lambda: RowFile(path, FIELDS).append(row("c")), lambda: RowFile(path, FIELDS).rows()):
        with pytest.raises(ValueError, match=r"rows\.csv, line 3: the row has a quote that is not closed"):
            action()
    assert path.read_text() == 'name,value\na,1\nb,"two\nlines\n'


FULL = """
import resource, sys
from pathlib import Path
from localgcl.system.files import RowFile
path = Path(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 10, resource.RLIM_INFINITY))
try:
    RowFile(path, ("name", "value")).append({"name": "b", "value": "x" * 1000})
except OSError as error:
    print(type(error).__name__, path.stat().st_size)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems end the process instead")
def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    """The limit lets 10 of 1,003 bytes through, as a disk does that is almost full."""
    path = tmp_path / "rows.csv"
    RowFile(path, FIELDS).append(row("a"))
    size = path.stat().st_size
    done = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout == f"OSError {size}\n"
    RowFile(path, FIELDS).append(row("c"))
    assert names(path) == ["a", "c"]


def test_an_interrupted_write_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.csv"
    RowFile(path, FIELDS).append(row("a"))
    before = path.read_bytes()

    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        RowFile(path, FIELDS).append(row("b"))
    assert path.read_bytes() == before


class FakeMsvcrt:
    """Windows' locks: a lock is on one byte at the current position; waiting for it ends with an error after ten seconds."""

    LK_LOCK, LK_UNLCK = 1, 0

    def __init__(self, refusals: int, error: int) -> None:
        self.refusals, self.error, self.calls = refusals, error, list[tuple[int, int]]()

    def locking(self, descriptor: int, mode: int, count: int) -> None:
        assert os.lseek(descriptor, 0, 1) == 2**30
        self.calls.append((mode, count))
        if len(self.calls) <= self.refusals:
            raise OSError(self.error, "refused")


def test_the_lock_of_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, locks = tmp_path / "rows.csv", FakeMsvcrt(refusals=2, error=errno.EDEADLK)
    monkeypatch.setattr(files, "fcntl", None)
    monkeypatch.setattr(files, "msvcrt", locks)
    RowFile(path, FIELDS).append(row("a"))
    assert names(path) == ["a"]
    assert locks.calls == [(1, 1), (1, 1), (1, 1), (0, 1)]


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, locks = tmp_path / "rows.csv", FakeMsvcrt(refusals=1, error=errno.ENOLCK)
    monkeypatch.setattr(files, "fcntl", None)
    monkeypatch.setattr(files, "msvcrt", locks)
    RowFile(path, FIELDS).append(row("a"))
    assert names(path) == ["a"]
    assert locks.calls == [(1, 1)]
