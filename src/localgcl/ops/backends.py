"""What operations with kernels and backward passes of their own share: which compilers there are, and no second derivative.

Numba and Triton have wheels for the usual platforms, but not for all. Without them, plain torch computes the same in chunks:
more slowly, within the same memory bounds.
"""

import importlib.util
from collections.abc import Callable
from functools import wraps
from typing import Any, Literal

import torch
from torch import Tensor, float64

Backend = Literal["auto", "torch", "numba", "triton"]

NUMBA = importlib.util.find_spec("numba") is not None
TRITON = importlib.util.find_spec("triton") is not None


def fused(z: Tensor) -> bool:
    """True if Triton kernels can take this tensor: on a GPU, and not in double precision, which tensor cores lack."""
    return TRITON and z.is_cuda and z.dtype != float64


def first_order(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates the backward of an autograd Function: asking for second derivatives raises at once.

    Our backward passes return values, not expressions of the inputs, so a second derivative through them would be silently
    wrong. torch's `once_differentiable` raises only if the second backward comes by this function, and not where it asks for
    the gradient of inputs that are also used elsewhere. Gradients are recorded exactly if `create_graph=True`.
    """

    @wraps(backward)
    def checked(ctx: Any, *grads: Any) -> Any:
        if torch.is_grad_enabled():
            raise RuntimeError(
                "localgcl's losses have no second derivatives; leave out create_graph=True, or write the loss in plain torch"
            )
        return backward(ctx, *grads)

    return checked
