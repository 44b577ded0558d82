"""Small changes of valid files: of their bytes, and of what is packed in them, so that checksums do not hide the inside.

Every choice is drawn from one `random.Random`, so an input is known by its number alone.
"""

import contextlib
import gzip
import io
import json
import struct
import warnings
import zipfile
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from tests.fuzz.arguments import inside_argv
from tests.fuzz.byte_changes import CHANGES, INTEGERS, NUMBERS, WORDS, replace_match
from tests.fuzz.runs import inside_safetensors, inside_toml

NAMES = "source target edge_index x y format shape data indices indptr row col coords offsets blocksize _is_array ../x x.npy"
KINDS = "i1 u1 i2 i4 u4 i8 u8 f2 f4 f8 g c8 ? S3 S0 U2 U0 M8[s] m8[s] V4 >i4 >i8 >f4 >f8 >U2 O"
ARRAY_NAMES, ARRAY_KINDS = (*NAMES.split(), ""), KINDS.split()

Array = NDArray[Any]


def mutate(rng: Random, name: str, content: bytes, others: Sequence[bytes]) -> bytes:
    """The content of the file `name`, changed in one to four places; `others` are contents to splice with."""
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        inside = _INSIDE.get(name.rpartition(".")[2])
        if inside is not None and rng.random() < 0.7:
            with contextlib.suppress(Exception):  # what an earlier change broke cannot be unpacked again
                content = inside(rng, content)
                continue
        content = rng.choice(CHANGES)(rng, content, others)
    return content


# Arrays


def _saved(array: Array) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy notes that only itself reads some types
        np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def _change_array(rng: Random, array: Array) -> Array:
    choice = rng.randrange(7)
    if choice == 0 and array.size:
        array = array.copy()
        with np.errstate(all="ignore"):
            array.flat[rng.randrange(array.size)] = np.array(rng.choice(INTEGERS)).astype(array.dtype)
        return array
    if choice == 1:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return array.astype(rng.choice(ARRAY_KINDS))
    if choice == 2:
        return array[..., : rng.randrange(array.shape[-1] + 1)] if array.ndim else array.reshape(1)
    if choice == 3:
        shapes: tuple[Any, ...] = ((), (-1,), (1, -1), (-1, 1), (0, 3), (2, 0), (1, 1, -1))
        shape = rng.choice(shapes)
        return (
            np.resize(array, [4 if side == -1 else side for side in shape])
            if 0 in shape or shape == ()
            else array.reshape(shape)
        )
    if choice == 4:
        return np.array(rng.choice((array.T, np.roll(array, 1), array[::-1] if array.ndim else array)))
    if choice == 5:
        return np.resize(array, rng.choice(((1,), (5,), (3, 3), (64, 2), (300,))))
    return np.full_like(array, rng.choice((0, 1, 3)))


def _inside_npy(rng: Random, content: bytes) -> bytes:
    if rng.random() < 0.5:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a header that Python 2 could have written
            # Not allow_pickle: a changed pickle would run here.
            array = np.load(io.BytesIO(content), allow_pickle=False)
        return _saved(_change_array(rng, array))
    size = struct.unpack("<H", content[8:10])[0]
    header, body = content[10 : 10 + size], content[10 + size :]
    pattern = rng.choice((rb"\d+", rb"'[^']*'", rb"[<>|][a-z]\d+", rb"\([^)]*\)", rb"True|False", rb".", rb" +$"))
    new = rng.choice(
        (rng.choice(NUMBERS), rng.choice(WORDS), f"'{rng.choice(ARRAY_KINDS)}'", f"({rng.choice(INTEGERS)},)", "None")
    )
    changed = replace_match(rng, header, pattern, new.encode("utf-8", "surrogatepass"))
    if rng.random() < 0.1:
        changed = rng.choice((b"(", b"[", b"{", b"-")) * rng.choice((100, 9000)) + changed
    return content[:8] + struct.pack("<H", len(changed) % 2**16) + changed + body


def members_of(content: bytes) -> tuple[list[tuple[str, bytes]], int]:
    """Names and contents in a zip archive, and the method of its compression."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        return [(member.filename, archive.read(member)) for member in members], members[0].compress_type


def repacked(members: list[tuple[str, bytes]], method: int) -> bytes:
    """A zip archive without times."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name twice
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return buffer.getvalue()


