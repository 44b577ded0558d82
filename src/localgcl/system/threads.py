"""How many threads torch runs, and how they wait for each other. Importing this module does not import torch."""

import contextlib
import os
import sys
import threading
from collections.abc import Iterator

from localgcl.system.limits import allowed_cores, available_cores

SPIN_COUNT = 3000
"""Long enough for most pauses between two parallel loops of a step, and far shorter than a time slice."""

# torch's settings are global. Of several runs at once, the first saves them and the last restores them: one entry a run.
_LOCK = threading.Lock()
_BEFORE: list[tuple[int, bool, str]] = []


def set_thread_defaults() -> None:
    """Sets the environment variables that torch's threads read when torch is loaded. `import localgcl` calls this.

    - GOMP_SPINCOUNT: how often a thread of GNU OpenMP looks for work before it sleeps. The default, 300,000 times, keeps a
      core busy long after each parallel loop. Beside other processes, that is time in which the thread it waits for
      could run, and a training step takes much longer than its share of the cores explains. We set `SPIN_COUNT`, unless
      GOMP_SPINCOUNT or OMP_WAIT_POLICY is set. `benchmarks/contention.py` measures the effect.
    - OMP_NUM_THREADS: the container's CPU quota, if it is lower than the number of cores that torch sees, and unless
      OMP_NUM_THREADS or MKL_NUM_THREADS is set.

    It does nothing if torch is already imported, because torch's threads would not see it. It never raises.
    """
    if "torch" in sys.modules:
        return
    if not {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & set(os.environ):
        os.environ["GOMP_SPINCOUNT"] = str(SPIN_COUNT)
    if not {"OMP_NUM_THREADS", "MKL_NUM_THREADS"} & set(os.environ):
        cores = available_cores()
        if cores < allowed_cores():
            os.environ["OMP_NUM_THREADS"] = str(cores)


@contextlib.contextmanager
def reproducible(threads: int, deterministic: bool, tf32: bool) -> Iterator[None]:
    """Applies `threads` (0: torch's choice), `deterministic` and `tf32` for a run, and restores torch's settings after it.

    On the CPU every differentiated operation of this library adds in a fixed order (see `ops`), and `vectormath` sets up the
    vector functions before several threads call them. Only the number of threads changes results: it decides how matrix
    products are split, and so how they round. Runs with the same number of threads are bit-identical.
    """
    import torch

    with _LOCK:
        precision = torch.get_float32_matmul_precision()
        now = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled(), precision
        _BEFORE.append(_BEFORE[0] if _BEFORE else now)
        if threads:
            torch.set_num_threads(threads)
        if deterministic:
            torch.use_deterministic_algorithms(True)
        if tf32:
            torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        with _LOCK:
            number, strict, precision = _BEFORE.pop()
            if not _BEFORE:
                torch.set_float32_matmul_precision(precision)
                torch.set_num_threads(number)
                torch.use_deterministic_algorithms(strict)
