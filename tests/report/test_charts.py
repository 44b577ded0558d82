import re

import numpy as np
import pytest

from localgcl.report import charts
from localgcl.report.findings import Series


def series(x: list[float], y: list[float], name: str = "loss") -> Series:
    return Series(name, np.array(x, dtype=np.float32), np.array(y, dtype=np.float32))


def test_a_line_starts_and_ends_in_the_corners() -> None:
    (points,) = re.findall(r'points="([^"]*)"', charts.line(series([0, 5, 10], [4, 2, 1]), x_name="step"))
    first, _, last = ([float(value) for value in pair.split(",")] for pair in points.split())
    assert first == [charts.LEFT, charts.TOP]
    assert last == [charts.WIDTH - charts.RIGHT, charts.HEIGHT - charts.BOTTOM]


@pytest.mark.parametrize("y", [[1.0], [3.0, 3.0], [0.0, 0.0], [1e-9, 2e-9], [1e30, -1e30]])
def test_any_numbers_can_be_drawn(y: list[float]) -> None:
    drawn = charts.line(series(list(range(len(y))), y), x_name="step")
    assert "nan" not in drawn
    assert "<polyline" in drawn


@pytest.mark.parametrize("y", [[5.158, 5.1580005], [1.0001, 1.0002], [-9.9999, -9.9998], [0.0, 1e-9]])
def test_ticks_of_a_nearly_constant_line_differ(y: list[float]) -> None:
    ticks = re.findall(r'text-anchor="end"[^>]*>([^<]+)<', charts.line(series([0, 1], y), x_name="step"))[:-1]
    assert len(ticks) >= 2
    assert len(set(ticks)) == len(ticks)


def test_a_long_line_is_thinned_and_keeps_its_ends() -> None:
    t = np.arange(100_000, dtype=np.float32)
    (points,) = re.findall(r'points="([^"]*)"', charts.line(Series("loss", t, t), x_name="step"))
    pairs = points.split()
    assert len(pairs) == charts.DRAWN
    assert float(pairs[-1].split(",")[0]) == charts.WIDTH - charts.RIGHT


def test_agreement_lies_on_the_diagonal() -> None:
    drawn = charts.against(series([1, 2, 3], [1, 2, 3]), x_name="exact", y_name="approximated")
    spots = [(float(x), float(y)) for x, y in re.findall(r'cx="([^"]*)" cy="([^"]*)"', drawn)]
    ((x1, y1, x2, y2),) = re.findall(r'class="even" x1="([^"]*)" y1="([^"]*)" x2="([^"]*)" y2="([^"]*)"', drawn)
    assert spots[0] == (float(x1), float(y1))
    assert spots[-1] == (float(x2), float(y2))


def test_bins_double_and_lose_no_node() -> None:
    degrees = series([0, 1, 2, 3, 4, 5, 17], [5, 4, 3, 2, 2, 1, 1])
    labels, counts = charts.doubling(degrees)
    assert labels == ["0", "1", "2", "3-4", "5-8", "9-16", "17-32"]
    assert counts == [5, 4, 3, 4, 1, 0, 1]


def test_bins_of_isolated_nodes() -> None:
    assert charts.doubling(series([0], [7])) == (["0", "1"], [7, 0])


def test_a_bar_is_as_long_as_its_share() -> None:
    assert [re.findall(r'class="bar" width="([^"]*)"', charts.bar(share)) for share in (0.25, -1, 7)] == [
        ["25.0"],
        ["0.0"],
        ["100.0"],
    ]
