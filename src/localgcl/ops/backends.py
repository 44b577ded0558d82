"""Which kernel compilers are installed. Both have wheels for the usual platforms, but not for all.

Without them, plain torch computes the same in chunks: more slowly, within the same memory bounds.
"""

import importlib.util
from typing import Literal

from torch import Tensor, float64

Backend = Literal["auto", "torch", "numba", "triton"]

NUMBA = importlib.util.find_spec("numba") is not None
TRITON = importlib.util.find_spec("triton") is not None


def fused(z: Tensor) -> bool:
    """True if Triton kernels can take this tensor: on a GPU, and not in double precision, which tensor cores lack."""
    return TRITON and z.is_cuda and z.dtype != float64
