r"""The Local-GCL loss, the paper's Eq. 5: first-order neighbours attract, all nodes repel.

$$L = \frac1{|V|} \sum_i \Big[ \underbrace{-\log \frac1{|N(i)|} \sum_{j \in N(i)} e^{z_i^T z_j/\tau}}_{positive}
      + \underbrace{\log \sum_{k \in V} e^{z_i^T z_k/\tau}}_{negative} \Big]$$

What the paper leaves open, settled here:

* z is normalised inside. A row of zeros has no direction: it is left out of both terms, has zero gradient, and is counted.
* N(i) holds no self-loop unless `include_self`; parallel edges count as often as they occur.
* Edge weights $a_{ij}$ weigh the positives: the mean is $\sum_j a_{ij} e^{z_i^T z_j/\tau} / \sum_j a_{ij}$, so that an edge of
  weight k equals k parallel ones, and the scale of a node's weights does not matter. The self of `include_self` has weight 1.
* A node without neighbours has no positive term. It stays in the negative sum and in |V|.
* The positive term is the log of a mean of exponentials, not the mean of similarities.
* The constant $e^{1/\tau}$ that the kernelised form splits off is added back, so exact and kernelised values compare. By
  Jensen's inequality the kernelised value lies below the exact one on average, by about Var/(2 mean^2) of the estimate.
"""

import math
import warnings
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from localgcl.config import LocalGCLWarning, suggestion
from localgcl.graph import Graph
from localgcl.graph.csr import CSR
from localgcl.io.libraries import neighbourhoods
from localgcl.losses.finite import can_read, refuse_non_finite
from localgcl.nn.features import MAPS, Draw, FeatureMap
from localgcl.nn.features import negatives as known_negatives
from localgcl.ops import (
    edge_dot,
    exact_log_sums,
    kernel_log_sums,
    kernel_node_log_sums,
    segment_logsumexp,
    segment_max,
    segment_sum,
)
from localgcl.ops.backends import first_order
from localgcl.ops.costs import choose_negatives as choose_negatives
from localgcl.ops.negatives import LogSums, Reduce

Positives = Literal["mean", "max", "weighted"]


class LocalTerms(NamedTuple):
    """The two terms whose sum is the loss, and two shares to watch: clamped rows and rows of zeros."""

    positive: Float[Tensor, ""]
    negative: Float[Tensor, ""]
    clamped: Tensor
    dead: Tensor


def local_contrastive(
    z: Float[Tensor, "n d"],
    graph: Any,
    *,
    temperature: float = 0.5,
    positives: Positives = "mean",
    negatives: str | FeatureMap = "auto",
    num_features: int = 4096,
    include_self: bool = False,
    counted: Bool[Tensor, " b"] | None = None,
    generator: torch.Generator | None = None,
    reduce: Reduce | None = None,
) -> Float[Tensor, ""]:
    """The Local-GCL loss (Eq. 5). O(|E| d) for the positives; the negatives cost O(|V| D log d) kernelised, O(|V|^2 d) exact.

    Args:
        z: Embeddings, any scale; row i belongs to node i of `graph`. NaN or infinite rows raise ValueError. On a GPU the host
            waits for the loss to see them; `local_terms` neither waits nor checks.
        graph: The edges: a `Graph`, or anything that `neighbourhoods` takes, such as an `edge_index` or a PyG `Data`. Its CSR
            rows are the neighbourhoods N(i). For a batch, a rectangular `CSR`: row i lists the rows of z that are neighbours
            of row i. Rows of z beyond those of the CSR are neighbours only: they have no terms and are no negatives.
        temperature: tau, above 0.
        positives: "mean" over the neighbours; "max": the most similar one only, whatever its edge weighs; "weighted" by their
            similarity.
        negatives: "exact", a random feature map ("sorf", "orf", "rff", "positive" or an object of `localgcl.nn.features`),
            or "auto": see `localgcl.ops.costs.choose_negatives`.
        num_features: D, the number of random frequencies (ignored by "exact" and by a feature map object).
        include_self: Also count a node as its own neighbour.
        counted: Mask of the rows of `graph` that have terms and are negatives of each other; all when not given.
        generator: Source of the random frequencies, fresh at each call.
        reduce: Sums a vector over ranks when nodes are spread over machines; each rank then computes its share of the loss.

    Example:
        >>> ring = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], x=torch.eye(4)).symmetrized()
        >>> z = torch.tensor([[1.0, 0], [0, 1], [-1, 0], [0, -1]])
        >>> float(local_contrastive(z, ring, temperature=1.0, negatives="exact"))  # log(e + 2 + 1/e) - log(1)
        1.626...
    """
    terms = local_terms(
        z,
        graph,
        temperature=temperature,
        positives=positives,
        negatives=negatives,
        num_features=num_features,
        include_self=include_self,
        counted=counted,
        generator=generator,
        reduce=reduce,
    )
    loss = terms.positive + terms.negative
    refuse_non_finite(loss, z=z)
    if can_read(loss) and terms.clamped > 0:
        warnings.warn(clamp_message(float(terms.clamped), temperature), LocalGCLWarning, stacklevel=2)
    return loss


