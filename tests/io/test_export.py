import errno
import resource
import sys
import types
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from localgcl.commands import main
from localgcl.io import export
from localgcl.io.export import write_embeddings

Z = np.array([[0.1, -2.5], [1e-30, 3e7], [0.0, 1 / 3]], dtype=np.float32)
TABLES = (".parquet", ".csv", ".tsv")


def read_table(path: Path) -> Any:
    if path.suffix == ".parquet":
        return pyarrow.parquet.read_table(path)
    delimiter = "\t" if path.suffix == ".tsv" else ","
    return pyarrow.csv.read_csv(path, parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter))


def values(table: Any) -> Any:
    return np.column_stack([column.to_numpy().astype(np.float32) for column in table.columns[1:]])


def test_npy_holds_the_rows_in_node_order(tmp_path: Path) -> None:
    write_embeddings(tmp_path / "z.npy", torch.from_numpy(Z).requires_grad_(), ["a", "b", "c"])
    loaded = np.load(tmp_path / "z.npy", allow_pickle=False)
    assert loaded.dtype == np.float32
    np.testing.assert_array_equal(loaded, Z)


@pytest.mark.parametrize("extension", TABLES)
@pytest.mark.parametrize("ids", [[7, 3, 5], ["a", "b c", 'd",e'], None])
def test_tables_hold_ids_and_the_same_floats(tmp_path: Path, extension: str, ids: Any) -> None:
    path = tmp_path / f"z{extension}"
    write_embeddings(path, Z, ids)
    table = read_table(path)
    assert table.column_names == ["id", "e0", "e1"]
    assert table.column("id").to_pylist() == (ids or [0, 1, 2])
    np.testing.assert_array_equal(values(table), Z)


@settings(deadline=None, max_examples=30)
@given(hnp.arrays(np.float32, st.tuples(st.integers(1, 5), st.integers(1, 4)), elements=st.floats(width=32, allow_nan=False)))
def test_csv_digits_give_back_the_same_float32(tmp_path_factory: pytest.TempPathFactory, z: Any) -> None:
    path = tmp_path_factory.mktemp("csv") / "z.csv"
    write_embeddings(path, z)
    np.testing.assert_array_equal(values(read_table(path)), z)


def test_word2vec_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "_ROWS_AT_ONCE", 2)  # three rows then cross a boundary
    write_embeddings(tmp_path / "z.txt", Z, ["a", "b", "ü"])
    header, *lines = (tmp_path / "z.txt").read_text(encoding="utf-8").splitlines()
    assert header == "3 2"
    assert [line.split()[0] for line in lines] == ["a", "b", "ü"]
    np.testing.assert_array_equal(np.array([line.split()[1:] for line in lines], dtype=np.float32), Z)


@pytest.mark.parametrize("name", ["New York", "", "a\tb"])
def test_word2vec_refuses_ids_with_spaces(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=f"node id {name!r}.*use .parquet or .csv".replace("\\", "\\\\")):
        write_embeddings(tmp_path / "z.txt", Z, ["a", "b", name])
    assert list(tmp_path.iterdir()) == []


def test_ids_that_are_tuples_are_written_as_text(tmp_path: Path) -> None:
    ids = np.empty(3, dtype=object)
    ids[:] = [(0, 0), (0, 1), (1, 0)]
    write_embeddings(tmp_path / "z.parquet", Z, ids)
    assert read_table(tmp_path / "z.parquet").column("id").to_pylist() == ["(0, 0)", "(0, 1)", "(1, 0)"]


def test_faiss_is_named_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ImportError, match=r"pip install 'localgcl\[faiss\]'"):
        write_embeddings(tmp_path / "z.faiss", Z)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("ids", "expected"), [([7, 3, 5], [7, 3, 5]), (["a", "b", "c"], None)])
def test_faiss_gets_unit_rows_and_integer_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ids: list[Any], expected: list[int] | None
) -> None:
    """FAISS is stood in for by a record of what it was given."""
    given_to: dict[str, Any] = {}

    class Flat:
        def __init__(self, dim: int) -> None:
            given_to["dim"] = dim

        def add(self, rows: Any) -> None:
            given_to["rows"] = rows

    class Map:
        def __init__(self, index: Flat) -> None:
            self.index = index

        def add_with_ids(self, rows: Any, names: Any) -> None:
            self.index.add(rows)
            given_to["ids"] = names.tolist()

    fake: Any = types.ModuleType("faiss")
    fake.IndexFlatIP, fake.IndexIDMap2 = Flat, Map
    fake.serialize_index = lambda _: np.frombuffer(b"index", dtype=np.uint8)
    monkeypatch.setitem(sys.modules, "faiss", fake)
    write_embeddings(tmp_path / "z.faiss", np.vstack([Z[:2], np.zeros((1, 2))]), ids)
    assert (tmp_path / "z.faiss").read_bytes() == b"index"
    np.testing.assert_allclose(np.linalg.norm(given_to["rows"], axis=1), [1, 1, 0], rtol=1e-6)
    assert given_to.get("ids") == expected


