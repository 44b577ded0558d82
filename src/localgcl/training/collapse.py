"""Collapse: two numbers, computed without labels, that show whether all embeddings look alike."""

import torch
from jaxtyping import Float
from torch import Tensor

_SAMPLE = 256


def spread(z: Float[Tensor, "n d"]) -> float:
    r"""$\sqrt{1 - \|\bar z\|^2}$ of the unit rows: 1 when directions cancel out, 0 when all nodes share one direction."""
    mean = torch.nn.functional.normalize(z.float()).mean(0)
    return float((1 - mean.square().sum()).clamp(min=0).sqrt())


def effective_rank(z: Float[Tensor, "n d"]) -> float:
    r"""$e^H$ with H the entropy of the normalised singular values of the unit rows: between 1 and min(n, d).

    Computed on at most 256 evenly spaced rows, which takes milliseconds; it cannot exceed 256.
    """
    rows = torch.linspace(0, len(z) - 1, min(len(z), _SAMPLE), device=z.device).long()
    sample = torch.nn.functional.normalize(z[rows].float())
    gram = sample @ sample.T if len(sample) < sample.shape[1] else sample.T @ sample
    # A problem this small is faster on the CPU.
    singular = torch.linalg.eigvalsh(gram.double().cpu()).clamp(min=0).sqrt()
    p = singular / singular.sum().clamp(min=torch.finfo(torch.float64).tiny)
    return float(torch.exp(-torch.xlogy(p, p).sum()))


def collapse_message(spread: float, rank: float) -> str | None:
    """What to tell the user; None when the embeddings look healthy."""
    if spread < 0.05 or rank < 2:
        return (
            f"the embeddings have collapsed (spread {spread:.3f} of 1, effective rank {rank:.1f}): nodes look alike; "
            "train fewer steps, lower the learning rate or the temperature, or scale the features"
        )
    return None
