"""NPY files and NPZ archives -> arrays of numbers or text, in native byte order; sparse matrices in NPZ archives -> CSR. And
rows -> NPY files.

Not `np.load`: it reserves the memory that a header declares before it looks at what is there, and a damaged header makes it
raise exceptions of the parser. Pickled objects are never loaded.
"""

import contextlib
import io
import math
import os
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from localgcl.graph.arrays import PARTS, matrix_of_parts
from localgcl.io.damage import check_expansion, decoding
from localgcl.system.files import replacing
from localgcl.system.team import ALONE, Team
from localgcl.system.text import listed

Array = NDArray[Any]
Source = Path | bytes
"""A file, or the content of one."""

_MAGIC = b"\x93NUMPY"
_LENGTH_BYTES = {(1, 0): 2, (2, 0): 4, (3, 0): 4}  # version -> size of the header's length
_LONGEST_HEADER = 10_000  # bytes, as for numpy
_KINDS = re.compile(r"[<>=|]?(b1|[iu][1248]|f(2|4|8|16)|[SU][1-9]\d{0,7})")
_MOST_AXES = 32
_POINTER_BYTES = 8
# The items of a header, in any order. Not parsed as Python: a few thousand brackets make its parser run out of memory.
_ITEM = re.compile(
    r"""['"]descr['"]\s*:\s*['"](?P<descr>[^'"]*)['"]\s*,?|"""
    r"""['"]fortran_order['"]\s*:\s*(?P<order>True|False)\s*,?|"""
    r"""['"]shape['"]\s*:\s*\((?P<shape>[\dL, ]*)\)\s*,?"""  # Python 2 wrote sides with an L
)
_SHAPE = re.compile(r"(\d{1,19}L?(, *\d{1,19}L?)*,? *)?")


def read_npy(source: Source, place: str) -> Array:
    """The array in an NPY file; ValueError if it is damaged, or holds neither numbers nor text. `place` names the file."""
    with _opened(source) as (file, size), decoding(place):
        return _read_array(file, size)


def member_names(source: Source, place: str) -> list[str]:
    """The names of the arrays in an NPZ archive."""
    with _opened(source) as (file, _):
        return list(_members(file, place)[1])


def read_npz(source: Source, place: str, names: Sequence[str]) -> dict[str, Array]:
    """The arrays of these names in an NPZ archive; ValueError if one is missing or damaged."""
    with _opened(source) as (file, size):
        archive, held = _members(file, place)
        missing = [name for name in names if name not in held]
        if missing:
            raise ValueError(f"{place} has no array {missing[0]!r}, but {listed(held)}; write it again, or download it again")
        check_expansion(sum(held[name].file_size for name in names), size, place)
        with decoding(place):
            return {name: _read_member(archive, held[name]) for name in names}


def holds_sparse_matrix(names: Iterable[str]) -> bool:
    """Whether an NPZ archive with arrays of these names is a sparse matrix."""
    return {"format", "shape"} <= set(names)


def read_sparse(path: Path, names: Iterable[str], place: str) -> sp.csr_array[Any]:
    """The sparse matrix in an NPZ archive with arrays of these names; ValueError if its parts do not fit each other."""
    head = read_npz(path, place, ("format", "shape"))
    kind, sides = head["format"].item() if head["format"].size == 1 else "", head["shape"]
    if kind not in PARTS:
        raise ValueError(f"{place} is a sparse matrix of format {kind!r:.40}; known are {', '.join(PARTS)}")
    if sides.shape != (2,) or sides.dtype.kind not in "iu" or int(sides.min()) < 0:
        raise ValueError(f"{place}: the shape of its sparse matrix is {sides.tolist()!r:.40}; give two sizes")
    rows, columns = (int(side) for side in sides)
    # CSR has a pointer for each row, however few bytes another format needs to declare them.
    check_expansion(_POINTER_BYTES * rows, path.stat().st_size, place, f"as CSR if it has {rows:,} rows")
    if kind == "coo" and "coords" in names:
        parts = read_npz(path, place, ("data", "coords"))
        if len(parts["coords"].shape) != 2 or len(parts["coords"]) != 2:
            raise ValueError(f"{place}: its coordinates have shape {parts['coords'].shape}; give (2, entries)")
        parts["row"], parts["col"] = parts["coords"]
    else:
        parts = read_npz(path, place, PARTS[kind])
    return sp.csr_array(matrix_of_parts(kind, parts, (rows, columns), place))