def test_an_existing_file_stays_unless_told_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "z.npy"
    write_embeddings(path, Z)
    with pytest.raises(FileExistsError, match=r"z\.npy exists already; .*overwrite=True"):
        write_embeddings(path, Z + 1)
    np.testing.assert_array_equal(np.load(path), Z)
    write_embeddings(path, Z + 1, overwrite=True)
    np.testing.assert_array_equal(np.load(path), Z + 1)
    assert [file.name for file in tmp_path.iterdir()] == ["z.npy"]


@pytest.mark.parametrize("extension", [".npy", *TABLES, ".txt"])
def test_a_full_disk_leaves_the_older_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extension: str
) -> None:
    path = tmp_path / f"z{extension}"
    path.write_bytes(b"older")

    def full(file: BinaryIO, *_: Any) -> None:
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setitem(export.WRITERS, extension, full)
    with pytest.raises(OSError, match="could not write the embeddings: No space left on device") as caught:
        write_embeddings(path, Z, overwrite=True)
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(path)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"older"]


@pytest.mark.skipif(sys.platform != "linux", reason="file size limits as Linux has them")
@pytest.mark.parametrize("extension", [".npy", *TABLES, ".txt"])
def test_a_writer_that_really_runs_out_of_room_leaves_nothing(tmp_path: Path, extension: str) -> None:
    """A limit on file sizes makes the operating system refuse the writers' own writes, as a full disk does."""
    z = np.random.default_rng(0).standard_normal((2000, 16))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))
    try:
        with pytest.raises(OSError, match="could not write the embeddings"):
            write_embeddings(tmp_path / f"z{extension}", z)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(export.WRITERS, ".npy", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_embeddings(tmp_path / "z.npy", Z)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "z", "ids", "message"),
    [
        ("z.mat", Z, None, r"extension '\.mat'; known are \.npy, \.parquet"),
        ("z", Z, None, r"extension ''; known are"),
        ("z.npy", Z[0], None, r"shape \(2,\); give a matrix"),
        ("z.csv", Z, ["a"], "1 node ids for 3 embeddings"),
        ("folder.npy", Z, None, "is a folder"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path: Path, name: str, z: Any, ids: Any, message: str) -> None:
    (tmp_path / "folder.npy").mkdir()
    with pytest.raises(ValueError, match=message):
        write_embeddings(tmp_path / name, z, ids)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere does not exist; create it first"):
        write_embeddings(tmp_path / "nowhere" / "z.npy", Z)


# Formats from outside


def write_length(file: BinaryIO, matrix: Any, ids: Any) -> None:
    file.write(f"{ids.tolist()} {matrix.dtype} {matrix.shape}".encode())


@pytest.mark.parametrize("extension", [".mine", ".csv.mine"])
def test_one_assignment_adds_a_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], extension: str
) -> None:
    with pytest.raises(ValueError, match=r"extension '\.mine'; known are"):
        write_embeddings(tmp_path / f"z{extension}", Z)
    monkeypatch.setitem(export.WRITERS, extension, write_length)
    write_embeddings(tmp_path / f"Z{extension.upper()}", Z, ["a", "b", "c"])
    assert (tmp_path / f"Z{extension.upper()}").read_text() == "['a', 'b', 'c'] float32 (3, 2)"

    with pytest.raises(SystemExit):
        main(["embed", "--help"])
    assert f".faiss or {extension}" in " ".join(capsys.readouterr().out.split())


def test_the_longest_extension_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(export.WRITERS, ".own.csv", write_length)
    write_embeddings(tmp_path / "z.own.csv", Z)
    assert (tmp_path / "z.own.csv").read_text().endswith("float32 (3, 2)")
    write_embeddings(tmp_path / "z.csv", Z)
    assert read_table(tmp_path / "z.csv").column_names == ["id", "e0", "e1"]
