"""A graph folder that is cut, changed or half-written is refused with the name of the file."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from localgcl.datasets import sbm
from localgcl.graph.stored import FolderError, declared, file_hash, is_folder, open_array, read_header, write_header
from tests.references.folders import stored


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    stored(sbm(50, mean_degree=3, features=3, seed=0), tmp_path / "graph")
    return tmp_path / "graph"


def change(path: Path) -> None:
    """Another byte, and the time of the change."""
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))
    os.utime(path, ns=(1, 1))


def edit(path: Path, **fields: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda at: (at / "x.npy").unlink(), r"x.npy is missing; run localgcl convert again"),
    "cut": (lambda at: os.truncate(at / "indices.npy", 150), r"indices.npy has 150 bytes and not [\d,]+; run"),
    "changed": (lambda at: change(at / "x.npy"), r"x.npy was changed after it was written; run"),
    "no header": (lambda at: (at / "header.json").unlink(), r"graph has no header.json: it is no graph folder, or"),
    "half a header": (lambda at: os.truncate(at / "header.json", 40), r"header.json is damaged \(JSONDecodeError\)"),
    "a list": (lambda at: (at / "header.json").write_text("[]"), r"header.json is damaged"),
    "brackets": (lambda at: (at / "header.json").write_text("[" * 100_000), r"header.json is damaged"),
    "another version": (lambda at: edit(at / "header.json", version=9), r"version 9; this version reads"),
    "files elsewhere": (lambda at: edit(at / "header.json", files={"../x.npy": {}}), r"header.json is damaged \(KeyError\)"),
    "text as a size": (lambda at: edit(at / "header.json", nodes="many"), r"header.json is damaged"),
    "a size below zero": (lambda at: edit(at / "header.json", edges=-1), r"header.json is damaged"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_folders_are_refused(folder: Path, name: str) -> None:
    damage, message = DAMAGES[name]
    damage(folder)
    with pytest.raises(FolderError, match=message):
        read_header(folder)


def test_a_copy_is_the_same_folder(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "copy", copy_function=shutil.copyfile)  # with other times
    assert read_header(tmp_path / "copy") == read_header(folder, verify=True)


def test_verify_finds_what_size_and_time_hide(folder: Path) -> None:
    before = (folder / "x.npy").stat()
    change(folder / "x.npy")
    os.utime(folder / "x.npy", ns=(before.st_atime_ns, before.st_mtime_ns))
    read_header(folder)
    with pytest.raises(FolderError, match=r"x.npy was changed"):
        read_header(folder, verify=True)


def test_known_hashes_are_not_computed_again(folder: Path) -> None:
    header = write_header(folder, read_header(folder), {"x.npy": "known"})
    assert header.files["x.npy"]["sha256"] == "known"
    assert header.files["indptr.npy"]["sha256"] == file_hash(folder / "indptr.npy")
    (folder / "x.npy").unlink()
    assert declared(folder) == header  # files are not looked at


def test_what_is_a_folder(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "work" / ".convert").mkdir(parents=True)
    (folder / "header.json").unlink()
    assert is_folder(folder)
    assert is_folder(tmp_path / "work")
    for other in (tmp_path, tmp_path / "none", "x" * 10_000, "\0"):
        assert not is_folder(other)


def test_a_damaged_array_is_refused(folder: Path) -> None:
    (folder / "x.npy").write_bytes(b"no array at all" * 20)
    with pytest.raises(FolderError, match=r"x.npy cannot be read; run localgcl convert again"):
        open_array(folder, "x.npy")
