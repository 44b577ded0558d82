"""The Ray cluster that a command runs on: one that is there, or one on this machine for the length of the command."""

import contextlib
import logging
import math
import os
import secrets
import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple

_LOG = logging.getLogger(__name__)
_TOKENS = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
_TOKEN = secrets.token_hex(32)  # one a process: Ray remembers the first that it reads
_STORE = 100 * 2**20  # bytes of Ray's object store: rows are read from files, and what is sent through Ray is small


class Worker(NamedTuple):
    """What each worker is given: cores, a share of a GPU, and environment variables."""

    threads: int
    gpu: float

    @property
    def environment(self) -> dict[str, str]:
        """The number of threads, as torchrun sets it; otherwise Ray and the machine would decide."""
        return {"OMP_NUM_THREADS": str(self.threads)}


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
    if workers < 1:
        raise ValueError(f"workers is {workers}; it must be at least 1")
    ray = import_ray()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent to Ray's makers
    with contextlib.nullcontext() if ray.is_initialized() else _connection(ray, workers * threads):
        there = ray.cluster_resources()
        if there.get("CPU", 0) < workers * threads:
            _LOG.info(
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
