from collections.abc import Callable, Collection
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from localgcl.experiments import sweep
from localgcl.experiments.sweep import Sweep, decisive_settings, missing, recipe_hash
from localgcl.methods import configure
from localgcl.system.workers import Workers
from tests.experiments.copying import Copying


class Seeded(NamedTuple):
    name: str
    seed: int

    @property
    def key(self) -> tuple[str, int]:
        return self.name, self.seed


def several(values: list[int]) -> Callable[[Collection[int]], int | None]:
    waiting = iter(values)
    return lambda _: next(waiting, None)


def test_what_is_stored_or_named_twice_is_not_missing() -> None:
    first, second, third = (Seeded("a", seed) for seed in range(3))
    assert missing([third, first, first, second], {second.key: "stored"}) == [third, first]


def test_an_item_is_known_by_what_decides_its_result() -> None:
    config = configure("dgi", {"dim": 4})
    mine = recipe_hash("cora", decisive_settings(config))
    assert mine == recipe_hash("cora", decisive_settings(config.replace(seed=3, device="cpu", threads=1, log_every=7)))
    others = ("pubmed", config), ("cora", config.replace(dim=5)), ("cora", config.replace(steps=1))
    assert len({mine, *(recipe_hash(graph, decisive_settings(other)) for graph, other in others)}) == 4


@pytest.mark.parametrize("workers", [Copying, pytest.param(Workers, marks=pytest.mark.slow)])
def test_several_at_a_time_give_the_same_results(workers: type[Workers], monkeypatch: pytest.MonkeyPatch) -> None:
    alone = list(Sweep(pow, 3).results(several([1, 2, 3, 4])))
    assert alone == [(1, 3), (2, 9), (3, 27), (4, 81)]
    monkeypatch.setattr(sweep, "Workers", workers)
    assert sorted(Sweep(pow, 3, jobs=2).results(several([1, 2, 3, 4]))) == alone


def test_each_item_is_proposed_when_it_can_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "Workers", Copying)
    asked: list[list[int]] = []

    def propose(running: Collection[int]) -> int | None:
        asked.append(sorted(running))
        return len(asked) if len(asked) < 4 else None

    assert sorted(Sweep(pow, 2, jobs=2).results(propose)) == [(1, 2), (2, 4), (3, 8)]
    assert asked[:2] == [[], [1]]  # none is running, then one
    assert max(map(len, asked)) == 1  # never asked while two are running


def test_progress_and_what_is_left_when_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    now, said = [0], list[str]()
    monkeypatch.setattr(sweep, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def record(item: int, result: int) -> str:
        now[0] += 60
        return f"{item} gives {result}"

    assert Sweep(pow, 2).run_all([1, 2, 3], record, say=said.append, unit="cells", minutes=1.5) == 2
    assert said == ["[1/3, 60 s] 1 gives 2", "[2/3, 120 s] 2 gives 4"]


@pytest.mark.parametrize(("kept", "told"), [(True, "; results are kept, repeat the command to go on"), (False, "")])
def test_an_interruption_says_how_far_it_came(kept: bool, told: str) -> None:
    recorded: list[int] = []

    def run(_: None, item: int) -> int:
        if item == 3:
            raise KeyboardInterrupt
        return item

    def record(item: int, _: int) -> str:
        recorded.append(item)
        return ""

    with pytest.raises(KeyboardInterrupt) as stop:
        Sweep(run, None).run_all([1, 2, 3, 4], record, say=lambda _: None, unit="results", kept=kept)
    assert str(stop.value) == f"stopped after 2 of 4 results{told}"
    assert recorded == [1, 2]


def test_an_error_ends_the_sweep() -> None:
    with pytest.raises(ZeroDivisionError):
        list(Sweep(divmod, 1).results(several([1, 0])))
