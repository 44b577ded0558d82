"""Embeddings that are not finite: counted, and refused by losses that users call."""

import math

import torch
from jaxtyping import Float
from torch import Tensor


def non_finite_rows(z: Float[Tensor, "n d"]) -> int:
    """Number of rows with NaN or infinite values. O(n d) time; needs memory only if there may be some."""
    # NaN and infinities make the sum so. Finite numbers may, too, when it overflows.
    if math.isfinite(float(z.detach().sum(dtype=torch.float64))):
        return 0
    return int((~torch.isfinite(z)).any(1).sum())


def refuse_non_finite(loss: Float[Tensor, ""], **embeddings: Float[Tensor, "n d"]) -> None:
    """Raises ValueError if rows of the embeddings, which are given by name, made the loss NaN or infinite.

    Costs nothing unless the loss is. On a GPU it does nothing, because asking would make the host wait: there the loss is NaN.
    """
    if loss.device.type != "cpu" or bool(torch.isfinite(loss)):
        return
    for name, z in embeddings.items():
        wide = torch.promote_types(z.dtype, torch.float32)
        norms = torch.linalg.vector_norm(z.detach(), dim=1, dtype=wide)
        if broken := int((~torch.isfinite(norms)).sum()):
            raise ValueError(
                f"{broken} of {len(z)} rows of {name} are NaN, infinite or too large to square, so the loss is {float(loss)}; "
                "lower the learning rate or scale the features"
            )
