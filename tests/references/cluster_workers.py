"""What workers of a cluster do in tests: tasks that take the place of a command's own."""

import dataclasses
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from localgcl.system.team import Team
from localgcl.training.embedding import Parts
from localgcl.training.engines import Say, Task
from localgcl.training.step import SharedStep
from localgcl.training.train import Request

KILLED = "killed-once"
STEP = 13
TRAINING, EMBEDDING = Request.with_absolute_paths, Parts.with_absolute_paths


@dataclasses.dataclass(frozen=True)
class Killed:
    """A task in which rank 1 is killed, once.

    Args:
        task: What is done.
        mark: A file that says that it was killed.
        arm: Called before the task in rank 1, with what kills it.
    """

    task: Task
    mark: Path
    arm: Callable[[Callable[[], None]], None]

    @property
    def folder(self) -> str | os.PathLike[str]:
        return self.task.folder

    def __call__(self, team: Team, say: Say) -> None:
        if team.rank == 1 and not self.mark.exists():
            self.arm(self._kill)
        self.task(team, say)

    def _kill(self) -> None:
        self.mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def killed_training(request: Request) -> Killed:
    """The task that trains, killed in a step."""
    return Killed(TRAINING(request), Path(request.folder).absolute().with_name(KILLED), in_a_step)


def killed_embedding(parts: Parts) -> Killed:
    """The task that embeds, killed before it writes."""
    return Killed(EMBEDDING(parts), Path(parts.folder).absolute().with_name(f"{KILLED}-embedding"), before_writing)


def in_a_step(kill: Callable[[], None]) -> None:
    update, steps = SharedStep.update, iter(range(10**6))

    def counted(self: SharedStep, learning_rate: float) -> None:
        if next(steps) == STEP:
            kill()
        update(self, learning_rate)

    SharedStep.update = counted  # type: ignore[method-assign]


def before_writing(kill: Callable[[], None]) -> None:
    from localgcl.training import embedding

    def write(*_: Any) -> None:
        kill()

    setattr(embedding, "write_parquet", write)  # noqa: B010 - of a module


def wrong(team: Team, say: Say) -> None:
    """Rank 1 has an error while the others wait for it."""
    say("at work")
    if team.rank == 1:
        raise ValueError("batch is 3, but it must be larger")
    team.barrier()
