"""Ranks that Ray starts: a function run by all of them, started again when one is lost."""

import concurrent.futures
import contextlib
import tempfile
import threading
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch.distributed as dist

from localgcl.system.memory import OutOfMemory
from localgcl.training.cluster.desk import Desk, repeat, reporting
from localgcl.training.cluster.session import Worker
from localgcl.training.joining import STEP_SECONDS, join_ranks
from localgcl.training.ranks import LostRank, Ranks

Say = Callable[[str], None]
Work = Callable[[Ranks, Say], object]
MAX_FAILURES = 3
"""How often lost ranks are started again."""
FAULTS = (ValueError, TypeError, OSError, ImportError, OutOfMemory)
"""Errors of the input or the machine, which a restart would repeat."""
_SECONDS = 0.5  # between two looks at the desk


def run_ranks(work: Work, workers: int, worker: Worker, storage: str, say: Say) -> None:
    """Runs `work(ranks, say)` in as many processes as there are workers; returns when all have ended.

    Lost ranks are started again by Ray: all of them, `MAX_FAILURES` times. They know their run by the name of the job
    (`Ranks.began`). An error of the input is raised here as it was there.

    Args:
        work: Can be pickled. Files in it are named by absolute paths: Ray's workers are in another folder.
        workers: How many processes.
        worker: What each is given.
        storage: A folder that all machines see, for Ray's own files (see `storage_in`).
        say: Takes the lines of rank 0.
    """
    import ray
    from ray.train import FailureConfig, RunConfig, ScalingConfig, TrainingFailedError
    from ray.train.torch import TorchConfig, TorchTrainer

    desk = ray.remote(num_cpus=0)(Desk).remote()
    environment = worker.environment | {"TORCHELASTIC_RUN_ID": uuid.uuid4().hex}  # torchrun's variable
    trainer = TorchTrainer(
        _rank,
        train_loop_config={"work": work, "desk": desk},
        torch_config=TorchConfig(backend="gloo", timeout_s=STEP_SECONDS),
        scaling_config=ScalingConfig(
            num_workers=workers,
            use_gpu=worker.gpu > 0,
            resources_per_worker={"CPU": worker.threads} | ({"GPU": worker.gpu} if worker.gpu else {}),
        ),
        run_config=RunConfig(
            name="ranks",
            storage_path=storage,
            failure_config=FailureConfig(max_failures=MAX_FAILURES),
            worker_runtime_env={"env_vars": environment},
        ),
    )
    done = _in_background(trainer.fit)
    try:
        finished = False
        while not finished:
            finished = bool(concurrent.futures.wait([done], timeout=_SECONDS).done)
            repeat(ray.get(desk.take.remote()), say)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("stopped, and all workers with it; train goes on with --resume") from None
    if (error := ray.get(desk.error.remote())) is not None:
        raise error
    try:
        done.result()
    except TrainingFailedError as failure:
        raise _explained(failure) from failure


def storage_in(place: Path) -> "tempfile.TemporaryDirectory[str]":
    """A folder in `place` for Ray's own files. Leave it after the connection: until then Ray may write to it."""
    return tempfile.TemporaryDirectory(prefix=".ray-", dir=place, ignore_cleanup_errors=True)


def _in_background(work: Callable[[], Any]) -> "concurrent.futures.Future[Any]":
    """Calls `work` in another thread: in the main one, Ray would take Ctrl-C for itself and end with exit code 0."""
    done: concurrent.futures.Future[Any] = concurrent.futures.Future()

    def call() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=call, daemon=True).start()
    return done


def _explained(failure: Exception) -> Exception:
    """One line where workers were lost time and again; what they raised, where that is a defect."""
    raised: list[Exception] = list(getattr(failure, "worker_failures", {}).values())
    # Ray's own errors, which have no common class, are those of workers that died.
    defects = [error for error in raised if not (isinstance(error, OSError) or type(error).__module__.startswith("ray."))]
    if defects:
        return defects[0]
    reason = " ".join(str((raised or [failure])[0]).split())
    return LostRank(
        f"workers were lost more than {MAX_FAILURES} times, at last because: {reason:.300}; go on with --resume, and see the "
        "machines' logs"
    )


def _rank(config: dict[str, Any]) -> None:
    """What each worker runs. Ray has made the process group."""
    import ray

    desk, work = config["desk"], config["work"]

    def write(kind: str, text: str) -> None:
        ray.get(desk.write.remote(kind, text))

    try:
        with join_ranks() as ranks:
            assert ranks is not None, "Ray makes a process group"
            first = ranks.rank == 0
            with reporting(write) if first else contextlib.nullcontext():
                work(ranks, partial(write, "line") if first else _nothing)
    except FAULTS as error:
        if not isinstance(error, LostRank) and not isinstance(error.__cause__, LostRank):
            ray.get(desk.fail.remote(error))
            dist.destroy_process_group()  # this process lives on: the others notice by the closed connections
        elif ray.get(desk.error.remote()) is None:
            raise  # a rank was killed, and all are started again


def _nothing(_: str) -> None:
    """The other ranks are silent."""
