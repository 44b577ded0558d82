"""Numbers and dates as people write them: read when all cells agree on a form, refused when that would be a guess."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import localgcl as lg
from localgcl.io.cells import CATEGORY, DATE, NUMBER, cells_of, reading_of, values
from localgcl.io.encode import Column, Encoding, fit_column, fit_encoding
from tests.io.helpers import put


@pytest.mark.parametrize(
    ("texts", "form", "expected"),
    [
        (["1,234.56", "5", "-1,000,000"], "1,234.5", [1234.56, 5, -1e6]),
        (["3,50", "1.234,5", "-7"], "1.234,5", [3.5, 1234.5, -7]),
        (["12%", "5.5 %"], "1,234.5 %", [12, 5.5]),
        (["$5", "-$1,000.5", "($3)"], "1,234.5 $", [5, -1000.5, -3]),
        (["5 €", "1 234,5 €"], "1.234,5 €", [5, 1234.5]),
        (["31.12.1970", "1.1.1970 6:00"], "31.12.2020", [364, 0.25]),
        (["12/31/1970", "01/02/1970 12:00:00"], "12/31/2020", [364, 1.5]),
        (["31/12/1970", "02/01/1970"], "31/12/2020", [364, 1]),
        (["1970/01/02"], "2020/12/31", [1]),
        (["1-Feb-1970", "31-DECEMBER-1970"], "31-Dec-2020", [31, 364]),
    ],
)
def test_forms(texts: list[str], form: str, expected: list[float]) -> None:
    cells = cells_of(pa.array([*texts, "n/a"]))
    kind, found = reading_of(cells)
    assert (kind, found) == (DATE if "20" in form else NUMBER, form)
    read = values(cells, str(kind), form)
    assert read is not None
    np.testing.assert_allclose(read, np.array([*expected, np.nan]))


@pytest.mark.parametrize(
    "texts",
    [
        ["12%", "0.5"],  # a share or a number
        ["$5", "5 €"],
        ["01/02/2020", "03/02/2020"],  # day and month could be exchanged
        ["31.02.2020"],
        ["99/99/2020"],
        ["1-Foo-2020"],
        ["00501", "10001"],  # postal codes
    ],
)
def test_guesses_are_not_made(texts: list[str]) -> None:
    assert reading_of(cells_of(pa.array(texts))) == (CATEGORY, "")


@pytest.mark.parametrize("word", ["", " ", "NA", "n/a", "#N/A", "<NA>", "NaT", "NULL", "none", "-", "--", "?", "."])
def test_a_number_stays_one_where_cells_are_missing(word: str) -> None:
    column = fit_column("age", cells_of(pa.array([*map(str, range(50)), word])))
    assert isinstance(column, Column)
    assert (column.kind, column.missing) == (NUMBER, True)


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ([*map(str, range(50)), "unknown"] * 20, "numbers, but for 'unknown': leave"),
        ([*(f"{i}%" for i in range(50)), "0.5"] * 20, "numbers in several forms, such as '0%', '0.5'"),
        (
            [f"2020-01-{i:02d}" for i in range(1, 32)] * 20 + ["01/01/2020"],
            "dates in no form or in several.*: write them like 2020",
        ),
        ([f"{i % 12 + 1:02d}/{i % 7 + 1:02d}/2020" for i in range(900)], "dates whose day and month could be exchanged"),
        (["1.5", "inf"], "numbers, but for 'inf', which is infinite"),
        (["1.5", "1e300"], "numbers, but for '1e300', which is infinite"),
    ],
)
def test_scales_do_not_become_their_most_frequent_values(texts: list[str], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        fit_encoding(pa.table({"c": texts}), "x.csv")


def test_another_file_is_read_in_the_form_of_the_first() -> None:
    table = pa.table({"fee": ["1.234,5", "0,5"], "day": ["31/12/1970", "01/01/1970"]})
    with pytest.warns(lg.LocalGCLWarning, match=r"'fee' \(number like 1.234,5\), 'day' \(date like 31/12/2020\)"):
        encoding = Encoding.from_dict(json.loads(json.dumps(fit_encoding(table, "x").to_dict())))
    later = pa.table({"fee": ["1,234"], "day": ["02/01/1970"]})  # which alone would be 1234 and perhaps February
    assert encoding.apply(later, "y").tolist() == [[np.float32(1.234), 1]]
    with pytest.raises(ValueError, match=r"'fee' \(number like 1.234,5\), 'day' \(date like 31/12/2020\)"):
        encoding.apply(pa.table({"fee": ["1,234.5"], "day": ["12/31/1970"]}), "z")


def test_ids_among_the_features_are_told() -> None:
    with pytest.warns(lg.LocalGCLWarning, match="different whole number in each row: 'account'; leave ids out"):
        fit_encoding(pa.table({"account": [str(1000 + i) for i in range(100)], "age": ["1", "2"] * 50}), "x")


def test_older_encodings_are_read(tmp_path: Path) -> None:
    column = {"name": "f", "kind": "number", "median": 1.0, "categories": [], "other": False, "missing": False}
    edges, x = put(tmp_path / "e.csv", "source,target\na,b\n"), put(tmp_path / "x.csv", "id,f\na,1\nb,2\n")
    graph = lg.read_graph(edges, features=x, encode={"columns": [column], "dropped": []})
    assert graph.x.tolist() == [[1], [2]]