def _inside_npz(rng: Random, content: bytes) -> bytes:
    members, _ = members_of(content)
    at = rng.randrange(len(members))
    name, member = members[at]
    choice = rng.randrange(8)
    if choice == 0:
        del members[at]
    elif choice == 1:
        members[at] = (f"{rng.choice(ARRAY_NAMES)}.npy", member)
    elif choice == 2:
        members.append((f"{rng.choice(ARRAY_NAMES)}.npy", member))
    elif choice == 3:
        members[at] = (name, rng.choice(CHANGES)(rng, member, [member]))
    else:
        members[at] = (name, _inside_npy(rng, member))
    return repacked(members, rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)))


# Text in gzip, and Parquet


def _inside_gzip(rng: Random, content: bytes) -> bytes:
    text = gzip.decompress(content)
    return gzip.compress(rng.choice(CHANGES)(rng, text, [text]), mtime=0)


def _inside_parquet(rng: Random, content: bytes) -> bytes:
    table = pyarrow.parquet.read_table(io.BytesIO(content))
    choice, at = rng.randrange(6), rng.randrange(max(table.num_columns, 1))
    if choice == 0:
        table = table.rename_columns(
            [rng.choice((*WORDS, *ARRAY_NAMES)) if i == at else n for i, n in enumerate(table.column_names)]
        )
    elif choice == 1:
        table = table.remove_column(at)
    elif choice == 2:
        table = table.set_column(at, table.column_names[at], _other_column(rng, table.column(at)))
    elif choice == 3:
        table = table.append_column(rng.choice((*ARRAY_NAMES, "weight")), table.column(at))
    elif choice == 4:
        table = pa.concat_tables([table] * rng.choice((0, 2, 3)) or [table.slice(0, 0)])
    else:
        table = table.replace_schema_metadata({b"pandas": _pandas_metadata(rng, table.num_rows)})
    out = pa.BufferOutputStream()
    options: dict[str, Any] = {
        "compression": rng.choice(("NONE", "SNAPPY", "ZSTD", "GZIP")),
        "use_dictionary": rng.random() < 0.5,
    }
    pyarrow.parquet.write_table(table, out, data_page_version=rng.choice(("1.0", "2.0")), **options)
    return bytes(out.getvalue().to_pybytes())


def _other_column(rng: Random, column: Any) -> Any:
    """The column in another type, or other values of another type."""
    n = len(column)
    numbers = (pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.bool_(), pa.decimal128(30, 4))
    times = (pa.timestamp("us"), pa.date32(), pa.time64("us"), pa.duration("s"))
    kinds = (*numbers, *times, pa.string(), pa.large_string(), pa.binary(), pa.null())
    kind = rng.choice(kinds)
    if rng.random() < 0.5:
        return column.cast(kind)
    filled: tuple[Any, ...] = (
        pa.nulls(n, kind),
        pa.array([rng.choice((None, "", "a", "7", "\x1b[31m", "é")) for _ in range(n)]),
        pa.array([rng.choice((None, 0, -1, 7, 2**63 - 1)) for _ in range(n)], pa.int64()),
        pa.array([rng.choice((2**64 - 1, 0, 5)) for _ in range(n)], pa.uint64()),
        pa.array([rng.choice((0.5, 1.0, float("nan"), float("inf"), 1e300, None)) for _ in range(n)], pa.float64()),
        pa.array([rng.choice((b"\xff", b"a", None)) for _ in range(n)], pa.binary()),
        pa.array([[1]] * n),
        pa.array([{"a": 1}] * n),
        pa.array([rng.choice(("a", "b")) for _ in range(n)]).dictionary_encode(),
    )
    return rng.choice(filled)


def _pandas_metadata(rng: Random, rows: int) -> bytes:
    stop: Any = rng.choice((rows, 3 * 10**8, 2**70, -1, "9", None, 1.5))
    limits: dict[str, Any] = {"kind": "range", "name": rng.choice((None, "id", 7)), "start": 0, "stop": stop, "step": 1}
    limits["step"] = rng.choice((1, 1, 0, -1, None))
    if rng.random() < 0.3:
        del limits[rng.choice(tuple(limits))]
    columns: Any = rng.choice(
        ([limits], ["absent"], ["id"], ["source"], [None], [[]], {}, 7, "id", ["__index_level_0__"], ["f", "f"])
    )
    metadata: Any = rng.choice(({"index_columns": columns, "columns": [], "column_indexes": []}, columns, {}, None))
    text = json.dumps(metadata).encode()
    return text if rng.random() < 0.8 else rng.choice(CHANGES)(rng, text, [text])


_INSIDE: dict[str, Callable[[Random, bytes], bytes]] = {
    "npy": _inside_npy,
    "npz": _inside_npz,
    "gz": _inside_gzip,
    "parquet": _inside_parquet,
    "safetensors": inside_safetensors,
    "toml": inside_toml,
    "argv": inside_argv,
}
