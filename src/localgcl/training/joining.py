"""Joining: how processes that torchrun started become ranks."""

import contextlib
import datetime
import logging
import os
import time
import uuid
import warnings
from collections.abc import Iterator
from typing import Any

import torch.distributed as dist
from torch.distributed.rendezvous import rendezvous

from localgcl.config import LocalGCLWarning
from localgcl.training.ranks import LostRank, Ranks, noticing

STEP_SECONDS = 120
"""A rank that waits longer than this for the others within a step gives up: one of them hangs."""
_WAIT_SECONDS = 24 * 3600  # for a file that another rank writes; a rank that dies is noticed at once
_ENVIRONMENT = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def started_by_torchrun() -> bool:
    """Whether this process is one of several that torchrun, or something that sets the same variables, has started."""
    return all(name in os.environ for name in _ENVIRONMENT)


@contextlib.contextmanager
def join_ranks() -> Iterator[Ranks | None]:
    """This process as one of the ranks that torchrun started; None if it was started alone.

    All ranks but the first are silent. Errors say which rank had them.
    """
    if not (started_by_torchrun() or dist.is_initialized()):
        yield None
        return
    mine = not dist.is_initialized()  # Ray makes the group itself
    short, long = (datetime.timedelta(seconds=seconds) for seconds in (STEP_SECONDS, _WAIT_SECONDS))
    with noticing():
        if mine:
            store, rank, size = next(iter(rendezvous("env://", timeout=short)))
            dist.init_process_group("gloo", store=unused_part(store, rank, size), rank=rank, world_size=size, timeout=short)
        steps, waits = (dist.new_group(backend="gloo", timeout=timeout) for timeout in (short, long))
    ranks = Ranks(dist.get_rank(), dist.get_world_size(), steps, waits)
    try:
        with contextlib.nullcontext() if ranks.rank == 0 else _silence():
            yield ranks
        ranks.barrier()  # a rank that leaves closes its connections
    except OSError as error:
        raise _named(error, OSError, ranks) from error
    except ValueError as error:
        raise _named(error, ValueError, ranks) from error
    finally:
        if mine:
            dist.destroy_process_group()


def unused_part(store: Any, rank: int, size: int) -> Any:
    """A part of the store that all ranks agree on and none has written to before.

    torchrun keeps one store over restarts, and gloo would find the addresses of ranks that are dead. Numbers of restarts do not
    tell them apart: torchrun counts them on each machine. So rank 0 draws a name. Another rank asks for it under a name of its
    own, to which nobody has answered before, and rank 0 answers until all have it.
    """
    name = uuid.uuid4().hex
    if rank > 0:
        store.set(f"asking/{rank}", name)
        name = store.get(f"answer/{name}").decode()  # waits for it
        store.set(f"{name}/{rank}", "here")
        return _part(name, store)
    missing, deadline = set(range(1, size)), time.monotonic() + STEP_SECONDS
    while missing:
        for other in [other for other in missing if store.check([f"asking/{other}"])]:
            store.set(f"answer/{store.get(f'asking/{other}').decode()}", name)
        missing = {other for other in missing if not store.check([f"{name}/{other}"])}
        if missing and time.monotonic() > deadline:
            raise LostRank(f"{len(missing)} of {size} ranks did not start within {STEP_SECONDS} seconds; see their errors")
        time.sleep(0.01)
    return _part(name, store)


def _part(name: str, store: Any) -> Any:
    return dist.PrefixStore(name, store)  # type: ignore[attr-defined]  # torch documents it, and does not declare it


def _named(error: Exception, kind: type[Exception], ranks: Ranks) -> Exception:
    return kind(f"{ranks.name}: {error}")


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Hides the library's notes and warnings: all ranks have the same ones."""
    logger = logging.getLogger("localgcl")
    level = logger.level
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LocalGCLWarning)
        logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            logger.setLevel(level)
