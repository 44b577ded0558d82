import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from localgcl.system.files import replacing


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
