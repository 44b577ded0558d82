"""Threads and precision of torch for the length of a run."""

import contextlib
from collections.abc import Iterator

import torch


@contextlib.contextmanager
def reproducible(threads: int, deterministic: bool, tf32: bool) -> Iterator[None]:
    """Applies `threads` (0: torch's choice), `deterministic` and `tf32` for a run, and puts torch's settings back after it.

    On the CPU all differentiated operations of this library add in a fixed order anyway (see `ops`), and the vector functions
    are set up before threads use them (see `vectormath`); what remains is the number of threads, which changes how matrix
    products are split and so their rounding. Runs are bit-identical at the same number.
    """
    before, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    precision = torch.get_float32_matmul_precision()
    if threads:
        torch.set_num_threads(threads)
    if deterministic:
        torch.use_deterministic_algorithms(True)
    if tf32:
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(precision)
        torch.set_num_threads(before)
        torch.use_deterministic_algorithms(strict)
