"""What workers of a cluster do in tests."""

import os
import signal
from pathlib import Path
from typing import Any

from localgcl.training.cluster.embedding import Batch, Embed
from localgcl.training.cluster.group import Say
from localgcl.training.cluster.training import _train
from localgcl.training.ranks import Ranks
from localgcl.training.step import SharedStep

KILLED = "killed-once"
STEP = 13


def killed(source: dict[str, Any], out: str, options: dict[str, Any], ranks: Ranks, say: Say) -> None:
    """Trains; rank 1 is killed in a step, once."""
    update, steps, mark = SharedStep.update, iter(range(10**6)), Path(out).with_name(KILLED)

    def counted(self: SharedStep, learning_rate: float) -> None:
        if next(steps) == STEP and ranks.rank == 1 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        update(self, learning_rate)

    SharedStep.update = counted  # type: ignore[method-assign]
    _train(source, out, options, ranks, say)


class KilledEmbed(Embed):
    """Embeds; the worker that has the first part is killed, once."""

    def __call__(self, batch: Batch) -> Batch:
        mark = Path(self._job.folder).with_name(f"{KILLED}-embedding")
        if list(batch["part"]) == [0] and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(batch)


def wrong(ranks: Ranks, say: Say) -> None:
    """Rank 1 has an error while the others wait for it."""
    say("at work")
    if ranks.rank == 1:
        raise ValueError("batch is 3, but it must be larger")
    ranks.barrier()
