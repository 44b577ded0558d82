"""A CSV file of results that only grows."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from localgcl.system.ledger import append_rows, read_rows


class RowFile:
    """A CSV file with fixed columns, to which several processes may append rows; each row is written whole or not at all.

    Args:
        path: The file; its folder is made with the first row.
        fields: The columns. A file with other columns is refused.
    """

    def __init__(self, path: str | Path, fields: Sequence[str]) -> None:
        self.path, self.fields = Path(path), tuple(fields)

    def append(self, *rows: Mapping[str, object]) -> None:
        append_rows(self.path, self.fields, rows)

    def rows(self) -> list[dict[str, str]]:
        """All rows, oldest first; none where there is no file."""
        return read_rows(self.path, self.fields)
