"""The course of a search: where it starts, what it asks its sampler, and the processes that run its trials."""

import concurrent.futures as futures
import contextlib
import dataclasses
import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import torch

from localgcl.experiments.search import log, trial
from localgcl.experiments.search.samplers import SAMPLERS, key
from localgcl.experiments.search.space import Settings, Space
from localgcl.experiments.search.trial import Outcome, Problem
from localgcl.methods import configure


@dataclasses.dataclass(frozen=True)
class Course:
    """The space, the settings that do not vary, and the point to begin with."""

    space: Space
    base: Settings
    first: Settings

    @classmethod
    def plan(cls, space: Space, base: Settings, method: str, fixed: Mapping[str, Any]) -> "Course":
        """Values of the start join the space, so that the search can stay with them."""
        flat = configure(method, base).flat()
        space = space.without(fixed)
        first = {option: flat[option] for option in space.values}
        return cls(space.including(first), {option: flat[option] for option in base}, first)

    def settings(self, point: Settings) -> Settings:
        return {**self.base, **point}

    def tried(self, rows: list[log.Row]) -> list[tuple[Settings, float]]:
        """Points and scores of the logged rows that are trials of this course; those of another space or base are not."""
        found = []
        for row in rows:
            settings = json.loads(row["settings"])
            point = {option: settings.get(option) for option in self.space.values}
            inside = all(value in self.space.values[option] for option, value in point.items())
            if inside and key(self.settings(point)) == row["settings"]:
                found.append((point, log.score(row)))
        return found


def search(
    problem: Problem,
    course: Course,
    rows: list[log.Row],
    record: Callable[[Settings, Outcome], None],
    *,
    sampler: str,
    seed: int,
    trials: int,
    jobs: int,
) -> None:
    """Keeps `jobs` trials running until there are `trials`, or the space has no more; `record` adds each to `rows`."""
    running: dict[futures.Future[Outcome], Settings] = {}

    def propose() -> Settings | None:
        tried = [*course.tried(rows), *((point, None) for point in running.values())]
        if len(tried) >= trials:
            return None
        if key(course.first) not in {key(point) for point, _ in tried}:
            return course.first
        return SAMPLERS[sampler](course.space, tried, seed)

    with _workers(problem, jobs) as submit:
        while True:
            while len(running) < jobs and (point := propose()) is not None:
                running[submit(course.settings(point))] = point
            if not running:
                return
            for done in futures.wait(running, return_when=futures.FIRST_COMPLETED).done:
                outcome = done.result()
                record(course.settings(running.pop(done)), outcome)


@contextlib.contextmanager
def _workers(problem: Problem, jobs: int) -> Iterator[Callable[[Settings], "futures.Future[Outcome]"]]:
    """A function that starts a trial: here and now for one job, else in one of so many processes."""
    if jobs == 1:
        yield lambda settings: _at_once(problem, settings)
        return
    arguments = trial.initial_arguments(problem, max(1, torch.get_num_threads() // jobs))
    # Spawned, not forked: CUDA cannot be used in a fork.
    context, others = multiprocessing.get_context("spawn"), multiprocessing.active_children()
    with futures.ProcessPoolExecutor(jobs, context, trial.start_worker, arguments) as pool:
        try:
            yield lambda settings: pool.submit(trial.run_in_worker, settings)
        except BrokenProcessPool as error:
            raise OSError(
                "a worker process died, most likely for want of memory; repeat the command with fewer jobs"
            ) from error
        except BaseException:
            for process in multiprocessing.active_children():
                if process not in others and process.pid is not None:
                    os.kill(process.pid, signal.SIGINT)  # or whoever pressed Ctrl-C would wait for all trials that are running
            raise


def _at_once(problem: Problem, settings: Settings) -> "futures.Future[Outcome]":
    future: futures.Future[Outcome] = futures.Future()
    future.set_result(trial.run(problem, settings))
    return future
