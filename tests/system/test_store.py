from pathlib import Path

import pytest

from localgcl.system.store import RowFile


def test_rows_come_back_as_text_in_their_order(tmp_path: Path) -> None:
    file = RowFile(tmp_path / "new" / "rows.csv", ("a", "b"))
    assert file.rows() == []
    file.append({"a": 1, "b": "x, y"}, {"a": 2, "b": ""})
    file.append({"b": "z", "a": 3})
    assert file.rows() == [{"a": "1", "b": "x, y"}, {"a": "2", "b": ""}, {"a": "3", "b": "z"}]
    with pytest.raises(ValueError, match=r"rows\.csv has other columns"):
        RowFile(file.path, ("a", "c")).append({"a": 1, "c": 2})
