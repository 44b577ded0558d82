"""Colours as people with each kind of colour blindness see them, after Machado, Oliveira and Fernandes (2009), severity 1."""

import itertools

import numpy as np
import pytest

from localgcl.report.palette import CATEGORIES, MISSING, OTHER, SEQUENCE

SIGHT = {
    "full": np.eye(3),
    "protanopia": np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
    "deuteranopia": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
    "tritanopia": np.array([[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]]),
}


def linear(colour: str) -> np.ndarray:
    values = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    light: np.ndarray = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    return light


def oklab(light: np.ndarray) -> np.ndarray:
    cones = np.array([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]])
    axes = np.array([[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]])
    seen: np.ndarray = axes @ np.cbrt(cones @ np.clip(light, 0, 1))
    return seen


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize(("first", "apart"), [(8, 0.07), (20, 0.045)])
def test_colours_can_be_told_apart(sight: str, first: int, apart: float) -> None:
    # A difference of .02 in OKLab is just noticeable side by side; twice to three times that is told apart across a map.
    seen = [oklab(SIGHT[sight] @ linear(colour)) for colour in CATEGORIES[:first]]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > apart


def test_colours_show_on_white_and_on_black() -> None:
    for colour in (*CATEGORIES, OTHER, MISSING, *SEQUENCE):
        assert 0.35 < oklab(linear(colour))[0] < 0.9, colour


def test_lightness_of_numbers_rises_evenly() -> None:
    steps = np.diff([oklab(linear(colour))[0] for colour in SEQUENCE])
    assert steps.min() > 0.08
    assert steps.max() < 2 * steps.min()
