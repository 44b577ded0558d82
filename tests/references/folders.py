"""Graph folders, written plainly."""

import warnings
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from localgcl.graph import Graph
from localgcl.graph.csr import CSR
from localgcl.graph.stored import Header, open_array, write_header


def stored(graph: Graph, folder: Path) -> Graph:
    """Writes the undirected, simple form of `graph` and returns it mapped."""
    simple = graph.symmetrized().without_loops()
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "indptr.npy", simple.indptr.numpy())
    np.save(folder / "indices.npy", simple.indices.numpy().astype(np.int32))
    if simple.x.layout == torch.sparse_csr:
        np.save(folder / "x-indptr.npy", simple.x.crow_indices().numpy())
        np.save(folder / "x-indices.npy", simple.x.col_indices().numpy())
        np.save(folder / "x-values.npy", simple.x.values().numpy())
    else:
        np.save(folder / "x.npy", simple.x.numpy())
    if simple.weights is not None:
        np.save(folder / "weights.npy", simple.weights.numpy())
    write_header(folder, Header("stored", simple.num_nodes, simple.num_edges, simple.num_features))

    def tensor(name: str) -> Tensor:
        with warnings.catch_warnings(action="ignore"):
            return torch.from_numpy(open_array(folder, name))

    indptr, indices = tensor("indptr.npy"), tensor("indices.npy")
    x = simple.x if simple.x.layout == torch.sparse_csr else tensor("x.npy")
    weights = None if simple.weights is None else tensor("weights.npy")
    csr = CSR(indptr, indices, weights=weights, simple=True)
    return Graph(indptr, indices, x, simple.y, (), simple.node_ids, "stored", csr, None, weights, folder, trusted=True)