@contextlib.contextmanager
def _opened(source: Source) -> Iterator[tuple[io.BufferedIOBase, int]]:
    """The file and its size in bytes."""
    if isinstance(source, bytes):
        yield io.BytesIO(source), len(source)
    else:
        with source.open("rb") as file:
            yield file, source.stat().st_size


def _members(file: io.BufferedIOBase, place: str) -> tuple[zipfile.ZipFile, dict[str, zipfile.ZipInfo]]:
    """The archive and its members by array name."""
    with decoding(place):
        archive = zipfile.ZipFile(file)
        return archive, {member.filename.removesuffix(".npy"): member for member in archive.infolist()}


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    # The two methods that numpy writes. LZMA would reserve what its header declares.
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{member.filename!r} is compressed by another method than numpy's")
    with archive.open(member) as file:
        return _read_array(cast(io.BufferedIOBase, file), member.file_size)


class _Declared(NamedTuple):
    """What the header of an NPY file says."""

    kind: np.dtype[Any]
    fortran_order: bool
    shape: tuple[int, ...]


def declared(file: io.BufferedIOBase, size: int) -> _Declared:
    """What an NPY file of `size` bytes declares in its header, which is read; ValueError if it cannot be there."""
    start = file.read(len(_MAGIC) + 2)
    width = _LENGTH_BYTES.get((start[-2], start[-1])) if start[: len(_MAGIC)] == _MAGIC and len(start) == 8 else None
    if width is None:
        raise ValueError("it does not begin like an NPY file")
    length = int.from_bytes(file.read(width), "little")
    if length > min(size, _LONGEST_HEADER):
        raise ValueError(f"its header has {length:,} bytes")
    entries = re.fullmatch(r"\{(.*)\}", file.read(length).decode("utf-8").strip())
    items = _ITEM.finditer(entries[1]) if entries else []
    header = {key: value for item in items for key, value in item.groupdict().items() if value is not None}
    if entries is None or _ITEM.sub("", entries[1]).strip() or len(header) != 3:
        raise ValueError("its header is not that of an array of numbers or text")
    descr, order, shape = header["descr"], header["order"], header["shape"]
    if not _KINDS.fullmatch(descr) or (descr.endswith("f16") and np.dtype(np.longdouble).itemsize != 16):
        raise ValueError(f"it holds values of type {descr!r:.40}; save numbers or text")
    sides = tuple(int(side) for side in re.findall(r"\d+", shape)) if _SHAPE.fullmatch(shape) else (2**63,)
    if len(sides) > _MOST_AXES or max(sides, default=0) >= 2**63:
        raise ValueError(f"its shape is {shape!r:.40}")
    kind, there = np.dtype(descr), size - len(start) - width - length
    if math.prod(sides) * kind.itemsize > there:
        raise ValueError(f"it declares shape {sides} of {kind}, {math.prod(sides) * kind.itemsize:,} bytes, but has {there:,}")
    return _Declared(kind, order == "True", sides)


def _read_array(file: io.BufferedIOBase, size: int) -> Array:
    """The array at the head of a file of `size` bytes."""
    kind, fortran_order, shape = declared(file, size)
    values = _native(_read_values(file, math.prod(shape) * kind.itemsize).view(kind))
    return values.reshape(shape[::-1]).T if fortran_order else values.reshape(shape)


def _read_values(file: io.BufferedIOBase, count: int) -> NDArray[np.uint8]:
    """The next `count` bytes, read into the array that holds them: a large array fits into memory once."""
    values, done = np.empty(count, dtype=np.uint8), 0
    while done < count:
        read = file.readinto(values.data[done : done + (1 << 20)])
        if not read:
            raise EOFError(f"it ends {count - done:,} bytes too early")
        done += read
    return values


