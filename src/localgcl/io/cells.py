"""The kind of a column's cells (numbers, booleans, dates or categories), and their values."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from localgcl.io.ids import plain
from localgcl.io.written import DATES, date_form, moments, number_form, numbers

NUMBER, BOOLEAN, DATE, CATEGORY = "number", "boolean", "date", "category"
_MISSING = pa.array(
    ["", "na", "n/a", "#n/a", "#na", "<na>", "nan", "nat", "null", "none", "-", "--", "?", ".", "#null!"], pa.large_string()
)
"""Spellings of a missing value, in lower case."""
_TRUTH = pa.array(["true", "false"], pa.large_string())
_DAY = 86_400_000_000  # microseconds


def cells_of(column: Any) -> Any:
    """The column as one pyarrow array: null where a cell is missing, booleans for text that is all true or false."""
    array = plain(column)
    if pa.types.is_null(array.type):
        return array.cast(pa.large_string())
    if pa.types.is_floating(array.type):
        return pc.if_else(pc.is_nan(array), None, array)
    if not pa.types.is_large_string(array.type):
        return array
    text = pc.utf8_trim_whitespace(array)
    return pc.if_else(pc.is_in(pc.utf8_lower(text), value_set=_MISSING), None, text)


def kind_of_cells(cells: Any) -> str | None:
    """The kind of a column's cells, as `cells_of` gives them; None for types that hold none of them."""
    return reading_of(cells)[0]


def reading_of(cells: Any) -> tuple[str | None, str]:
    """The kind of a column's cells, and the form in which text is written (see `written`); empty if it is the plain one."""
    kind = cells.type
    if pa.types.is_boolean(kind):
        return BOOLEAN, ""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return NUMBER, ""
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return DATE, ""
    if not pa.types.is_large_string(kind):
        return None, ""
    # Numbers first: 2020 is a number, and pyarrow reads no date in it.
    found = next((kind for kind in (NUMBER, BOOLEAN, DATE) if values(cells, kind) is not None), CATEGORY)
    if found == NUMBER and _are_codes(cells):
        return CATEGORY, ""
    if found != CATEGORY:
        return found, ""
    for kind, form in ((NUMBER, number_form(cells)), (DATE, date_form(cells))):
        if form is not None:
            return kind, form
    return CATEGORY, ""


def values(cells: Any, kind: str, form: str = "") -> NDArray[np.float64] | None:
    """Numbers, booleans as 0 and 1, or dates as days since 1970; NaN where missing. None if a cell is of another kind.

    Text must be in `form`, or in the plain form if that is empty; other text is of another kind.
    """
    try:
        if kind == DATE:
            found = pc.divide(_moments(cells, form).cast(pa.int64()).cast(pa.float64()), float(_DAY))
        elif kind == BOOLEAN:
            found = _booleans(cells)
        elif pa.types.is_date(cells.type) or pa.types.is_timestamp(cells.type):
            return None
        elif form and pa.types.is_large_string(cells.type):
            found = numbers(cells, form)
        else:
            found = cells.cast(pa.float64(), safe=False)  # integers beyond 2^53 are rounded
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    array: NDArray[np.float64] = found.to_numpy(zero_copy_only=False).astype(np.float64)
    return array


def _are_codes(cells: Any) -> bool:
    """Whether whole numbers are written with leading zeros, as postal codes are."""
    return bool(pc.any(pc.match_substring_regex(cells, r"^0\d+$"), min_count=0).as_py())


def texts(cells: Any) -> Any:
    """The cells as text: categories are compared as such."""
    return cells.cast(pa.large_string())


def _booleans(cells: Any) -> Any:
    if pa.types.is_large_string(cells.type):
        lower = pc.utf8_lower(cells)
        if not pc.all(pc.is_in(lower.drop_null(), value_set=_TRUTH), min_count=0).as_py():
            raise pa.ArrowInvalid("neither true nor false")
        cells = pc.equal(lower, "true")
    return cells.cast(pa.float64()) if not pa.types.is_boolean(cells.type) else cells.cast(pa.uint8()).cast(pa.float64())


def _moments(cells: Any, form: str) -> Any:
    """Points in time in microseconds, UTC where a zone is given."""
    if not pa.types.is_large_string(cells.type):
        return cells.cast(pa.timestamp("us"), safe=False)
    if form in DATES:
        return moments(cells, form)
    try:
        return cells.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:  # with a zone, such as 2020-01-01T00:00:00Z
        return cells.cast(pa.timestamp("us", "UTC"))
