from pathlib import Path

import numpy as np
import pytest

from localgcl.report.findings import Column
from localgcl.report.picture import check_picture, draw_map

RNG = np.random.default_rng(0)
XY = RNG.normal(size=(300, 2)).astype(np.float32)
CLASSES = Column("label", RNG.integers(-1, 25, size=300).astype(np.int32), tuple(f"class ${i}_{{" for i in range(25)))
NUMBERS = Column("income", np.where(RNG.random(300) < 0.1, np.nan, RNG.normal(size=300)).astype(np.float32))
EMPTY = Column("empty", np.full(300, np.nan, dtype=np.float32))


@pytest.mark.parametrize("column", [CLASSES, NUMBERS, EMPTY], ids=lambda column: column.name)
def test_columns_of_each_kind_are_drawn(column: Column, tmp_path: Path) -> None:
    path = tmp_path / "map.png"
    draw_map(XY, column, "a $title", "how <it> was made", path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_the_extension_names_the_format_and_the_same_map_is_the_same_file(tmp_path: Path) -> None:
    for name, start in (("a.svg", b"<?xml"), ("b.pdf", b"%PDF")):
        path, again = tmp_path / name, tmp_path / f"again-{name}"
        for target in (path, again):
            draw_map(XY, CLASSES, "title", "note", target)
        assert path.read_bytes().startswith(start)
        assert path.read_bytes() == again.read_bytes()
    text = (tmp_path / "a.svg").read_text()
    assert "5 other classes" in text  # beyond twenty colours
    assert "none (" in text


def test_other_extensions_are_refused_before_the_work() -> None:
    with pytest.raises(ValueError, match=r"map.gif has the extension '.gif'; a picture is one of .png, .svg, .pdf"):
        check_picture(Path("map.gif"))
