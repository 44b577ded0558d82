import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from benchmarks import ROOT
from benchmarks.pictures.__main__ import PICTURES, main
from benchmarks.pictures.drawing import Drawing


@pytest.mark.parametrize("name", PICTURES)
def test_stored_diagrams_are_those_that_are_drawn(name: str) -> None:
    """After a change: python -m benchmarks.pictures."""
    stored = ROOT / "docs" / "_static" / "diagrams" / f"{name}.svg"
    if not stored.parent.exists():
        pytest.skip("the documentation is not part of this build")
    assert stored.read_text(encoding="utf-8") == PICTURES[name]().svg()


@pytest.mark.parametrize("name", PICTURES)
def test_everything_is_on_the_card(name: str) -> None:
    """Boxes and dots are within the picture; a text is at least anchored there."""
    drawing = PICTURES[name]()
    root = ET.fromstring(drawing.svg())
    for part in root.iter():
        places = {
            key: float(value) for key, value in part.attrib.items() if key in ("x", "y", "width", "height", "cx", "cy", "r")
        }
        if part.tag.endswith("}rect"):
            left, top = places.get("x", 0), places.get("y", 0)
            assert 0 <= left <= left + places["width"] <= drawing.width
            assert 0 <= top <= top + places["height"] <= drawing.height
        elif part.tag.endswith("}circle"):
            assert places["r"] <= places["cx"] <= drawing.width - places["r"]
            assert places["r"] <= places["cy"] <= drawing.height - places["r"]
        elif part.tag.endswith("}text"):
            assert 0 < places["x"] < drawing.width
            assert 0 < places["y"] < drawing.height


def test_words_are_escaped() -> None:
    drawing = Drawing(10, 10, "a < b")
    drawing.text(5, 5, "<script>\n*x*")
    text = drawing.svg()
    assert "&lt;script&gt;" in text
    assert 'font-style="italic">x</text>' in text
    assert ET.fromstring(text)[0].text == "a < b"


def test_every_diagram_is_written_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(tmp_path)])
    assert len(capsys.readouterr().out.splitlines()) == len(PICTURES)
    if not (ROOT / "docs").exists():
        pytest.skip("the documentation is not part of this build")
    shown = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts)
    assert [name for name in PICTURES if f"_static/diagrams/{name}.svg" not in shown] == []
