"""The Ray engine (extra `ray`): ranks that Ray starts, on a cluster that is there or on this machine, and starts again.

The work is that of ranks under torchrun. What they say, and their first error, reach this process through an actor, the desk.
"""

import concurrent.futures
import contextlib
import logging
import math
import os
import secrets
import tempfile
import threading
import uuid
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch.distributed as dist

from localgcl.config import LocalGCLWarning
from localgcl.system.memory import OutOfMemory
from localgcl.training.engines import Engine, Say, Task
from localgcl.training.ranks import STEP_SECONDS, LostRank, Ranks, join_ranks

Work = Callable[[Ranks, Say], object]
Kind = Literal["line", "note", "warning"]
MAX_FAILURES = 3
"""How often lost ranks are started again."""
FAULTS = (ValueError, TypeError, OSError, ImportError, OutOfMemory)
"""Errors of the input or the machine, which a restart would repeat."""
_LOGGER = logging.getLogger("localgcl")
_SECONDS = 0.5  # between two looks at the desk
_TOKENS = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
_TOKEN = secrets.token_hex(32)  # one a process: Ray remembers the first that it reads
_STORE = 100 * 2**20  # bytes of Ray's object store: rows are read from files, and what is sent through Ray is small


# The cluster


class Worker(NamedTuple):
    """What each worker is given: cores, and a share of a GPU."""

    threads: int
    gpu: float


def import_ray() -> Any:
    """The module `ray`; one line says how to install it."""
    try:
        import ray
        import ray.data
        import ray.train.torch
    except ImportError as error:
        raise ImportError("engine ray needs Ray: pip install 'localgcl[ray]'") from error
    return ray


@contextlib.contextmanager
def connected(workers: int, threads: int, device: str) -> Iterator[Worker]:
    """A connection to Ray, and what each worker is given.

    A connection of this process is used. Else RAY_ADDRESS names the cluster (`auto`: the one on this machine). Without it, one
    is started here, with the cores that the workers take; it ends with this block.

    Args:
        workers: How many processes will work.
        threads: Cores of each.
        device: With "cpu", no GPU is taken. Otherwise the workers share those that there are.
    """
    ray = import_ray()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent to Ray's makers
    with contextlib.nullcontext() if ray.is_initialized() else _connection(ray, workers * threads):
        there = ray.cluster_resources()
        if there.get("CPU", 0) < workers * threads:
            _LOGGER.info(
                "the cluster has %d CPUs, and the workers take %d; waiting for more", there.get("CPU", 0), workers * threads
            )
        gpus = 0 if device == "cpu" else there.get("GPU", 0)
        yield Worker(threads, 1 / math.ceil(workers / gpus) if gpus else 0)


@contextlib.contextmanager
def _connection(ray: Any, cores: int) -> Iterator[None]:
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    with contextlib.ExitStack() as stack:
        if os.environ.get("RAY_ADDRESS"):
            ray.init(**quiet)
        else:
            stack.enter_context(_own_token())
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="localgcl-ray-", ignore_cleanup_errors=True))
            ray.init(
                "local",
                num_cpus=cores,
                include_dashboard=False,
                object_store_memory=_STORE,
                _temp_dir=folder,
                _node_ip_address="127.0.0.1",
                **quiet,
            )
        stack.callback(ray.shutdown)  # only disconnects from a cluster that was there
        yield


@contextlib.contextmanager
def _own_token() -> Iterator[None]:
    """Sets the secret by which a cluster's processes know each other, if none is set: Ray would write one to the home."""
    before = {name: os.environ[name] for name in _TOKENS if name in os.environ}
    if not before:
        os.environ["RAY_AUTH_TOKEN"] = _TOKEN
    try:
        yield
    finally:
        for name in _TOKENS:  # Ray sets the mode
            os.environ.pop(name, None)
        os.environ |= before


# The ranks


def run_ranks(work: Work, workers: int, worker: Worker, storage: str, say: Say) -> None:
    """Runs `work(ranks, say)` in as many processes as there are workers; returns when all have ended.

    Lost ranks are started again by Ray: all of them, `MAX_FAILURES` times. They know their run by the name of the job
    (`Ranks.is_restart`). An error of the input is raised here as it was there.

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
    # Both are torchrun's variables. Without the first, Ray and the machine would decide on the number of threads.
    environment = {"OMP_NUM_THREADS": str(worker.threads), "TORCHELASTIC_RUN_ID": uuid.uuid4().hex}
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
    """The error to raise for a failed run: what a worker raised if that is a defect, else one line about lost workers."""
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
            first = ranks.rank == 0
            with reporting(write) if first else contextlib.nullcontext():
                work(ranks, partial(write, "line") if first else lambda _: None)
    except FAULTS as error:
        if not isinstance(error, LostRank) and not isinstance(error.__cause__, LostRank):
            ray.get(desk.fail.remote(error))
            dist.destroy_process_group()  # this process lives on: the others notice by the closed connections
        elif ray.get(desk.error.remote()) is None:
            raise  # a rank was killed, and all are started again


# What ranks say


class Desk:
    """A Ray actor that collects the messages of ranks and their first error.

    Example:
        >>> desk = Desk()
        >>> desk.write("line", "4 ranks share batches")
        >>> desk.take(), desk.take()
        ([('line', '4 ranks share batches')], [])
    """

    def __init__(self) -> None:
        self._said: list[tuple[Kind, str]] = []
        self._error: Exception | None = None

    def write(self, kind: Kind, text: str) -> None:
        self._said.append((kind, text))

    def take(self) -> list[tuple[Kind, str]]:
        """What was written since the last time."""
        said, self._said = self._said, []
        return said

    def fail(self, error: Exception) -> None:
        """Keeps the first error: the others follow from it."""
        self._error = self._error or error

    def error(self) -> Exception | None:
        return self._error


@contextlib.contextmanager
def reporting(write: Callable[[Kind, str], Any]) -> Iterator[None]:
    """While active, `write` takes the library's notes and warnings."""
    handler = logging.Handler()
    handler.emit = lambda record: write("note", record.getMessage())  # type: ignore[method-assign]
    level = _LOGGER.level
    with warnings.catch_warnings():
        warnings.simplefilter("always", LocalGCLWarning)
        warnings.showwarning = lambda message, category, *_, **__: (
            write("warning", str(message)) if issubclass(category, LocalGCLWarning) else None
        )
        _LOGGER.addHandler(handler)
        _LOGGER.setLevel(logging.INFO)
        try:
            yield
        finally:
            _LOGGER.setLevel(level)
            _LOGGER.removeHandler(handler)


def repeat(said: list[tuple[Kind, str]], say: Callable[[str], None]) -> None:
    """Says, logs or warns in this process what the ranks wrote to the desk."""
    for kind, text in said:
        if kind == "line":
            say(text)
        elif kind == "note":
            _LOGGER.info("%s", text)
        else:
            warnings.warn(text, LocalGCLWarning, stacklevel=2)


# The engine


class Ray(Engine):
    """Ranks on the Ray cluster that RAY_ADDRESS names, or on one that is started on this machine for the length of the task.

    Each worker has `threads` threads, by default one, as under torchrun. All machines see the folders.
    """

    def run(self, task: Task, say: Say) -> None:
        assert self.workers is not None
        task.check(self.workers)
        task = task.with_absolute_paths()
        place = Path(task.folder).parent
        place.mkdir(parents=True, exist_ok=True)
        with storage_in(place) as storage, connected(self.workers, self.threads, self.device) as worker:
            run_ranks(task, self.workers, worker, storage, say)