def local_terms(
    z: Float[Tensor, "n d"],
    graph: Any,
    *,
    counted: Bool[Tensor, " b"] | None = None,
    reduce: Reduce | None = None,
    generator: torch.Generator | None = None,
    temperature: float = 0.5,
    positives: Positives = "mean",
    include_self: bool = False,
    weight_gradient: bool = False,
    negatives: str | FeatureMap = "auto",
    num_features: int = 4096,
    added: Float[Tensor, " b"] | None = None,
) -> LocalTerms:
    """The terms of `local_contrastive` separately, for logs and reports. Also takes the arguments of both terms."""
    graph = neighbourhoods(graph, z.shape[0], z.device)
    neighbours = neighbours_of(graph, include_self=include_self)
    if z.shape[0] != neighbours.num_columns:
        raise ValueError(f"{z.shape[0]} embeddings for {neighbours.num_columns} nodes; give one row per node")
    check_temperature(temperature)
    z, alive = unit_rows(z)
    options: dict[str, Any] = {"include_self": include_self, "weight_gradient": weight_gradient}
    attraction = positive_term(z, alive, graph, temperature, positives, counted=counted, **options)
    # The negatives of a node are the counted rows; rows that are neighbours only are left out.
    own, alive = z[: neighbours.num_rows], alive[: neighbours.num_rows]
    size = None if counted is None else counted.sum()
    repulsion = negative_term(
        own,
        alive if counted is None else alive & counted,
        temperature,
        negatives,
        size=size,
        num_features=num_features,
        generator=generator,
        reduce=reduce,
        added=added,
    )
    dead = (~alive if counted is None else ~alive & counted).sum() / (len(own) if size is None else size)
    n = repulsion.num_nodes
    return LocalTerms(attraction / n, repulsion.total / n, repulsion.clamped / n, dead)


def neighbours_of(graph: Graph | CSR, *, include_self: bool = False) -> CSR:
    """N(i) in row i: without self-loops, or with one each."""
    csr = graph.csr if isinstance(graph, Graph) else graph
    return csr.with_loops if include_self else csr.without_loops


def unit_rows(z: Float[Tensor, "n d"]) -> tuple[Float[Tensor, "n d"], Bool[Tensor, " n"]]:
    """Rows scaled to unit length (in float32 at least), and a mask of rows that have a direction; the others are zero."""
    wide = z.float() if z.dtype in (torch.bfloat16, torch.float16) else z
    unit, alive = _UnitRows.apply(wide)  # type: ignore[no-untyped-call]  # torch leaves it untyped
    return unit, alive


class _UnitRows(torch.autograd.Function):
    r"""$u = z/\|z\|$ and $\partial z = (\partial u - u\,(u^T \partial u)) / \|z\|$, where autograd would keep six matrices."""

    @staticmethod
    def forward(ctx: Any, z: Tensor) -> tuple[Tensor, Tensor]:
        norms = torch.linalg.vector_norm(z, dim=1, keepdim=True)
        # Below this the squares underflow and the direction is noise. NaN is not below: it stays in, to be seen in the loss.
        alive = ~(norms <= torch.finfo(z.dtype).tiny ** 0.5)
        # inf / inf is NaN: the norm of a finite row may overflow, and one over it would make that row zero without a word.
        inverse = torch.where(alive, norms / norms / norms, 0.0)
        unit = z * inverse
        ctx.save_for_backward(unit, inverse)
        alive = alive[:, 0]
        ctx.mark_non_differentiable(alive)
        return unit, alive

    @staticmethod
    @first_order
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        unit, inverse = ctx.saved_tensors
        along = torch.linalg.vecdot(unit, grads[0])[:, None]
        return torch.addcmul(grads[0], unit, along, value=-1).mul_(inverse)


