"""NPY and NPZ files: what numpy writes is read as numpy reads it, and what is damaged or forged is refused in one line."""

import io
import struct
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from localgcl.io.numpy_files import member_names, read_npy, read_npz
from tests.io.helpers import saved

KINDS = ["?", "i1", "u2", "<i4", ">i8", "<u8", ">f4", "<f8", ">f8", "<f2", "g", "U3", ">U2", "S4"]


def npy(header: str | bytes, body: bytes = b"", version: tuple[int, int] = (1, 0)) -> bytes:
    """An NPY file with this header, right or wrong."""
    text = header.encode() if isinstance(header, str) else header
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H" if version == (1, 0) else "<I", len(text)) + text + body


def header(descr: str = "<f8", order: str = "False", shape: str = "(2,)") -> str:
    return f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"


# What is read


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(KINDS).flatmap(lambda kind: arrays.arrays(kind, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0))),
    st.booleans(),
)
def test_arrays_are_read_as_numpy_reads_them(array: Any, turned: bool) -> None:
    if array.dtype.kind == "S":
        array = np.char.encode(np.char.decode(array, "latin1"), "utf-8")
    array = np.asfortranarray(array) if turned else array
    read = read_npy(saved(np.save, array), "a.npy")
    assert read.dtype.isnative
    assert read.shape == array.shape
    if array.dtype.kind == "S":
        assert read.tolist() == np.char.decode(array, "utf-8").tolist()
    else:
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(read, array.astype(read.dtype))
    if array.dtype.kind in "iuU" or array.dtype.itemsize in (4, 8):
        assert read.dtype == array.dtype.newbyteorder("=") or array.dtype.kind in "bS"


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_all_versions_of_the_format(version: tuple[int, int]) -> None:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.arange(3.0), version=version)
    assert read_npy(buffer.getvalue(), "a.npy").tolist() == [0, 1, 2]


def test_headers_of_other_writers() -> None:
    body = struct.pack("<2d", 1.5, 2)
    for text in (header(shape="(2L,)"), header().replace("'", '"'), "{'shape':(2,),'fortran_order':False,'descr':'<f8'}\n"):
        assert read_npy(npy(text, body), "a.npy").tolist() == [1.5, 2]
    assert read_npy(npy(header(shape="()"), body[:8]), "a.npy").shape == ()


def test_a_bool_is_zero_or_one() -> None:
    assert read_npy(npy(header("|b1", shape="(3,)"), b"\0\1\7"), "a.npy").astype(int).tolist() == [0, 1, 1]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_of_an_archive(save: Any, tmp_path: Path) -> None:
    content = saved(save, x=np.arange(4).reshape(2, 2), y=["a", "é"], z=np.array(3.0))
    (tmp_path / "a.npz").write_bytes(content)
    for source in (content, tmp_path / "a.npz"):
        assert member_names(source, "a.npz") == ["x", "y", "z"]
        read = read_npz(source, "a.npz", ["y", "x", "z"])
        assert {name: array.tolist() for name, array in read.items()} == {"y": ["a", "é"], "x": [[0, 1], [2, 3]], "z": 3.0}


# Refusals


def refused(content: bytes, why: str = "") -> None:
    with pytest.raises(ValueError, match=f"bad.npy cannot be read, it may be truncated or of another format .*{why}") as caught:
        read_npy(content, "bad.npy")
    assert str(caught.value).isprintable()


def test_a_file_cut_anywhere_is_refused() -> None:
    content = saved(np.save, np.arange(4))
    for length in range(len(content)):
        refused(content[:length])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not that of an array"),
        ("{", "not that of an array"),
        ("(" * 9000, "not that of an array"),
        ("{" + "[" * 9000 + "}", "not that of an array"),
        ("{'descr': '<f8', 'shape': (2,)}", "not that of an array"),
        (header() + "{}", "not that of an array"),
        (header("<f8', 'descr': [('a', '<f8')], 'x': '"), "not that of an array"),
        (header("|O"), r"values of type '\|O'; save numbers or text"),
        (header("<c8"), "values of type '<c8'"),
        (header("<M8[s]"), "values of type"),
        (header("|V8"), "values of type"),
        (header("<U0"), "values of type"),
        (header("<U9999999999"), "values of type"),
        (header("<f3"), "values of type"),
        (header(",,"), "values of type"),
        (header(shape="(-1,)"), "not that of an array"),
        (header(shape="(2, 'a')"), "not that of an array"),
        (header(shape="2"), "not that of an array"),
        (header(shape="'(2,)'"), "not that of an array"),
        (header("<f12"), "values of type"),
        (header(shape="(1 2)"), "its shape is"),
        (header(shape="(" + "1," * 40 + ")"), "its shape is"),
        (header(shape="(99999999999999999999,)"), "its shape is"),
        (header(shape="(3,)"), r"declares shape \(3,\) of float64, 24 bytes, but has 16"),
        (header(shape="(1000000000, 1000000000, 1000000000)"), "declares shape"),
        (header("<U99999999", shape="(9223372036854775807,)"), "declares shape"),
        (header(order="None"), "not that of an array"),
        (b"\xff\xfe" * 20, "decode"),
    ],
)
def test_headers_that_are_wrong_are_refused(text: str | bytes, why: str) -> None:
    refused(npy(text, bytes(16)), why)
    refused(npy(text, bytes(16), version=(2, 0)), why)


