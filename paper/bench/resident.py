"""Peak memory on the CPU: how much a fresh process grows while it runs one provider.

The provider runs once before, so that compiled code, thread pools and cached matrices are not counted (unless one run takes
minutes). Freed blocks go back to the system at once (MALLOC_MMAP_THRESHOLD_).
"""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import torch

from localgcl.system.memory import ResidentPeak, is_out_of_memory
from paper.bench.measure import Work, bounded_memory
from paper.bench.setups import BENCHMARKS, Size

_CHECKOUT = f"{Path(__file__).parents[2]}{os.pathsep}"  # where the fresh process finds this module


def peak_resident(benchmark: str, provider: str, size: Size) -> float | None:
    """Peak memory of a run above its inputs in MiB, measured in a fresh process; None when it ran out of memory."""
    if ResidentPeak().growth() is None:
        raise OSError("peak memory on the CPU is read from /proc, which only Linux has; leave out --memory")
    job = json.dumps([benchmark, provider, dataclasses.asdict(size), torch.get_num_threads()])
    done = subprocess.run(
        [sys.executable, "-m", "paper.bench.resident", job],
        env=os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "PYTHONPATH": _CHECKOUT + os.environ.get("PYTHONPATH", "")},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode < 0:  # killed by the system, which was out of memory
        return None
    done.check_returncode()
    peak: float | None = json.loads(done.stdout.splitlines()[-1])
    return peak


def growth(work: Work) -> float:
    """The peak growth of this process in MiB while `work` ran."""
    peak = ResidentPeak()
    work()
    grown = peak.growth()
    assert grown is not None, "peak_resident has seen to it"
    return grown / 2**20


def main(job: str) -> None:
    """The fresh process: prints the peak, or null."""
    benchmark, provider, size, threads = json.loads(job)
    torch.set_num_threads(threads)
    work, peak = BENCHMARKS[benchmark].setup(Size(**size)).providers[provider], None
    with bounded_memory():
        try:
            if not BENCHMARKS[benchmark].long:
                work()
            peak = growth(work)
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
    sys.stdout.write(f"{json.dumps(peak)}\n")


if __name__ == "__main__":
    main(sys.argv[1])
