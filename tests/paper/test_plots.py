import contextlib
import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paper import plots
from paper.plots import COLOURS, canvas

Axes = list[Any]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Axes]:
    """The axes of each picture, as they were when it was written."""
    pictures: list[Axes] = []

    @contextlib.contextmanager
    def kept(*arguments: Any) -> Iterator[tuple[Any, Axes]]:
        with canvas(*arguments) as (figure, grid):
            yield figure, grid
            pictures.append(grid)

    monkeypatch.setattr(plots, "canvas", kept)
    return pictures


def timed(row: str, value: int, seconds: float, test: float | str, **more: Any) -> dict[str, Any]:
    return {"row": row, "value": str(value), "seconds": str(seconds), "test": str(test), **more}


def swept(graph: str, row: str, seed: int, test: float, **settings: Any) -> dict[str, Any]:
    return {"graph": graph, "row": row, "seed": str(seed), "test": str(test), "settings": json.dumps(settings)}


SCALE = [
    timed("bgrl", 100, 20.0, 69.0),
    timed("bgrl", 100, 22.0, 71.0),
    timed("bgrl", 10, 2.0, 60.0),
    timed("local-gcl", 50, 3.0, 70.0),
    timed("local-gcl", 10, 1.0, 65.0),
    timed("grace", 10, 1.0, ""),  # out of memory
]


def test_scale_draws_means_over_seeds_by_time(tmp_path: Path, drawn: list[Axes]) -> None:
    plots.scale(SCALE, tmp_path / "scale.svg")
    ((axes,),) = drawn
    ours, theirs = axes.containers
    assert np.allclose(ours.lines[0].get_xydata(), [(1, 65), (3, 70)])
    assert np.allclose(theirs.lines[0].get_xydata(), [(2, 60), (21, 70)])
    # The bar of two seeds at 69 and 71 reaches sqrt(2) to either side; one seed has none.
    single, double = theirs.lines[2][0].get_segments()
    assert np.ptp(single[:, 1]) == 0
    assert np.allclose(double[:, 1], [70 - 2**0.5, 70 + 2**0.5])
    assert axes.get_xscale() == "log"
    assert axes.get_ylabel() == "test accuracy in %"
    labels = {text.get_text(): text for text in axes.texts}
    assert set(labels) == {"local-gcl", "bgrl"}
    assert ours.lines[0].get_color() == COLOURS[0]
    assert tuple(labels["bgrl"].xy) == (21, 70)


def test_scale_takes_validation_where_there_is_no_test(tmp_path: Path, drawn: list[Axes]) -> None:
    rows = [{"row": "dgi", "seconds": 1.0, "validation": 50.0}, {"row": "dgi", "seconds": 2.0, "validation": 60.0}]
    plots.scale(rows, tmp_path / "scale.svg")
    ((axes,),) = drawn
    assert axes.get_ylabel() == "validation accuracy in %"
    (line,) = axes.containers
    assert np.allclose(line.lines[0].get_xydata(), [(1, 50), (2, 60)])
    assert line.lines[0].get_color() != COLOURS[0]  # that one is local-gcl's


@pytest.mark.parametrize("slope", [1, -1])  # names crowd at the top, or at the bottom
def test_labels_keep_their_distance_and_stay_inside(tmp_path: Path, drawn: list[Axes], slope: int) -> None:
    rows = [timed(f"method {place}", steps, steps, 70 + place / 100 + slope * steps) for place in range(9) for steps in (1, 2)]
    plots.scale(rows, tmp_path / "scale.png")
    ((axes,),) = drawn
    heights = sorted(text.xyann[1] for text in axes.texts)
    low, high = axes.get_ylim()
    # 4.2 inches less the x axis hold about twenty lines of 9 points, so a twentieth of the axis is a line.
    assert min(np.diff(heights)) >= (high - low) / 20
    assert low <= heights[0]
    assert heights[-1] <= high


def test_sensitivity_draws_a_panel_a_graph(tmp_path: Path, drawn: list[Axes]) -> None:
    rows = [swept("cora", "dgi", 0, 80.0, dim=d, num_features=64) for d in (256, 64)]
    rows += [swept("cora", "local-gcl", seed, 70 + d / 64 + seed, dim=d, num_features=64) for d in (128, 64) for seed in (0, 2)]
    rows += [swept("actor", "dgi", 0, 20 + d / 64, dim=d, num_features=64) for d in (64, 256)]
    plots.sensitivity(rows, tmp_path / "d.svg")
    ((cora, actor),) = drawn
    assert (cora.get_title(), actor.get_title()) == ("cora", "actor")
    ours, theirs = cora.get_lines()
    assert ours.get_label() == "local-gcl"
    assert np.allclose(ours.get_xydata(), [(64, 72), (128, 73)])
    assert np.allclose(theirs.get_xydata(), [(64, 80), (256, 80)])
    (line,) = actor.get_lines()
    assert line.get_color() == theirs.get_color()
    # Seeds of 71 and 73 deviate by sqrt(2).
    band = cora.collections[0].get_paths()[0].vertices
    at = band[np.isclose(band[:, 0], 64), 1]
    assert np.allclose([at.min(), at.max()], [72 - 2**0.5, 72 + 2**0.5])
    assert cora.get_xlabel() == "d"
    assert cora.xaxis.get_transform().base == 2
    assert np.ptp(cora.get_ylim()) == pytest.approx(np.ptp(actor.get_ylim()))


def test_sensitivity_finds_what_varies(tmp_path: Path, drawn: list[Axes]) -> None:
    rows = [swept("cora", "local-gcl", 0, 80.0, dim=64, num_features=count) for count in (256, 512)]
    plots.sensitivity(rows, tmp_path / "D.svg")
    ((axes,),) = drawn
    assert axes.get_xlabel() == "D"
    with pytest.raises(ValueError, match="neither dim nor num_features varies"):
        plots.sensitivity(rows[:1], tmp_path / "one.svg")
    plots.sensitivity(rows[:1], tmp_path / "one.svg", option="dim")
    with pytest.raises(ValueError, match="both dim and num_features vary"):
        plots.sensitivity([*rows, swept("cora", "local-gcl", 0, 80.0, dim=32, num_features=256)], tmp_path / "two.svg")


def test_seeds_of_different_settings_are_not_averaged(tmp_path: Path) -> None:
    rows = [swept("cora", "local-gcl", 0, 80.0, dim=d, temperature=0.5) for d in (64, 128)]
    rows += [swept("cora", "local-gcl", 1, 80.0, dim=128, temperature=0.7)]
    with pytest.raises(ValueError, match="local-gcl on cora at dim = 128 has rows of different settings"):
        plots.sensitivity(rows, tmp_path / "d.svg")


def test_nothing_to_draw_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="none of 1 rows"):
        plots.scale([timed("grace", 10, 1.0, "")], tmp_path / "scale.svg")


def test_pictures_are_white_and_reproducible(tmp_path: Path) -> None:
    for name in ("one.svg", "two.svg"):
        plots.scale(SCALE, tmp_path / name)
    drawing = (tmp_path / "one.svg").read_text()
    assert drawing == (tmp_path / "two.svg").read_text()
    ET.fromstring(drawing)
    # The first path is the page itself.
    assert "fill: #ffffff" in drawing[: drawing.index('id="axes_1"')]


def test_colours_start_again_dashed() -> None:
    styles = plots._styles(dict.fromkeys(f"method {place}" for place in range(12)))
    looks = {(style["color"], style["linestyle"]) for style in styles.values()}
    assert len(looks) == 12
    assert (COLOURS[0], "-") not in looks