def positive_term(
    z: Float[Tensor, "n d"],
    alive: Bool[Tensor, " n"],
    graph: Graph | CSR,
    temperature: float,
    positives: Positives = "mean",
    *,
    counted: Bool[Tensor, " b"] | None = None,
    include_self: bool = False,
    weight_gradient: bool = False,
) -> Float[Tensor, ""]:
    r"""Sum over nodes of $-\log \sum_{j \in N(i)} w_{ij} e^{z_i^T z_j/\tau}$ for unit rows z. O(|E| d) time, O(|E|) memory.

    w is 1/|N(i)| ("mean"), 1 for the most similar neighbour and 0 for the others ("max"), or the softmax of the
    similarities over N(i) at temperature 1 ("weighted": the paper divides by |N(i)| once more, which only adds a constant;
    without it equal weights give back "mean"). The weights carry gradient only if `weight_gradient`.

    Edge weights $a_{ij}$ multiply w before it is scaled to sum 1: $a_{ij} / \sum_k a_{ik}$ for "mean", and
    $a_{ij} e^{z_i^T z_j} / \sum_k a_{ik} e^{z_i^T z_k}$ for "weighted". "max" takes no notice of them.
    """
    neighbours = neighbours_of(graph, include_self=include_self)
    cosine = edge_dot(z, neighbours)
    present = alive[neighbours.indices]
    similarity = torch.where(present, cosine / temperature, -torch.inf)
    size = segment_sum(present.to(z.dtype), neighbours)
    # As logarithms, in which no sum overflows; None where all weights are 1.
    logs = None if neighbours.weights is None else torch.where(present, neighbours.weights.to(z.dtype).log(), 0.0)
    if positives == "mean":
        total = size.log() if logs is None else segment_logsumexp(torch.where(present, logs, -torch.inf), neighbours)
        aggregate = segment_logsumexp(similarity if logs is None else similarity + logs, neighbours) - total
    elif positives == "max":
        aggregate = segment_max(similarity, neighbours)
    elif positives == "weighted":
        score = torch.where(present, cosine if weight_gradient else cosine.detach(), -torch.inf)
        score = score if logs is None else score + logs
        # log sum_j softmax(score)_j e^similarity_j, the softmax written out so that both sums are stable.
        joint = segment_logsumexp(similarity + torch.where(present, score, 0.0), neighbours)
        aggregate = joint - segment_logsumexp(score, neighbours)
    else:
        raise ValueError(f"positives is {positives!r}; choose 'mean', 'max' or 'weighted'")
    has_term = (size > 0) & alive[: neighbours.num_rows]
    return -torch.where(has_term if counted is None else has_term & counted, aggregate, 0.0).sum()


def negative_term(
    z: Float[Tensor, "n d"],
    alive: Bool[Tensor, " n"],
    temperature: float,
    negatives: str | FeatureMap = "auto",
    *,
    size: Tensor | None = None,
    num_features: int = 4096,
    generator: torch.Generator | None = None,
    reduce: Reduce | None = None,
    added: Float[Tensor, " n"] | None = None,
) -> LogSums:
    r"""Sum over nodes of $\log \sum_k e^{z_i^T z_k/\tau}$ for unit rows z: exact, or through random features (Eq. 9).

    `size` is the number of rows to count, living or not; all rows of z when not given. `added` is the logarithm of one more
    summand in each node's sum, such as `mixing.hard_log_sums`; it carries gradient.
    """
    if negatives == "auto":
        negatives = choose_negatives(
            z.shape[0], z.shape[1], num_features, temperature, distributed=reduce is not None, device=z.device
        )
    if negatives == "exact":
        if reduce is not None:
            raise ValueError("exact negatives need all embeddings on one machine; use negatives='sorf' with reduce")
        nothing = torch.zeros((), device=z.device)
        logs = exact_log_sums(z, alive, temperature)
        return LogSums(_joined(logs, added, alive).sum(), nothing, nothing + (z.shape[0] if size is None else size))
    features = draw_features(negatives, z, temperature, num_features=num_features, generator=generator)
    if added is None:
        sums = kernel_log_sums(z, alive, features, reduce or _identity, size=size)
        return sums._replace(total=sums.total + features.offset * alive.sum())
    by_node = kernel_node_log_sums(z, alive, features, reduce or _identity, size=size)
    return LogSums(_joined(by_node.logs + features.offset, added, alive).sum(), by_node.clamped, by_node.num_nodes)


def draw_features(
    negatives: str | FeatureMap,
    z: Float[Tensor, "n d"],
    temperature: float,
    *,
    num_features: int,
    generator: torch.Generator | None = None,
) -> Draw:
    """Random features for the rows of z, from a map or its name; a map object has its own number of features."""
    if isinstance(negatives, str):
        if negatives not in MAPS:
            raise ValueError(f"negatives is {negatives!r}{suggestion(negatives, known_negatives())}")
        negatives = MAPS[negatives](num_features)
    return negatives.draw(z.shape[1], temperature, generator=generator, device=z.device, dtype=z.dtype)


def check_temperature(temperature: float) -> None:
    """ValueError unless it is a finite number above 0."""
    if not (math.isfinite(temperature) and temperature > 0):
        raise ValueError(f"temperature is {temperature}; it must be above 0, for example 0.5")


def _joined(logs: Tensor, added: Tensor | None, alive: Tensor) -> Tensor:
    return logs if added is None else torch.where(alive, torch.logaddexp(logs, added), 0.0)


def clamp_message(share: float, temperature: float) -> str:
    """The message for random-feature sums below their true lower bound."""
    return (
        f"{share:.1%} of the nodes had a negative term below its true lower bound and were clamped (no gradient): "
        f"too few random features for temperature {temperature:g}; raise either, or use negatives='exact'"
    )


def _identity(vector: Tensor) -> Tensor:
    return vector
