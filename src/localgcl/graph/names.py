"""Feature columns matched by name: the columns of one graph in the order of another."""

import warnings

import torch
from torch import Tensor

from localgcl.config import LocalGCLWarning
from localgcl.graph import Graph
from localgcl.graph.csr import as_features, features_to_scipy
from localgcl.system.text import listed


def match_features(graph: Graph, names: tuple[str, ...] | None) -> Graph:
    """The graph with the feature columns `names`, in that order: those that a model was trained on. O(n f).

    Columns in another order are put right. Columns that `names` does not have are left out, with a warning that names
    them. Where only one side has names, columns are taken by position, with a warning; where neither has, without one.

    Args:
        graph: A graph with features as they were read, before any scaling.
        names: The names of the columns in training; None if they had none.

    Raises:
        ValueError: The graph lacks some of `names`; the message names the first and counts them.
    """
    given = graph.feature_names
    if given == names:
        return graph
    if given is None or names is None:
        which = "the model was trained on features without names" if names is None else "the graph's features have no names"
        _warn(f"{which}, so feature columns are matched by position; check that they are in the same order")
        return graph
    place = {name: column for column, name in enumerate(given)}
    missing = [name for name in names if name not in place]
    if missing:
        raise ValueError(
            f"the graph lacks {len(missing)} of the {len(names)} feature columns that the model was trained on: "
            f"{listed(missing)}; add them under these names (the graph has {listed(given)})"
        )
    known = set(names)
    extra = [name for name in given if name not in known]
    if extra:
        _warn(f"feature columns that the model was not trained on are ignored: {listed(extra)}")
    x = _columns(graph.x, [place[name] for name in names])
    return graph.derived(x=x, feature_names=names)


def _columns(x: Tensor, order: list[int]) -> Tensor:
    """Some columns of dense or sparse features, in the order given."""
    if x.layout == torch.sparse_csr:
        return as_features(features_to_scipy(x)[:, order]).to(x.device)
    return x[:, order]


def _warn(message: str) -> None:
    warnings.warn(message, LocalGCLWarning, stacklevel=4)  # the caller of transform or embed
