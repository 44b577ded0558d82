"""Amazon Computers and Photo, Coauthor CS and Physics: npz files of CSR parts."""

import io

import numpy as np
import scipy.sparse as sp

from localgcl.graph import Graph


def read_gnn_benchmark(content: bytes, name: str) -> Graph:
    """The graph made undirected, without self-loops; features as published (counts for the co-author graphs).

    PyG and the paper's competitors set every positive feature to 1; `scaling="binary"` does that where a recipe asks for it.
    """
    with np.load(io.BytesIO(content), allow_pickle=False) as parts:
        x = sp.csr_array(
            (parts["attr_data"], parts["attr_indices"], parts["attr_indptr"]), shape=tuple(parts["attr_shape"].tolist())
        )
        source = np.repeat(np.arange(len(parts["adj_indptr"]) - 1), np.diff(parts["adj_indptr"]))
        target, y = parts["adj_indices"], parts["labels"]
    return Graph.from_edges(source, target, x=x, y=y, name=name).without_loops().symmetrized()
