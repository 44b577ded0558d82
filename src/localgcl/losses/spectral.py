r"""The spectral contrastive loss of AF-GCL: similar nodes attract, the squares of other similarities shrink.

$$L = \frac1{|P|} \sum_{i \in P} \Big[ -\frac2{|Pos_i|} \sum_{j \in Pos_i} z_i^T z_j + \sum_{k \in Neg_i} (z_i^T z_k)^2 \Big]$$

over a pool P of nodes. With all pairs as negatives it is, up to a constant, a factorisation of the matrix of positives by
$Z Z^T$: hence the name.
"""

from typing import NamedTuple

from jaxtyping import Float, Int
from torch import Tensor

from localgcl.losses.local import unit_rows


class SpectralTerms(NamedTuple):
    """The two terms whose sum is the loss."""

    positive: Float[Tensor, ""]
    negative: Float[Tensor, ""]


def spectral_terms(z: Float[Tensor, "p d"], positives: Int[Tensor, "p k"], negatives: Int[Tensor, "p m"]) -> SpectralTerms:
    """The terms of the spectral contrastive loss. O(p^2 d) time and O(p^2 + p m) memory: one matrix of similarities.

    Args:
        z: Embeddings of the pool, any scale: rows are normalised here, and a row of zeros has similarity 0 to all.
        positives: Positions in the pool of each row's positives.
        negatives: Positions of its negatives; a repeated one counts each time.

    Example:
        >>> import torch
        >>> z = torch.tensor([[1.0, 0.0], [1.0, 1.0]])
        >>> spectral_terms(z, torch.tensor([[0], [1]]), torch.tensor([[1], [0]]))
        SpectralTerms(positive=tensor(-2...), negative=tensor(0.5...))
    """
    unit, _ = unit_rows(z)
    similarity = unit @ unit.T
    attraction = similarity.gather(1, positives).mean(1)
    repulsion = similarity.gather(1, negatives).square().sum(1)
    return SpectralTerms(-2 * attraction.mean(), repulsion.mean())
