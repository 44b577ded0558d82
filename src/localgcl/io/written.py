"""How people write numbers and dates: 1,234.5, 3,50 €, 12 %, 31.12.2020. Each form is named by an example.

A column's form is chosen once, from all its cells, and kept: 1,234 is then the same number in every file.
"""

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

NUMBERS = {
    "1,234.5": (r"^-?(\d+|[1-9]\d{0,2}(,\d{3})+)(\.\d+)?$", ",", "."),
    "1.234,5": (r"^-?(\d+|[1-9]\d{0,2}([. \x{a0}\x{202f}]\d{3})+)(,\d+)?$", r"[. \x{a0}\x{202f}]", ","),
}
"""For each style: its pattern, thousands separator and decimal mark."""
UNITS = ("%", "$", "€", "£", "¥", "₹", "USD", "EUR", "GBP", "CHF", "JPY")
_TIME = r"(?:[ T](?P<time>\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?))?$"
DATES = {
    "31.12.2020": r"^(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})",
    "31/12/2020": r"^(?P<day>\d{1,2})/(?P<month>\d{1,2})/(?P<year>\d{4})",
    "12/31/2020": r"^(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{4})",
    "31-12-2020": r"^(?P<day>\d{1,2})-(?P<month>\d{1,2})-(?P<year>\d{4})",
    "12-31-2020": r"^(?P<month>\d{1,2})-(?P<day>\d{1,2})-(?P<year>\d{4})",
    "2020/12/31": r"^(?P<year>\d{4})/(?P<month>\d{1,2})/(?P<day>\d{1,2})",
    "31-Dec-2020": r"^(?P<day>\d{1,2})[- ](?P<month>[A-Za-z]{3,9})[- ](?P<year>\d{4})",
}
_EXCHANGED = {"31/12/2020": "12/31/2020", "31-12-2020": "12-31-2020"}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LIKE_NUMBER = r"^[^A-Za-z0-9]{0,3}\d[\d.,]*[^A-Za-z0-9]{0,3}$"
_LIKE_DATE = r"^(\d{1,4}[-./]\d{1,2}[-./]\d{1,4}|\d{1,2}[- ][A-Za-z]{3,9}[- ]\d{2,4})([ T]|$)"
_SAMPLE = 100


def number_form(cells: Any) -> str | None:
    """The form that all cells follow as numbers; None if there is none. O(n)."""
    return next((form for form in _number_forms() if _all(cells, form, numbers)), None)


def date_form(cells: Any) -> str | None:
    """The form that all cells follow as dates; None if there is none, or if day and month could be swapped. O(n)."""
    found = [form for form in DATES if _all(cells, form, moments)]
    return found[0] if found and not (len(found) > 1 and _differ(cells, *found[:2])) else None


def numbers(cells: Any, form: str) -> Any:
    """Texts of one form as doubles; raises pa.ArrowInvalid for a text of another form."""
    style, _, unit = form.partition(" ")
    pattern, thousands, decimal = NUMBERS[style]
    plain = _without_unit(cells, unit) if unit else cells
    _require(plain, pattern)
    plain = pc.replace_substring_regex(plain, thousands, "")
    return pc.replace_substring(plain, decimal, ".").cast(pa.float64())


def moments(cells: Any, form: str) -> Any:
    """Texts of one form as points in time; raises pa.ArrowInvalid for a text of another form."""
    pattern = DATES[form] + _TIME
    _require(cells, pattern)
    found = pc.extract_regex(cells, pattern)
    day, month, year, time = (pc.struct_field(found, name) for name in ("day", "month", "year", "time"))
    if "Dec" in form:
        place = pc.index_in(pc.utf8_lower(pc.utf8_slice_codeunits(month, 0, 3)), value_set=pa.array(_MONTHS, month.type))
        if place.null_count > month.null_count:
            raise pa.ArrowInvalid("no name of a month")
        month = pc.add(place, 1).cast(month.type)
    month, day = (pc.utf8_lpad(part, 2, "0") for part in (month, day))
    clock = pc.replace_substring_regex(
        pc.if_else(pc.equal(time, ""), pa.scalar("00:00", pa.large_string()), time), r"^(\d):", r"0\1:"
    )
    dash, space = (pa.scalar(mark, pa.large_string()) for mark in "- ")
    joined = pc.binary_join_element_wise(pc.binary_join_element_wise(year, month, day, dash), clock, space)
    return joined.cast(pa.timestamp("us"))


def almost(cells: Any) -> str:
    """Why a column of mostly numbers or dates is read as neither; empty for other columns."""
    known = cells.drop_null().unique()
    if pc.all(pc.match_substring_regex(known, r"^\d+$"), min_count=0).as_py():
        return ""  # codes with leading zeros
    for like, what in ((_LIKE_DATE, "dates"), (_LIKE_NUMBER, "numbers")):
        alike = pc.match_substring_regex(known, like)
        if len(known) and 2 * pc.sum(alike).as_py() > len(known):
            others = known.filter(pc.invert(alike)).to_pylist()
            if others:
                return f"{what}, but for {_examples(others)}: leave those cells empty"
            several = _examples(_unlike(known.to_pylist()))
            if what == "numbers":
                return f"numbers in several forms, such as {several}: write them alike"
            doubtful = any(_all(cells, form, moments) for form in _EXCHANGED)
            why = "whose day and month could be exchanged" if doubtful else "in no form or in several"
            return f"dates {why}, such as {several}: write them like 2020-12-31"
    return ""


def _number_forms() -> Iterator[str]:
    yield from NUMBERS
    yield from (f"{style} {unit}" for unit in UNITS for style in NUMBERS)


def _all(cells: Any, form: str, read: Any) -> bool:
    """Whether there are cells and all are of this form; a sample is tried first."""
    known = cells.drop_null()
    try:
        return len(known) > 0 and all(len(read(part, form)) for part in (known[:_SAMPLE], known))
    except pa.ArrowInvalid:
        return False


def _differ(cells: Any, one: str, other: str) -> bool:
    known = cells.drop_null()
    return _EXCHANGED.get(one) == other and not moments(known, one).equals(moments(known, other))


def _without_unit(cells: Any, unit: str) -> Any:
    """Removes the unit before or behind each number, and puts the minus first. Percentages and plain numbers do not mix."""
    if unit == "%" and not pc.all(pc.ends_with(cells.drop_null(), "%")).as_py():
        raise pa.ArrowInvalid("a number without %")
    bare = pc.replace_substring(cells, unit, "", max_replacements=1)
    bare = pc.replace_substring_regex(pc.utf8_trim_whitespace(bare), r"^\((.*)\)$", r"-\1")  # (5.00) of accountants
    return pc.replace_substring_regex(bare, r"^-\s+", "-")


def _require(cells: Any, pattern: str) -> None:
    if not pc.all(pc.match_substring_regex(cells.drop_null(), pattern), min_count=0).as_py():
        raise pa.ArrowInvalid("a cell of another form")


def _unlike(texts: list[str]) -> list[str]:
    """The first text of each shape; shapes differ in more than their digits."""
    shapes = {re.sub(r"\d+", "0", text): text for text in reversed(texts)}
    return [text for text in texts if shapes[re.sub(r"\d+", "0", text)] == text]


def _examples(texts: list[str]) -> str:
    return ", ".join(f"{text!r:.30}" for text in texts[:2]) + (f" and {len(texts) - 2:,} more" if len(texts) > 2 else "")