def _native(values: Array) -> Array:
    """The values in a type that torch, scipy and pyarrow know, in native byte order."""
    kind = values.dtype.kind
    if kind == "b":
        return np.asarray(values.view(np.uint8) != 0)
    if kind == "f" and values.dtype.itemsize not in (4, 8):
        return values.astype(np.float32 if values.dtype.itemsize == 2 else np.float64)
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    if kind == "S":
        return np.char.decode(values, "utf-8")
    if kind == "U":
        points = values.view(np.uint32)
        if bool(((points > 0x10FFFF) | ((points >= 0xD800) & (points < 0xE000))).any()):
            raise ValueError("it holds text that is no Unicode")
    return values


# Writing a block of rows at a time, for arrays that need not fit in memory


class ArrayWriter:
    """Appends rows to an NPY file; `close` writes their number.

    Args:
        path: The file, which is replaced.
        dtype: Type of the numbers.
        columns: Numbers in a row; None for a flat array.
    """

    def __init__(self, path: Path, dtype: DTypeLike, columns: int | None = None) -> None:
        self.count = 0
        self._dtype, self._columns = np.dtype(dtype), columns
        self._file = path.open("wb")
        self._length = self._write_header()

    def append(self, rows: NDArray[Any]) -> None:
        # Not tofile, which says nothing about a full disk.
        self._file.write(np.ascontiguousarray(rows, dtype=self._dtype).data)
        self.count += len(rows)

    def close(self) -> None:
        """Writes the length into the header."""
        self._file.flush()
        self._file.seek(0)
        # numpy pads headers, so that a longer first axis takes no more room.
        assert self._write_header() == self._length
        self._file.close()

    def _write_header(self) -> int:
        return _write_header(self._file, (self.count,) if self._columns is None else (self.count, self._columns), self._dtype)


def write_array(path: Path, array: NDArray[Any]) -> None:
    """Writes a whole array. Unlike np.save it says that a disk is full by the system's own error."""
    with contextlib.closing(ArrayWriter(path, array.dtype, array.shape[1] if array.ndim > 1 else None)) as file:
        file.append(array)


def new_array(path: Path, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """A mapped array of zeros in a new NPY file, for arrays that are written in more than one pass.

    Its room on the disk is taken at once: a full disk would end the process when a page is written.
    """
    array: NDArray[Any] = np.lib.format.open_memmap(path, mode="w+", dtype=np.dtype(dtype), shape=shape)
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return array


def write_rows(path: Path, shape: tuple[int, ...], kind: str, rows: range, blocks: Iterable[Array], team: Team = ALONE) -> None:
    """Writes an array in NumPy's format, a block of rows at a time; each process of a team writes a range of the rows.

    The file appears whole or not at all: the first process makes it under another name, and renames it when all have written.

    Args:
        path: The file; all processes see its folder.
        shape: Of the whole array.
        kind: Name of its dtype.
        rows: The rows that this process writes; those of all processes make up the whole.
        blocks: These rows, some at a time, in order.
        team: Who writes.
    """
    row = np.dtype(kind).itemsize * int(np.prod(shape[1:]))
    with contextlib.ExitStack() as stack:
        start = 0
        if team.rank == 0:
            temporary = stack.enter_context(replacing(path))
            with temporary.open("wb") as file:
                start = _write_header(file, shape, kind)
                file.truncate(start + row * shape[0])
            path = temporary
        path, start = team.broadcast((path, start))
        # Not for reading: a network file system would then write whole pages, and over the ends of other processes' shares.
        with os.fdopen(os.open(path, os.O_WRONLY | getattr(os, "O_BINARY", 0)), "wb") as file:
            done = rows.start
            file.seek(start + row * done)
            for block in blocks:
                if block.shape[1:] != shape[1:]:
                    raise ValueError(f"rows from {done} have shape {block.shape}, and the file {shape}")
                file.write(np.ascontiguousarray(block, dtype=kind).data)
                done += len(block)
            if done != rows.stop:
                raise ValueError(f"rows {rows.start} to {done} were written, and not those to {rows.stop}")
            file.flush()
            os.fsync(file.fileno())
        team.barrier()
    team.barrier()  # the file has its name


def _write_header(file: BinaryIO, shape: tuple[int, ...], kind: DTypeLike) -> int:
    """Returns where the rows begin."""
    described = {"shape": shape, "fortran_order": False, "descr": np.dtype(kind).newbyteorder("<").str}
    np.lib.format.write_array_header_1_0(file, described)
    return file.tell()
