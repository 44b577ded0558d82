"""metrics.csv of a run folder: a row for each logged step."""

import csv
import math
from pathlib import Path
from typing import Any

from localgcl.system.files import replacing
from localgcl.system.text import shown

_ALWAYS = frozenset({"step", "seconds", "loss"})


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The logged rows; empty cells are left out. ValueError names the file when it is damaged."""
    if not path.exists():
        return []
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file, strict=True)
            if reader.fieldnames and not _ALWAYS.issubset(reader.fieldnames):
                raise ValueError(f"its first line does not name {', '.join(sorted(_ALWAYS))}")
            return [_numbers(row) for row in reader]
    except (OSError, ValueError, csv.Error) as error:
        raise ValueError(f"{path} is damaged ({shown(error)}); restore a copy or delete it") from error


def write_metrics(path: Path, rows: list[dict[str, Any]]) -> None:
    """Writes all rows, whole or not at all: a killed run leaves the last complete log."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)


def _numbers(row: dict[str, Any]) -> dict[str, Any]:
    values = {name: float(value) for name, value in row.items() if name is not None and value}
    if None in row or not _ALWAYS.issubset(values) or not 0 <= values["step"] < math.inf:
        cells = f"{list(row.values())!r:.200}"
        raise ValueError(f"a row lacks {', '.join(sorted(_ALWAYS))}, or has more cells than columns: {cells}")
    return values
