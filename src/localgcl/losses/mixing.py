r"""Hard negatives by mixing (ProGCL-mix), for a loss whose denominator is a sum of exponentials over all nodes.

Some negatives are false: they have the anchor's own class, and they are the most similar ones. So a mixture of two beta
distributions is fitted to similarities $s \in [0, 1]$ of random pairs, and a candidate j of anchor i has the hardness

$$B_{ij} = p(\text{true negative} \mid s_{ij})\, s_{ij}, \qquad s_{ij} = (z_i^T z_j + 1)/2.$$

The candidates with the largest hardness are mixed in pairs, $m = (B_p\, z_i^T z_p + B_q\, z_i^T z_q) / (B_p + B_q)$, and
$\sum e^{m/\tau}$ joins the denominator. Similarities carry gradient, hardness does not.

The original keeps a matrix of all pairs, sorts its rows and fits once, in epoch 400. Here candidates come from a pool of m
random nodes (all nodes if m is that large), except the anchor and its neighbours, and the mixture is fitted at each call.
O(|V| m d) time, and memory of one chunk of rows, because chunks are recomputed in the backward.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from localgcl.graph import Graph
from localgcl.graph.csr import CSR
from localgcl.losses.local import check_temperature, neighbours_of, unit_rows
from localgcl.ops import pair_dot

# Similarities held at a time.
_CHUNK = {"cpu": 2**21, "cuda": 2**26}
# Six parameters do not need more pairs than this.
_PAIRS = 2**18
# Similarities stay this far from 0 and 1, where beta densities may be infinite: in float32, sixteen times the spacing at 1.
_EDGE = 1e-6


class BetaMixture(NamedTuple):
    r"""$\sum_c w_c\, \mathrm{Beta}(\alpha_c, \beta_c)$; component 0 has the lower mean: the true negatives."""

    alpha: Float[Tensor, " 2"]
    beta: Float[Tensor, " 2"]
    weight: Float[Tensor, " 2"]

    def true_negative(self, s: Tensor) -> Tensor:
        r"""Posterior probability of component 0, a sigmoid: the log-odds of two betas are linear in log s and log(1 - s)."""
        s = s.clamp(_EDGE, 1 - _EDGE)
        scale = self.weight.log() - (self.alpha.lgamma() + self.beta.lgamma() - (self.alpha + self.beta).lgamma())
        alpha, beta, constant = (parts[0] - parts[1] for parts in (self.alpha, self.beta, scale))
        return torch.sigmoid(alpha * s.log() + beta * (-s).log1p() + constant)


@torch.no_grad()
def fit_beta_mixture(
    s: Float[Tensor, " k"], present: Bool[Tensor, " k"] | None = None, *, iterations: int = 10, false_share: float = 0.05
) -> BetaMixture:
    r"""EM on numbers in [0, 1], with weighted moments instead of maximum likelihood in the M-step. O(k) an iteration.

    $\alpha = \mu \nu$, $\beta = (1 - \mu) \nu$ with $\nu = \mu (1 - \mu) / \sigma^2 - 1$. As in the original it starts from
    Beta(1, 2) and Beta(2, 1) and keeps the second component's beta above 1, so that its density ends at zero and not at
    infinity. It runs in double precision and never makes the host wait.

    Args:
        s: Similarities; entries that are not `present` do not count.
        present: All of them when not given.
        iterations: Number of EM iterations.
        false_share: Initial share of the second component, the false negatives.
    """
    wide = s.double().clamp(_EDGE, 1 - _EDGE)
    counts = torch.ones_like(wide) if present is None else present.double()
    start = wide.new_tensor([[1, 2], [2, 1], [1 - false_share, false_share]])
    mixture = BetaMixture(*start)
    for _ in range(iterations):
        of_first = mixture.true_negative(wide)
        members = torch.stack([of_first, 1 - of_first]) * counts
        size = members.sum(1).clamp_min(_EDGE)
        mean = (members @ wide / size).clamp(_EDGE, 1 - _EDGE)
        variance = ((wide - mean[:, None]).square() * members).sum(1) / size
        concentration = (mean * (1 - mean) / variance.clamp_min(_EDGE) - 1).clamp_min(0.01)
        beta = (1 - mean) * concentration
        mixture = BetaMixture(mean * concentration, torch.maximum(beta, beta.new_tensor([0, 1.01])), size / size.sum())
    order = (mixture.alpha / (mixture.alpha + mixture.beta)).argsort()
    return BetaMixture(*(part[order].to(s.dtype) for part in mixture))


def hard_log_sums(
    z: Float[Tensor, "n d"],
    graph: Graph | CSR,
    *,
    temperature: float,
    pool: int = 2048,
    selected: int = 256,
    generator: torch.Generator,
) -> Float[Tensor, " b"]:
    r"""$\log \sum_m e^{m/\tau}$ over the mixes of each node; $-\infty$ where there is nothing to mix.

    Args:
        z: Embeddings, any scale. Rows of zeros are no candidates.
        graph: Its neighbourhoods are the positives, which are no candidates either. In a rectangular `CSR`, rows of z beyond
            its rows are no candidates.
        temperature: tau, above 0.
        pool: Number of random nodes among which hard negatives are searched.
        selected: Number of them that are mixed, the hardest first. Each is mixed with one other by a random permutation of the
            ranks, the same for all nodes; a node with fewer candidates has fewer mixes.
        generator: Source of pairs, pool and permutation.
    """
    check_temperature(temperature)
    z, alive = unit_rows(z)
    mixture = _fit_to_pairs(z.detach(), alive, generator)
    neighbours, device = neighbours_of(graph), z.device
    n = neighbours.num_rows
    candidates = torch.randperm(n, generator=generator, device=device)[:pool]
    order = torch.randperm(min(selected, len(candidates)), generator=generator, device=device)
    places = torch.full((z.shape[0],), len(candidates), device=device)
    places[candidates] = torch.arange(len(candidates), device=device)
    step = _Mixing(mixture, places, ~alive[candidates], neighbours, order, temperature)
    keys = z[candidates].T
    size = max(16, _CHUNK[device.type] // len(candidates))
    parts = [
        checkpoint(step.log_sums, rows, keys, first, use_reentrant=False, preserve_rng_state=False)
        for first, rows in zip(range(0, n, size), z[:n].split(size), strict=True)
    ]
    return torch.cat(parts)


def _fit_to_pairs(z: Float[Tensor, "n d"], alive: Bool[Tensor, " n"], generator: torch.Generator) -> BetaMixture:
    """The mixture fitted to random pairs of living nodes; a few pairs are neighbours, that is, false negatives."""
    n = z.shape[0]
    count = (min(_PAIRS, n * n),)
    first = torch.randint(n, count, generator=generator, device=z.device)
    second = (first + torch.randint(1, max(2, n), count, generator=generator, device=z.device)) % n
    return fit_beta_mixture((pair_dot(z, first, second) + 1) / 2, alive[first] & alive[second])


class _Mixing(NamedTuple):
    """Everything that the rows of all chunks share."""

    mixture: BetaMixture
    places: Int[Tensor, " n"]  # of each node in the pool; m for nodes that are not in it
    silent: Bool[Tensor, " m"]
    neighbours: CSR
    order: Int[Tensor, " k"]
    temperature: float

    def log_sums(self, rows: Float[Tensor, "b d"], keys: Float[Tensor, "d m"], first: int) -> Float[Tensor, " b"]:
        """For nodes first, first + 1, ..., whose embeddings are `rows`."""
        cosine = rows @ keys
        weight, chosen = self._hardness(cosine.detach(), first).topk(len(self.order), dim=1)
        similarity = cosine.gather(1, chosen)
        other_weight, other = weight[:, self.order], similarity[:, self.order]
        mixed = (weight * similarity + other_weight * other) / (weight + other_weight + 1e-12)
        both = (weight > 0) & (other_weight > 0)
        return torch.where(both, mixed / self.temperature, -torch.inf).logsumexp(1)

    def _hardness(self, cosine: Float[Tensor, "b m"], first: int) -> Float[Tensor, "b m"]:
        """B; 0 for those that are no candidates: the node itself, its neighbours, rows of zeros."""
        s = (cosine + 1) / 2
        hardness = self.mixture.true_negative(s) * s
        csr, last = self.neighbours, first + len(cosine)
        low, high = csr.indptr[first], csr.indptr[last]
        # One extra column for nodes outside the pool.
        out = torch.zeros(len(cosine), cosine.shape[1] + 1, dtype=torch.bool, device=cosine.device)
        out[csr.rows[low:high] - first, self.places[csr.indices[low:high]]] = True
        out.scatter_(1, self.places[first:last, None], True)
        return hardness.masked_fill(out[:, :-1] | self.silent, 0.0)
