"""Which compilers of kernels are installed. Both come with wheels for the usual platforms, but not for all of them.

Where one is missing, plain torch computes the same, in chunks: more slowly, with the same memory bounds.
"""

import importlib.util
from typing import Literal

from torch import Tensor, float64

Backend = Literal["auto", "torch", "numba", "triton"]

NUMBA = importlib.util.find_spec("numba") is not None
TRITON = importlib.util.find_spec("triton") is not None


def fused(z: Tensor) -> bool:
    """Whether Triton kernels serve this tensor: on a GPU, and not in double precision, for which there are no tensor cores."""
    return TRITON and z.is_cuda and z.dtype != float64
