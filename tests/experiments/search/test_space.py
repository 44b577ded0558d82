from pathlib import Path

import pytest

from localgcl.experiments.search import Space, read_space
from localgcl.methods import METHODS, configure


def test_points_come_in_order_the_last_option_fastest() -> None:
    space = Space({"dim": (1, 2), "layers": (3, 4)})
    assert [tuple(point.values()) for point in space.points()] == [(1, 3), (1, 4), (2, 3), (2, 4)]
    assert space.size == 4


def test_values_take_the_declared_type_and_repeats_go() -> None:
    space = Space.checked({"temperature": [1, 1.0, 0.5], "dim": [8, 8]}, "local-gcl")
    assert space.values == {"temperature": (1.0, 0.5), "dim": (8,)}
    assert type(space.values["temperature"][0]) is float


def test_a_start_joins_and_a_fixed_option_leaves() -> None:
    space = Space({"dim": (1, 2), "layers": (3, 4)})
    assert space.including({"dim": 7, "layers": 3}).values == {"dim": (1, 2, 7), "layers": (3, 4)}
    assert space.without({"dim": 1}).values == {"layers": (3, 4)}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "the space is empty"),
        ({"dim": 64}, "a list of values"),
        ({"dim": []}, "a list of values"),
        ({"encoder": "gcn"}, "a list of values"),
        ({"dims": [64]}, "did you mean 'dim'"),
        ({"temperature": [0.5, 0.0]}, "temperature is 0.0; it must be above 0"),
        ({"seed": [0, 1]}, "seed cannot be searched"),
        ({"device": ["cpu"]}, "device cannot be searched"),
    ],
)
def test_slips_show_before_the_first_trial(values: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Space.checked(values, "local-gcl")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_a_small_space_around_its_defaults(method: str) -> None:
    space, defaults = read_space("small", method), configure(method, {}).flat()
    assert set(space.values) <= {"scaling", "learning_rate", "dim"}
    for option in set(space.values) - {"scaling"}:
        low, middle, high = space.values[option]
        assert low < middle == defaults[option] < high


def test_the_paper_space_is_as_printed() -> None:
    space = read_space("paper", "local-gcl")
    assert space.size == 2 * 3 * 3 * 6 * 2 * 3 * 3
    assert space.values["temperature"] == (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    assert "scaling" not in space.values
    assert "encoder" not in space.values


def test_spaces_by_name_and_by_file(tmp_path: Path) -> None:
    assert read_space(None, "local-gcl") == read_space("wide", "local-gcl")
    with pytest.raises(ValueError, match="no space 'wid'; did you mean 'wide'"):
        read_space("wid", "local-gcl")
    file = tmp_path / "mine.toml"
    file.write_text("dim = [8, 16]\n")
    assert read_space(file, "local-gcl") == Space({"dim": (8, 16)})
    with pytest.raises(FileNotFoundError):
        read_space(tmp_path / "none.toml", "local-gcl")
