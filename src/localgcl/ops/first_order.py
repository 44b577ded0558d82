"""Backward passes that are not differentiable themselves, and say so."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch


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
