"""Embeddings that a user could take instead of ours; each docstring says by which package and with which settings.

A system takes undirected edges in both directions and features, and returns a row for each node. `quick` trains for a moment:
kernels and caches are warm afterwards.
"""

import sys
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from localgcl.graph.prepare import structural_columns, with_structural_features

Matrix = NDArray[Any]


class Input(NamedTuple):
    """What every system is given."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    x: Any
    """Features: an array, or a scipy matrix."""

    @property
    def num_nodes(self) -> int:
        count: int = self.x.shape[0]
        return count

    @property
    def edge_index(self) -> torch.Tensor:
        return torch.from_numpy(np.stack([self.source, self.target]))

    @property
    def dense(self) -> torch.Tensor:
        """Features as PyTorch Geometric's data sets hold them, rows of sum 1 where they are bags of words."""
        if isinstance(self.x, np.ndarray):
            return torch.from_numpy(self.x)
        rows = torch.from_numpy(self.x.toarray()).float()
        return rows / rows.sum(dim=1, keepdim=True).clamp(min=1)


def localgcl(graph: Input, *, quick: bool) -> Matrix:
    """Local-GCL with its defaults for graphs without a recipe."""
    import localgcl as lg

    own = lg.Graph.from_edges(graph.source, graph.target, x=graph.x)
    z: Matrix = lg.LocalGCL(random_state=0, device="cpu", steps=1 if quick else None).fit_transform(own)
    return z


def localgcl_edges(graph: Input, *, quick: bool) -> Matrix:
    """The same without features, as for a user who has edges alone; FastRP and node2vec do not look at features either."""
    import localgcl as lg

    own = with_structural_features(
        lg.Graph.from_edges(graph.source, graph.target, x=np.ones((graph.num_nodes, 1), dtype=np.float32)),
        structural_columns(graph.num_nodes),
    )
    z: Matrix = lg.LocalGCL(random_state=0, device="cpu", steps=1 if quick else None).fit_transform(own)
    return z


def pygcl_grace(graph: Input, *, quick: bool) -> Matrix:
    """GRACE of PyGCL 0.1.2, as its example has it, with the widths, rates and number of steps of GRACE's own code for Cora.

    The package imports dgl, torch_sparse and torch_scatter, which it does not declare. Nothing of them is called here, so empty
    modules stand in for them.
    """
    stand_in("dgl", "DGLGraph")
    stand_in("torch_sparse", "SparseTensor", "coalesce")
    stand_in("torch_scatter", "scatter")
    import GCL.augmentors as augment
    from GCL.losses import InfoNCE
    from GCL.models import DualBranchContrast
    from torch_geometric.nn import GCNConv

    torch.manual_seed(0)
    x, edges = graph.dense, graph.edge_index
    layers = torch.nn.ModuleList([GCNConv(x.shape[1], 256), GCNConv(256, 128)])
    head = torch.nn.Sequential(torch.nn.Linear(128, 128), torch.nn.ELU(), torch.nn.Linear(128, 128))
    views = [
        augment.Compose([augment.EdgeRemoving(pe=edge), augment.FeatureMasking(pf=feature)])
        for edge, feature in ((0.2, 0.3), (0.4, 0.4))
    ]
    contrast = DualBranchContrast(loss=InfoNCE(tau=0.4), mode="L2L", intraview_negs=True)
    optimiser = torch.optim.Adam([*layers.parameters(), *head.parameters()], lr=5e-4, weight_decay=1e-5)

    def encode(x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        for layer in layers:
            x = layer(x, edges).relu()
        return x

    for _ in range(1 if quick else 200):
        optimiser.zero_grad()
        outputs = [head(encode(*view(x, edges)[:2])) for view in views]
        contrast(*outputs).backward()
        optimiser.step()
    with torch.no_grad():
        return encode(x, edges).numpy()


def pyg_dgi(graph: Input, *, quick: bool) -> Matrix:
    """DeepGraphInfomax of PyTorch Geometric, as its example has it: one layer of 512 with PReLU, 300 steps."""
    from torch_geometric.nn import DeepGraphInfomax, GCNConv

    torch.manual_seed(0)
    x, edges = graph.dense, graph.edge_index

    class Encoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.convolution, self.activation = GCNConv(x.shape[1], 512), torch.nn.PReLU(512)

        def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
            activated: torch.Tensor = self.activation(self.convolution(x, edges))
            return activated

    model = DeepGraphInfomax(
        512,
        encoder=Encoder(),
        summary=lambda z, *_, **__: z.mean(dim=0).sigmoid(),
        corruption=lambda x, edges: (x[torch.randperm(x.shape[0])], edges),
    )
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(1 if quick else 300):
        optimiser.zero_grad()
        model.loss(*model(x, edges)).backward()
        optimiser.step()
    with torch.no_grad():
        z: Matrix = model.encoder(x, edges).numpy()
    return z


def node2vec(graph: Input, *, quick: bool) -> Matrix:
    """node2vec of fastnode2vec, sizes as in its paper: 128 dimensions, 10 walks of 80 nodes from each, window 10, p = q = 1."""
    from fastnode2vec import Graph, Node2Vec

    walks = Graph(zip(graph.source.tolist(), graph.target.tolist(), strict=True), directed=True, weighted=False)
    model = Node2Vec(walks, dim=128, walk_length=80, window=10, workers=2, seed=0)
    model.train(epochs=1 if quick else 10, verbose=False)
    z = np.zeros((graph.num_nodes, 128), dtype=np.float32)
    for place, name in enumerate(model.wv.index_to_key):  # a node without edges has no walk, and no row
        z[int(name)] = model.wv.vectors[place]
    return z


def fastrp(graph: Input, *, quick: bool) -> Matrix:
    """FastRP, written out: a sparse random matrix, averaged over neighbours one to four times, unit rows, weights 0, 0, 1, 6.

    256 dimensions. It does not look at features.
    """
    del quick
    n, rng = graph.num_nodes, np.random.default_rng(0)
    adjacency = sp.csr_array((np.ones(len(graph.source), dtype=np.float32), (graph.source, graph.target)), shape=(n, n))
    step = sp.diags_array(1 / np.maximum(adjacency.sum(axis=1), 1)).astype(np.float32) @ adjacency
    rows = rng.choice(np.array([-1, 0, 0, 0, 0, 1], dtype=np.float32), size=(n, 256))
    z = np.zeros((n, 256), dtype=np.float32)
    for weight in (0, 0, 1, 6):
        rows = step @ rows
        z += weight * rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return z


def raw_features(graph: Input, *, quick: bool) -> Matrix:
    """The features themselves: unit rows of bags of words, as they are otherwise."""
    del quick
    if isinstance(graph.x, np.ndarray):
        return graph.x
    rows = graph.x.toarray()
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))


def stand_in(name: str, *members: str) -> None:
    """An empty module under this name, for a package that imports it and does not use it."""
    if name not in sys.modules:
        module = types.ModuleType(name)
        for member in members:
            setattr(module, member, object)
        sys.modules[name] = module


SYSTEMS: dict[str, Callable[..., Matrix]] = {
    "localgcl": localgcl,
    "localgcl, edges alone": localgcl_edges,
    "PyGCL GRACE": pygcl_grace,
    "PyG DGI": pyg_dgi,
    "node2vec": node2vec,
    "FastRP": fastrp,
    "raw features": raw_features,
}
"""Systems by name."""
