"""Which graph it is: a hash of its content, so that results of a changed graph are not taken for results of this one."""

import dataclasses
import hashlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from localgcl.graph import Graph, Split

# What the user calls things, and what follows from the other fields.
_NOT_CONTENT = ("node_ids", "name", "feature_names", "class_names", "structure", "folder", "encoding", "structural")


def fingerprint(graph: Graph) -> str:
    """A hash of edges, features, labels and splits, in twelve digits; names do not count. O(|E| + feature values).

    Example:
        >>> path = Graph.from_edges([0, 1], [1, 2], x=torch.eye(3))
        >>> fingerprint(path) == fingerprint(dataclasses.replace(path, name="path"))
        True
    """
    digest = hashlib.sha256()
    for field in dataclasses.fields(graph):
        if field.name not in _NOT_CONTENT:
            for part in _tensors(getattr(graph, field.name)):
                digest.update(f"{field.name} {part.dtype} {tuple(part.shape)}\n".encode())
                digest.update(part.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:12]


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        sparse = value.layout == torch.sparse_csr
        yield from (value.crow_indices(), value.col_indices(), value.values()) if sparse else (value,)
    elif isinstance(value, Split):
        yield from (value.train, value.val, value.test)
    elif value is not None:
        for part in value:
            yield from _tensors(part)
