import builtins
from collections import Counter
from typing import Any

import pytest

from localgcl.experiments.search.space import SAMPLERS, Settings, Space, grid, key, random, tpe

SPACE = Space({"dim": (1, 2, 3), "layers": (1, 2), "scaling": ("raw", "l1")})


def score(point: Settings) -> float:
    return float(10 * point["dim"] + point["layers"] + (point["scaling"] == "l1"))


def walk(name: str, number: int, seed: int = 0, space: Space = SPACE) -> list[Settings]:
    tried: list[tuple[Settings, float | None]] = []
    while len(tried) < number and (point := SAMPLERS[name](space, tried, seed)) is not None:
        tried.append((point, score(point)))
    return [point for point, _ in tried]


@pytest.mark.parametrize("name", SAMPLERS)
def test_every_point_comes_once_and_then_none(name: str) -> None:
    walked = walk(name, 100)
    assert len(walked) == SPACE.size
    assert {key(point) for point in walked} == {key(point) for point in SPACE.points()}


@pytest.mark.parametrize("name", SAMPLERS)
def test_the_same_seed_walks_the_same_way(name: str) -> None:
    assert walk(name, 8, seed=3) == walk(name, 8, seed=3)
    assert (walk(name, 8, seed=3) == walk(name, 8, seed=4)) == (name == "grid")


def test_the_grid_is_in_order() -> None:
    assert walk("grid", 5) == list(SPACE.points())[:5]


def test_draws_are_uniform() -> None:
    counts = Counter(key(draw) for seed in range(1200) if (draw := random(SPACE, [], seed)) is not None)
    # 1200 draws of 12 points: 100 each, with a deviation of about 9.6; five of them hold for all twelve but once in 10^5.
    assert all(abs(counts[key(point)] - 100) < 48 for point in SPACE.points())


def test_running_trials_are_not_proposed_again() -> None:
    first = random(SPACE, [], 0)
    assert first is not None
    for sampler in SAMPLERS.values():
        assert sampler(SPACE, [(first, None)], 0) != first
    everything = [(point, None) for point in SPACE.points()]
    assert all(sampler(SPACE, everything, 0) is None for sampler in SAMPLERS.values())


def test_tpe_finds_better_points_than_chance() -> None:
    space = Space({name: tuple(range(5)) for name in ("a", "b", "c", "d")})

    def found(name: str, seed: int) -> float:
        tried: list[tuple[Settings, float | None]] = []
        for _ in range(40):
            point = SAMPLERS[name](space, tried, seed)
            assert point is not None
            tried.append((point, float(sum(point.values()))))
        return sum(value or 0 for _, value in tried[10:]) / 30

    # A uniform point scores 8 on average with a deviation of 2.8: the mean of 30 stays below 10 but once in 10^4.
    assert all(found("tpe", seed) > 10 > found("random", seed) for seed in range(3))


def test_tpe_without_optuna_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    ordinary = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.split(".")[0] == "optuna":
            raise ImportError(name)
        return ordinary(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"localgcl\[hpo\].*random or grid"):
        tpe(SPACE, [], 0)
    assert grid(SPACE, [], 0) is not None
    assert random(SPACE, [], 0) is not None
