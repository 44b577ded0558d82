"""What pandas writes about an index beside the columns, right and wrong."""

import json
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from localgcl.io.tables import ids_first

TABLE = pa.table({"f": [1.0, 2.0], "id": [7, 8]})
RANGE: dict[str, Any] = {"kind": "range", "name": "n", "start": 0, "stop": 2, "step": 1}


def described(metadata: Any) -> Any:
    text = metadata if isinstance(metadata, bytes) else json.dumps(metadata)
    return TABLE.replace_schema_metadata({"pandas": text})


def indexed(*levels: Any) -> Any:
    return described({"index_columns": list(levels)})


@pytest.mark.parametrize(
    ("index", "names"),
    [
        (pd.Index([3, 4], name="node"), ["node", "f"]),
        (pd.Index(["a", "b"]), ["__index_level_0__", "f"]),
        (pd.Index([3, 4]), ["f"]),
        (pd.RangeIndex(2), ["f"]),
        (pd.RangeIndex(5, 1, -2, name="node"), ["node", "f"]),
        (pd.MultiIndex.from_tuples([(1, "a"), (2, "b")], names=["p", "q"]), ["p", "q", "f"]),
    ],
)
def test_the_index_comes_first(index: Any, names: list[str]) -> None:
    frame = pd.DataFrame({"f": [1.0, 2.0]}, index=index)
    table = ids_first(pa.Table.from_pandas(frame), "t")
    assert table.column_names == names
    if "node" in names:
        assert table.column("node").to_pylist() == list(index)


@pytest.mark.parametrize("metadata", [{}, {"index_columns": []}, {"index_columns": ["absent"]}, {"index_columns": ["f", "f"]}])
def test_levels_that_are_no_columns_are_left_out(metadata: Any) -> None:
    assert sorted(ids_first(described(metadata), "t").column_names) == ["f", "id"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (described(b"{"), "the pandas metadata of t cannot be read"),
        (described(b"\xff"), "the pandas metadata of t cannot be read"),
        (described(b"[" * 100_000), "the pandas metadata of t cannot be read"),
        (described([]), "does not list the columns of an index"),
        (described(None), "does not list the columns of an index"),
        (described({"index_columns": 7}), "does not list the columns of an index"),
        (described({"index_columns": "id"}), "does not list the columns of an index"),
        (indexed(None), "does not list the columns of an index"),
        (indexed([]), "does not list the columns of an index"),
        (indexed({}), "is damaged"),
        (indexed({**RANGE, "stop": None}), "is damaged"),
        (indexed({**RANGE, "stop": "2"}), "is damaged"),
        (indexed({**RANGE, "stop": 1.5}), "is damaged"),
        (indexed({**RANGE, "step": 0}), "is damaged"),
        (indexed({**RANGE, "start": 2**70}), "is damaged"),
        (indexed({**RANGE, "name": 7}), "is damaged"),
        (indexed({**RANGE, "stop": 3 * 10**8}), "has 2 rows, but its pandas index 'n' has 300000000"),
        (indexed({**RANGE, "name": "f"}), "several columns of one name"),
    ],
)
def test_descriptions_that_do_not_fit_are_refused(table: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        ids_first(table, "t")
    assert str(caught.value).isprintable()
