"""Embeddings that are not finite: counted, and refused by losses that users call."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

_NAMED = 5
"""Rows that a message names."""


def non_finite_rows(z: Float[Tensor, "n d"]) -> int:
    """Number of rows with NaN or infinite values. O(n d) time; needs memory only if there may be some."""
    # NaN and infinities make the sum so. Finite numbers may, too, when it overflows.
    if math.isfinite(float(z.detach().sum(dtype=torch.float64))):
        return 0
    return int((~torch.isfinite(z)).any(1).sum())


def refuse_non_finite(loss: Float[Tensor, ""], **embeddings: Float[Tensor, "n d"]) -> None:
    """Raises ValueError if rows of the embeddings, which are given by name, made the loss NaN or infinite.

    Reads the loss, for which the host waits on a GPU; the rows are looked at only if it is not finite. While a CUDA graph is
    recorded nothing can be read, and nothing is checked.
    """
    if not can_read(loss) or bool(torch.isfinite(loss)):
        return
    for name, z in embeddings.items():
        wide = torch.promote_types(z.dtype, torch.float32)
        norms = torch.linalg.vector_norm(z.detach(), dim=1, dtype=wide)
        broken = (~torch.isfinite(norms)).nonzero()[:, 0].tolist()
        if broken:
            which = ", ".join(map(str, broken[:_NAMED])) + ", ..." * (len(broken) > _NAMED)
            raise ValueError(
                f"{len(broken)} of {len(z)} rows of {name} ({which}) are NaN, infinite or too large to square, so the loss is "
                f"{float(loss)}; lower the learning rate or scale the features"
            )


def can_read(value: Tensor) -> bool:
    """Whether the host can read a value now: always, but while a CUDA graph is recorded."""
    return value.device.type != "cuda" or not torch.cuda.is_current_stream_capturing()
