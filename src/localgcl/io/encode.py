"""Tables of mixed columns -> numbers: `fit_encoding` fits an `Encoding` to one table, which then encodes others alike.

| cells | columns of the matrix |
|---|---|
| numbers, booleans, dates | one: the number; 0 or 1; days since 1970. Missing ones become the median of the fitted table |
| categories | one for each of the 20 most frequent, 0 or 1; one for all others |
| missing in the fitted table | one more: 1 where missing |
"""

import dataclasses
import json
import os
import shlex
import warnings
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from localgcl.config import LocalGCLWarning
from localgcl.io.cells import CATEGORY, NUMBER, cells_of, kind_of_cells, reading_of, texts, values
from localgcl.io.written import almost
from localgcl.system.files import replacing
from localgcl.system.text import listed, shown

AUTO = "auto"
FILE = "encoding.json"
"""The encoding in a run folder."""
KEPT = 20
"""Categories of a column that have a feature of their own, at most."""
_MOST = 1000
"""Distinct texts of a column of categories, at most."""
_ROWS = 100
"""In tables of at least so many rows, a column of distinct whole numbers is taken for ids."""


@dataclasses.dataclass(frozen=True)
class Column:
    """How one column becomes features.

    Args:
        name: Its name in the table.
        kind: Of its cells: number, boolean, date or category.
        median: What missing numbers become.
        categories: The most frequent ones.
        other: Whether the fitted table had other categories.
        missing: Whether it had missing cells.
        form: How its numbers or dates are written (see `written`); empty for the plain form.
    """

    name: str
    kind: str
    median: float = 0.0
    categories: tuple[str, ...] = ()
    other: bool = False
    missing: bool = False
    form: str = ""

    @property
    def description(self) -> str:
        """Its kind and form, for messages."""
        return f"{self.kind} like {self.form}" if self.form else self.kind

    @property
    def features(self) -> list[str]:
        """Names of the features that it becomes."""
        named = [f"{self.name}={category}" for category in self.categories] if self.kind == CATEGORY else [self.name]
        return named + [f"{self.name}=(other)"] * self.other + [f"{self.name}=(missing)"] * self.missing

    def encode(self, cells: Any) -> NDArray[np.float32] | None:
        """The features of cells; None if they are of another kind than those it was fitted to."""
        absent = cells.is_null().to_numpy(zero_copy_only=False)
        parts = self._one_hot(cells) if self.kind == CATEGORY else self._numbers(cells)
        if parts is None:
            return None
        parts += [absent] * self.missing
        with np.errstate(over="ignore"):  # a number too large for float32 becomes infinite, which readers refuse
            return np.stack([part.astype(np.float32) for part in parts], axis=1) if parts else None

    def _numbers(self, cells: Any) -> list[NDArray[Any]] | None:
        found = values(cells, self.kind, self.form)
        return None if found is None else [np.where(np.isnan(found), self.median, found)]

    def _one_hot(self, cells: Any) -> list[NDArray[Any]] | None:
        if kind_of_cells(cells) is None:
            return None
        place = pc.index_in(texts(cells), value_set=pa.array(self.categories, pa.large_string()))
        at = place.fill_null(len(self.categories)).to_numpy(zero_copy_only=False)
        known = cells.is_valid().to_numpy(zero_copy_only=False)
        parts = [at == number for number in range(len(self.categories))]
        return parts + [(at == len(self.categories)) & known] * self.other