def test_a_header_longer_than_the_file_is_refused() -> None:
    refused(b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + b"{}", "its header has 4,294,967,295 bytes")
    refused(b"\x93NUMPY\x04\x00" + bytes(99), "does not begin like an NPY file")
    refused(b"PK\x03\x04" + bytes(99), "does not begin like an NPY file")


@pytest.mark.parametrize("point", [0x110000, 0xD800, 0xFFFFFFFF])
def test_text_that_is_no_unicode_is_refused(point: int) -> None:
    refused(npy(header("<U1"), struct.pack("<2I", 65, point)), "text that is no Unicode")
    refused(npy(header(">U1"), struct.pack(">2I", 65, point)), "text that is no Unicode")


def test_bytes_that_are_no_text_are_refused() -> None:
    refused(npy(header("|S2"), b"a\0\xff\xff"), "decode")


def test_nothing_is_reserved_for_what_is_not_there() -> None:
    tracemalloc.start()
    refused(npy(header(shape="(300000000,)"), bytes(16)), "declares shape")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


def archive(method: int = zipfile.ZIP_STORED, **members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as made:
        for name, content in members.items():
            made.writestr(f"{name}.npy", content)
    return buffer.getvalue()


ONE = saved(np.save, np.arange(3))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read"),
        (ONE, "cannot be read.*not a zip file"),
        (archive(y=ONE), "has no array 'x', but 'y'; write it again, or download it again"),
        (archive(x=ONE[:-1]), "declares shape"),
        (archive(x=b""), "does not begin like an NPY file"),
        (archive(zipfile.ZIP_LZMA, x=ONE), "compressed by another method than numpy's"),
        (archive(zipfile.ZIP_BZIP2, x=ONE), "compressed by another method than numpy's"),
        (archive(x=ONE)[:-30], "cannot be read"),
        (archive(x=ONE).replace(ONE[-8:], b"\7" * 8), "Bad CRC-32"),
        (saved(np.savez, x=np.array([{}], dtype=object)), r"values of type '\|O'"),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else None,  # archives hold the time, and a test has one name
)
def test_archives_that_are_damaged_are_refused(content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=f"bad.npz.*{message}") as caught:
        read_npz(content, "bad.npz", ["x"])
    assert str(caught.value).isprintable()


def test_an_encrypted_member_is_refused() -> None:
    content = bytearray(archive(x=ONE))
    for start in (b"PK\x03\x04", b"PK\x01\x02"):
        at = content.index(start) + (6 if start == b"PK\x03\x04" else 8)
        content[at] |= 1
    with pytest.raises(ValueError, match=r"cannot be read.*encrypted"):
        read_npz(bytes(content), "bad.npz", ["x"])


def test_an_archive_that_expands_out_of_proportion_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localgcl.io.damage.FREE", 1 << 20)  # in place of 64 MiB, which take seconds to compress
    zeros = saved(np.save, np.zeros(1 << 23, dtype=np.uint8))
    content = archive(zipfile.ZIP_DEFLATED, x=zeros)
    with pytest.raises(ValueError, match=r"bad\.npz has 8,\d\d\d bytes but declares 8,388,\d\d\d bytes of data"):
        read_npz(content, "bad.npz", ["x"])
    assert read_npz(archive(x=zeros), "good.npz", ["x"])["x"].size == 1 << 23  # as large as it says


def test_a_member_that_says_it_is_larger_than_it_is_is_refused() -> None:
    """The directory declares a size, which nothing compares with the data before they are read."""
    content = archive(zipfile.ZIP_DEFLATED, x=npy(header(shape="(1000000000,)"), bytes(16)))
    size = struct.pack("<I", len(npy(header(shape="(1000000000,)"), bytes(16))))
    forged = content.replace(size, struct.pack("<I", 2**32 - 2))
    assert forged != content
    with pytest.raises(ValueError, match=r"bad\.npz has \d+ bytes but declares 4,294,967,294 bytes"):
        read_npz(forged, "bad.npz", ["x"])
