"""How much memory a conversion may take, and how much disk it needs."""

import re
import shutil
from pathlib import Path

from localgcl.graph.stored import WORK
from localgcl.io.folder.inputs import Inputs
from localgcl.system.limits import available_memory, free_memory
from localgcl.system.memory import in_bytes
from localgcl.system.text import shown

LEAST = 2**30
"""Bytes of memory to take even if they are more than half of what is free."""
_SMALLEST = 2**29
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)

# Bytes a row, at the most during the conversion. An edge is stored twice: 8 bytes as mapped, 2 x 4 to 8 as an index, and 2 x 16
# while it is sorted; its weight twice in double and once in single precision, and beside both sorted rows.
_EDGE, _WEIGHT, _NODE, _CELL = 56, 44, 64, 4
_STRUCTURAL = 2 * 128 * 4


def parse_bytes(text: str) -> int:
    """Bytes of a size such as '4GiB', '500MB' or '2g' (a power of 1024 unless it ends in B without i).

    Example:
        >>> parse_bytes("4GiB"), parse_bytes("1.5 g"), parse_bytes("500MB")
        (4294967296, 1610612736, 500000000)
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"memory is {text!r:.80}; give a number with a unit, such as 4GiB or 512MiB")
    number, unit, binary = found.groups()
    base = 1000 if unit and not binary and text.strip().lower().endswith("b") else 1024
    return int(float(number) * base ** (" kmgt".index(unit.lower()) if unit else 0))


def chosen_memory(asked: int | None) -> int:
    """Bytes of memory that the conversion may take: as asked, else half of what is free, at least 1 GiB."""
    if asked is None:
        free = free_memory() or available_memory() or 0
        return max(LEAST, free // 2)
    if asked < _SMALLEST:
        raise ValueError(f"memory is {in_bytes(asked)}; give at least {in_bytes(_SMALLEST)}")
    return asked


def needed_disk(inputs: Inputs) -> int:
    """Estimated peak bytes on disk of the folder and the work in it, from the sizes of the files."""
    links = inputs.edges.size
    rows = links.cells // 2 if inputs.edges.is_array else links.rows
    edge_bytes = rows * (_EDGE + (_WEIGHT if inputs.weight != "" and links.cells > 2 * links.rows else 0))
    if inputs.features is None:
        # The number of nodes is unknown; it rarely exceeds that of edges.
        return edge_bytes + rows * _NODE + rows // 4 * _STRUCTURAL
    table = inputs.features.size
    ids = sum(path.stat().st_size for path in inputs.features.paths) // max(1, table.cells // max(1, table.rows))
    return edge_bytes + table.cells * _CELL + table.rows * _NODE + ids


def check_disk(out: Path, needed: int) -> None:
    """Raises OSError if the disk of `out` has too little room for `needed` bytes, less what an earlier attempt wrote there."""
    held = sum(path.stat().st_size for path in (out / WORK).rglob("*") if path.is_file())
    there = next(folder for folder in (out, *out.absolute().parents) if folder.is_dir())
    free = shutil.disk_usage(there).free
    missing = needed - held
    if missing > free:
        raise OSError(
            f"converting takes about {missing:,} bytes ({in_bytes(missing)}) on the disk of {shown(out)}, which has "
            f"{free:,} ({in_bytes(free)}) free; make room, or choose another --out"
        )
