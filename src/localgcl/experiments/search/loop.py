"""The loop of a search: proposes points and runs their trials in processes."""

import concurrent.futures as futures
import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any

from localgcl.experiments.search import log, trial
from localgcl.experiments.search.samplers import SAMPLERS, key
from localgcl.experiments.search.space import Settings, Space
from localgcl.experiments.search.trial import Problem, TrialResult
from localgcl.methods import configure
from localgcl.system.workers import Workers


@dataclasses.dataclass(frozen=True)
class Plan:
    """The space, the settings that do not vary, and the point to begin with."""

    space: Space
    base: Settings
    first: Settings

    @classmethod
    def make(cls, space: Space, base: Settings, method: str, fixed: Mapping[str, Any]) -> "Plan":
        """A plan whose space includes the values of the first point."""
        flat = configure(method, base).flat()
        space = space.without(fixed)
        first = {option: flat[option] for option in space.values}
        return cls(space.including(first), {option: flat[option] for option in base}, first)

    def settings(self, point: Settings) -> Settings:
        return {**self.base, **point}

    def trials(self, rows: list[log.LogRow]) -> list[tuple[Settings, float]]:
        """Points and scores of the logged rows that belong to this plan: those with its base and a point of its space."""
        found = []
        for row in rows:
            settings = json.loads(row["settings"])
            point = {option: _as_option(settings.get(option)) for option in self.space.values}
            inside = all(value in self.space.values[option] for option, value in point.items())
            if inside and key(self.settings(point)) == row["settings"]:
                found.append((point, log.score(row)))
        return found


def _as_option(value: Any) -> Any:
    """A value of the log as options have it: JSON has lists only."""
    return tuple(value) if isinstance(value, list) else value


def search(
    problem: Problem,
    plan: Plan,
    rows: list[log.LogRow],
    record: Callable[[Settings, TrialResult], None],
    *,
    sampler: str,
    seed: int,
    trials: int,
    jobs: int,
) -> None:
    """Keeps `jobs` trials running until `rows` has `trials`, or the space is used up; `record` adds each result to `rows`."""
    running: dict[futures.Future[TrialResult], Settings] = {}

    def propose() -> Settings | None:
        tried = [*plan.trials(rows), *((point, None) for point in running.values())]
        if len(tried) >= trials:
            return None
        if key(plan.first) not in {key(point) for point, _ in tried}:
            return plan.first
        return SAMPLERS[sampler](plan.space, tried, seed)

    with Workers(jobs, initial=(trial.keep_problem, (problem,))) as workers:
        while True:
            while len(running) < jobs and (point := propose()) is not None:
                running[workers.submit(trial.run_kept, plan.settings(point))] = point
            if not running:
                return
            for done in futures.wait(running, return_when=futures.FIRST_COMPLETED).done:
                result = done.result()
                record(plan.settings(running.pop(done)), result)