@dataclasses.dataclass(frozen=True)
class Encoding:
    """How a table becomes a matrix: plain data, fitted once.

    Args:
        columns: The columns in the order of their features.
        dropped: Columns that are left out.
    """

    columns: tuple[Column, ...]
    dropped: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all features."""
        return tuple(name for column in self.columns for name in column.features)

    def check(self, given: Sequence[str], place: str) -> None:
        """Raises ValueError that lists missing columns of a table; warns of unknown ones."""
        missing = [column.name for column in self.columns if column.name not in given]
        if missing:
            raise ValueError(
                f"{place} lacks {len(missing)} of the {len(self.columns)} columns that the encoding was fitted to: "
                f"{listed(missing)}; add them under these names (it has {listed(given)})"
            )
        known = {*(column.name for column in self.columns), *self.dropped}
        extra = [name for name in given if name not in known]
        if extra:
            warnings.warn(
                f"{place}: columns that the encoding was not fitted to are ignored: {listed(extra)}",
                LocalGCLWarning,
                stacklevel=2,
            )

    def apply(self, table: Any, place: str) -> NDArray[np.float32]:
        """The features of a pyarrow table, whose columns `check` has seen. Columns are found by name. O(n f).

        Raises:
            ValueError: Columns hold other kinds of cells than the fitted table did; the message lists all of them.
        """
        found = {column: column.encode(cells_of(table.column(column.name))) for column in self.columns}
        wrong = [f"{column.name!r:.80} ({column.description})" for column, part in found.items() if part is None]
        if wrong:
            raise ValueError(
                f"{place}: columns hold other cells than those that the encoding was fitted to: {', '.join(wrong[:6])}"
                f"{'...' * (len(wrong) > 6)}; write them as in that table"
            )
        return np.concatenate([part for part in found.values() if part is not None], axis=1)

    def to_dict(self) -> dict[str, Any]:
        """The encoding as JSON holds it."""
        return {"columns": [dataclasses.asdict(column) for column in self.columns], "dropped": list(self.dropped)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Encoding":
        """The encoding that `to_dict` gave; ValueError if it is none."""
        try:
            columns = [Column(**{**entry, "categories": tuple(entry["categories"])}) for entry in content["columns"]]
            return cls(tuple(columns), tuple(content["dropped"]))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"the encoding of columns is damaged ({error!r:.80}); fit it again with encode='auto'") from error


def fit_encoding(table: Any, place: str, drop: Collection[str] = ()) -> Encoding:
    """Fits an encoding to a pyarrow table without its ids.

    Raises:
        ValueError: Columns cannot be encoded: free text, too many categories, only missing cells; all are listed.
    """
    found = {name: fit_column(name, cells_of(table.column(name))) for name in table.column_names if name not in drop}
    refused = {name: fitted for name, fitted in found.items() if isinstance(fitted, str)}
    columns = [fitted for fitted in found.values() if isinstance(fitted, Column)]
    if refused:
        named = ", ".join(f"{name!r:.80} ({why})" for name, why in refused.items())
        left_out = shlex.quote(",".join(refused))
        raise ValueError(
            f"{place}: columns that cannot be encoded: {named}; leave them out (--drop {left_out}), or encode them yourself"
        )
    if not columns:
        raise ValueError(f"{place} has no column of features left; drop fewer")
    identifying = [column for column in columns if column.kind == NUMBER and _look_like_ids(cells_of(table[column.name]))]
    _warn_of_guesses(columns, identifying, place)
    return Encoding(tuple(columns), tuple(drop))


def _warn_of_guesses(columns: Sequence[Column], identifying: Sequence[Column], place: str) -> None:
    """Warns of guesses: how numbers and dates are written, and which numbers may be ids."""
    formed = [f"{column.name!r:.80} ({column.description})" for column in columns if column.form]
    guesses = []
    if formed:
        guesses.append(f"read as they are written: {', '.join(formed)}; leave out what is something else (--drop)")
    if identifying:
        names = listed([column.name for column in identifying])
        guesses.append(f"columns with a different whole number in each row: {names}; leave ids out (--drop)")
    for guess in guesses:
        warnings.warn(f"{place}: {guess}", LocalGCLWarning, stacklevel=2)


def _look_like_ids(cells: Any) -> bool:
    """Whether many rows all have different whole numbers: ids do, amounts rarely."""
    if len(cells) < _ROWS or cells.null_count or len(cells.unique()) < len(cells):
        return False
    found = values(cells, NUMBER)
    return found is not None and bool((found == np.floor(found)).all())


def fit_column(name: str, cells: Any) -> Column | str:
    """The fitted column for cells from `cells_of`; or the reason, as text, why they cannot be encoded."""
    kind, form = reading_of(cells)
    known, missing = cells.drop_null(), cells.null_count > 0
    if kind is None:
        return f"of type {cells.type!s:.40}"
    if len(known) == 0:
        return "empty"
    if kind == CATEGORY:
        return _too_many(known) or _fitted_categories(name, known, missing=missing)
    found = values(known, kind, form)
    assert found is not None
    wrong = np.flatnonzero(~(np.abs(found) <= np.finfo(np.float32).max)) if kind == NUMBER else found[:0]
    if wrong.size:
        return f"numbers, but for {known[int(wrong[0])].as_py()!r:.30}, which is infinite: leave it empty"
    return Column(name, kind, median=float(np.median(found)), missing=missing, form=form)


def _too_many(known: Any) -> str:
    """Why categories cannot be encoded; empty if they can."""
    distinct = len(known.unique())
    # The most frequent ones of what is almost a scale would stand for it.
    reason = almost(texts(known)) if distinct > KEPT else ""
    if not reason and (distinct > max(KEPT, min(_MOST, len(known) // 20)) or (distinct == len(known) and distinct > 2)):
        return f"text, {distinct:,} distinct"
    return reason


def _fitted_categories(name: str, known: Any, *, missing: bool) -> Column:
    counts = {count["values"]: count["counts"] for count in known.value_counts().to_pylist()}
    ordered = sorted(counts, key=lambda text: (-counts[text], text))
    return Column(name, CATEGORY, categories=tuple(ordered[:KEPT]), other=len(ordered) > KEPT, missing=missing)


def as_encoding(given: Any) -> Encoding | str | None:
    """The option `encode` as None, "auto" (fit one), or a fitted encoding, also from `Graph.encoding` or a file.

    Raises:
        ValueError: It is none of them.
        FileNotFoundError: There is no such file.
    """
    if given is None or given == AUTO or isinstance(given, Encoding):
        return given  # type: ignore[no-any-return]
    if isinstance(given, Mapping):
        return Encoding.from_dict(given)
    if not isinstance(given, str | os.PathLike):
        raise ValueError(f"encode is of type {type(given).__name__}; give 'auto', Graph.encoding, or a file encoding.json")
    path = Path(given)
    if not path.is_file():
        raise FileNotFoundError(f"encode is {shown(given)!r:.200}, which is no file; give 'auto', or encoding.json of a run")
    try:
        return Encoding.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{shown(path)} is damaged ({str(error)[:80]}); restore a copy or train again") from error


def write_encoding(folder: Path, encoding: Mapping[str, Any]) -> None:
    """Writes encoding.json into a folder."""
    with replacing(folder / FILE) as temporary:
        temporary.write_text(json.dumps(encoding, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
