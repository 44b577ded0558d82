"""Edge weights: numbers of users -> a checked tensor; None where all weights are 1, so that plain graphs store none."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from localgcl.config import LocalGCLWarning
from localgcl.graph.arrays import as_array

LARGEST = float(np.finfo(np.float32).max)


def as_weights(values: Any, count: int, edge: Callable[[int], str], place: str = "") -> Float[Tensor, " m"]:
    """Edge weights as float32, checked. They may be 0.

    Args:
        values: One number an edge, shape (m,) or (m, 1): an array, a tensor or a list.
        count: m, the number of edges.
        edge: What messages call an edge, given its position.
        place: Where the weights come from, for messages.

    Raises:
        ValueError: A weight is negative, NaN or infinite in single precision; the message names its edge.
    """
    prefix = f"{place}: " if place else ""
    if isinstance(values, Tensor):
        values = (values.float() if values.is_floating_point() else values).detach().cpu().numpy()
    array = as_array(values, f"{prefix}edge weights")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{prefix}edge weights are of type {array.dtype}; give numbers")
    if array.shape not in ((count,), (count, 1)):
        raise ValueError(f"{prefix}edge weights have shape {array.shape}, but there are {count} edges; give one number an edge")
    array = array.ravel()
    with np.errstate(over="ignore"):  # a number too large for float32 becomes infinite
        weights = array.astype(np.float32)
    wrong = ~((weights >= 0) & (weights <= LARGEST))  # of NaN both are false
    if wrong.any():
        first = int(np.argmax(wrong))
        raise ValueError(
            f"{prefix}the weight of edge {edge(first)} is {array[first].item()!r}; weights are numbers from 0 to "
            f"{LARGEST:.1e}: mend it or drop the edge"
        )
    return torch.from_numpy(weights)


def weighted_edges(
    source: Int[Tensor, " m"], target: Int[Tensor, " m"], weights: Any, node_ids: NDArray[Any]
) -> tuple[Int[Tensor, " k"], Int[Tensor, " k"], Float[Tensor, " k"] | None]:
    """The edges of positive weight, with their weights, or None if all are 1.

    Edges of weight 0 are no edges: they are left out, with a warning.
    """
    edge = edge_namer(source, target, node_ids)
    checked = as_weights(weights, source.numel(), edge).to(source.device)
    positive = checked > 0
    if not bool(positive.all()):
        zeros = (~positive).nonzero().flatten()
        warnings.warn(
            f"{zeros.numel():,} edges of weight 0 are left out (first {edge(int(zeros[0]))})", LocalGCLWarning, stacklevel=3
        )
        source, target, checked = source[positive], target[positive], checked[positive]
    return source, target, unless_ones(checked)


def check_weights(weights: Tensor | None, source: Int[Tensor, " m"], target: Int[Tensor, " m"], ids: NDArray[Any]) -> None:
    """ValueError unless every edge has one finite weight above 0."""
    if weights is None:
        return
    if weights.dtype != torch.float32 or weights.shape != target.shape:
        raise ValueError(
            f"edge weights have shape {tuple(weights.shape)} and type {weights.dtype}; give {target.numel()} float32 numbers"
        )
    wrong = ~((weights > 0) & (weights <= LARGEST))
    if bool(wrong.any()):
        first = int(wrong.nonzero()[0])
        raise ValueError(
            f"the weight of edge {edge_namer(source, target, ids)(first)} is {float(weights[first])!r}; weights are numbers "
            f"above 0, at most {LARGEST:.1e}, and so are the sums of parallel ones: rescale them, or drop zeros by from_edges"
        )


def unless_ones(weights: Float[Tensor, " m"] | None) -> Float[Tensor, " m"] | None:
    """The weights; None where all are 1."""
    return None if weights is None or bool((weights == 1).all()) else weights


def edge_namer(source: Any, target: Any, node_ids: NDArray[Any]) -> Callable[[int], str]:
    """What messages call the edge at a position: its two ends by id, or by position where they have no ids."""

    def name(end: Any) -> Any:
        return node_ids[end : end + 1].tolist()[0] if len(node_ids) > end else end

    return lambda i: f"{name(int(source[i]))!r:.80} -> {name(int(target[i]))!r:.80}"
