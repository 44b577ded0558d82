import errno
import fcntl
import hashlib
import os
import signal
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from localgcl.system.files import digest, locked, remove_leftovers, replacing


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_file_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    with replacing(path) as temporary:
        assert temporary.parent == tmp_path  # a rename is atomic within one file system only
        assert temporary.suffix == ".csv"  # writers that go by the extension see the right one
        temporary.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new"
    assert names(tmp_path) == ["table.csv"]


def test_an_old_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a longer old text")
    with replacing(str(path)) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "a longer old text"
    assert path.read_text() == "new"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")

    def write() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        write()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["table.csv"]


def test_a_failure_without_an_old_file_leaves_none(tmp_path: Path) -> None:
    def write() -> None:
        with replacing(tmp_path / "table.csv") as temporary:
            temporary.unlink()  # even a writer that cleaned up after itself
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write()
    assert names(tmp_path) == []


def test_a_folder_in_the_way_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "table.csv").mkdir()
    with pytest.raises(OSError, match=r"table\.csv"), replacing(tmp_path / "table.csv") as temporary:
        temporary.write_text("new")
    assert names(tmp_path) == ["table.csv"]


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "nowhere" / "table.csv"):
        pass


@pytest.mark.parametrize(("mask", "expected"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_permissions_follow_the_umask(tmp_path: Path, mask: int, expected: int) -> None:
    before = os.umask(mask)
    try:
        with replacing(tmp_path / "table.csv") as temporary:
            assert mode(temporary) == expected  # never more open than the finished file
            temporary.write_text("new")
        assert mode(tmp_path / "table.csv") == expected
        assert os.umask(mask) == mask  # left as it was
    finally:
        os.umask(before)


def test_parallel_writers_do_not_mix(tmp_path: Path) -> None:
    path, writers = tmp_path / "table.csv", 8
    together = threading.Barrier(writers, timeout=30)
    before = os.umask(0o027)

    def write(i: int) -> Path:
        with replacing(path) as temporary:
            together.wait()  # all temporary files exist at once
            temporary.write_text(str(i) * 1000)
        return temporary

    try:
        with ThreadPoolExecutor(writers) as pool:
            used = list(pool.map(write, range(writers)))
        assert os.umask(0o027) == 0o027  # a race over the umask would leave another one behind
    finally:
        os.umask(before)
    assert len(set(used)) == writers
    text = path.read_text()
    assert text == text[0] * 1000
    assert names(tmp_path) == ["table.csv"]
    assert mode(path) == 0o640


# Files that a killed process left behind

KILLED = """
import os, signal, sys
from localgcl.system.files import replacing
with replacing(sys.argv[1]) as temporary:
    temporary.write_text("half a file")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def kill_a_writer_of(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL


def test_the_next_write_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    kill_a_writer_of(tmp_path / "table.csv")
    kill_a_writer_of(tmp_path / "other.csv")
    assert len(names(tmp_path)) == 2
    with replacing(tmp_path / "table.csv") as temporary:
        temporary.write_text("new")
    left, written = names(tmp_path)
    assert left.startswith(".other.csv.")  # of another file, which the next write of that file removes
    assert written == "table.csv"
    remove_leftovers(tmp_path)
    assert names(tmp_path) == ["table.csv"]


def test_files_of_living_writers_and_of_users_stay(tmp_path: Path) -> None:
    mine = {".table.csv", ".table.csv.swp", ".table.csv.localgcl-notes.csv", ".table.csv.0123abcd.csv"}
    for name in mine:
        (tmp_path / name).touch()
    (tmp_path / ".table.csv.localgcl-0123abcd.csv").mkdir()  # one of our names, but a folder
    with replacing(tmp_path / "table.csv") as first:
        with replacing(tmp_path / "table.csv") as second:
            second.write_text("second")
        remove_leftovers(tmp_path)
        first.write_text("first")
    assert (tmp_path / "table.csv").read_text() == "first"
    assert set(names(tmp_path)) == {*mine, "table.csv", ".table.csv.localgcl-0123abcd.csv"}


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    link = tmp_path / ".table.csv.localgcl-0123abcd.csv"
    link.symlink_to(tmp_path / "precious")
    remove_leftovers(tmp_path)
    assert (tmp_path / "precious").read_text() == "mine"
    assert link.is_symlink()


def test_a_file_that_is_taken_for_a_leftover_before_its_lock_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer creates its file and then locks it; another process may look for leftovers in between."""
    request, calls = fcntl.flock, []

    def late(descriptor: int, operation: int) -> None:
        calls.append(operation)
        if len(calls) == 1:
            for path in tmp_path.iterdir():
                path.unlink()
        request(descriptor, operation)

    monkeypatch.setattr("localgcl.system.files.fcntl.flock", late)
    with replacing(tmp_path / "table.csv") as temporary:
        temporary.write_text("new")
    assert names(tmp_path) == ["table.csv"]
    assert len(calls) == 2


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are written as ever. Nothing is removed: nobody can tell whether its writer lives."""
    kill_a_writer_of(tmp_path / "table.csv")

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("localgcl.system.files.fcntl.flock", refuse)
    with replacing(tmp_path / "table.csv") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "table.csv").read_text() == "new"
    assert len(names(tmp_path)) == 2


def test_a_folder_that_cannot_be_listed_can_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("localgcl.system.files.os.scandir", refuse)
    with replacing(tmp_path / "table.csv") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "table.csv").read_text() == "new"


# Locks and digests


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_lock_keeps_others_out_until_it_is_released(tmp_path: Path, is_folder: bool) -> None:
    path = tmp_path / "it"
    if is_folder:
        path.mkdir()
    else:
        path.write_text("content")
    with locked(path) as first:
        assert first
        with pytest.raises(BlockingIOError), locked(path):
            pass
        with pytest.raises(FileExistsError, match="wait for it"), locked(path, otherwise=FileExistsError("wait for it")):
            pass
    with locked(path) as second:
        assert second
    assert is_folder or path.read_text() == "content"


def test_a_lock_is_waited_for(tmp_path: Path) -> None:
    path, order = tmp_path / "file", list[str]()
    path.touch()

    def work() -> None:
        with locked(path, wait=True):
            order.append("second")

    with ThreadPoolExecutor(1) as pool:
        with locked(path):
            waiting = pool.submit(work)
            with pytest.raises(TimeoutError):
                waiting.result(timeout=0.2)
            order.append("first")
        waiting.result(timeout=30)
    assert order == ["first", "second"]


def test_a_lock_of_a_killed_process_is_released(tmp_path: Path) -> None:
    code = "import os, sys; from localgcl.system.files import locked\nwith locked(sys.argv[1]): os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == -signal.SIGKILL
    with locked(tmp_path) as is_locked:
        assert is_locked


def test_digests_are_those_of_hashlib() -> None:
    content = b"content" * 10_000
    assert digest(content[:7], memoryview(content[7:])) == hashlib.sha256(content).hexdigest()
