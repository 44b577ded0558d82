"""What all encoders share: their inputs, layers with activations between them, and products with sparse matrices."""

import abc
import dataclasses
import itertools
from collections.abc import Iterator
from typing import ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from localgcl.config import Activation, EncoderOptions
from localgcl.graph import Graph
from localgcl.graph.csr import as_features, features_to_scipy, select_rows
from localgcl.graph.mapped import blocks
from localgcl.ops import SparseMatrix, spmm
from localgcl.ops.propagation import Averages
from localgcl.system.team import ALONE, Team

# Below about this share of non-zeros a sparse product beats the dense one on a CPU.
_SPARSE_BELOW = 0.05


@dataclasses.dataclass(frozen=True, eq=False)
class Inputs:
    """What an encoder reads of a graph: the first layer's input, and the matrix that averages over neighbours.

    `propagated` means that `first` is already A X: constant features are averaged once. The matrix is dense if a method
    averages over all nodes (the exact diffusion of MVGRL). The hops encoder reads `hops`, one a channel, and nothing else.
    A batch of a GCN has `flow`, the matrix of each layer whose average is not in `first`, in place of `adjacency`; `source` is
    what batches are taken from: a graph, or the rows of its averaging matrix.
    """

    first: Tensor | SparseMatrix
    adjacency: SparseMatrix | Float[Tensor, "n n"] | None = None
    propagated: bool = False
    hops: tuple["Hop", ...] = ()
    flow: tuple[SparseMatrix, ...] = ()
    source: Graph | Averages | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Hop:
    r"""The rows of $M^k X$ that a channel reads, with M an averaging matrix.

    They are stored in `first`, or `first` is X and the channel's first layer W comes before the averaging: $M^k (X W)$ has
    the same values and gradients.

    Args:
        first: $M^k X$, or X.
        present: Rows of $M^k X$ that are not all zero.
        matrix: M, where `first` is X; None where the hop is stored.
        power: k, the number of products with M that are left to do.
        rows: The rows to keep after them; all when not given.
    """

    first: Tensor | SparseMatrix
    present: Bool[Tensor, " n"]
    matrix: SparseMatrix | None = None
    power: int = 0
    rows: Int[Tensor, " b"] | None = None

    def take(self, rows: Int[Tensor, " b"], device: torch.device) -> "Hop":
        """The hop of some nodes, in the order given. Rows that are mapped from a file are copied to `device`."""
        rows = rows.to(self.present.device)
        if self.matrix is not None:
            return dataclasses.replace(self, present=self.present[rows], rows=rows)
        if isinstance(self.first, SparseMatrix):
            return Hop(SparseMatrix(select_rows(self.first.csr, rows)), self.present[rows])
        return Hop(self.first[rows].to(device), self.present[rows].to(device))


class RReLU(nn.Module):
    """ReLU with a random slope below zero, drawn for each entry from U(1/8, 1/3); without a generator, the mean slope."""

    def forward(self, h: Float[Tensor, "n d"], generator: torch.Generator | None = None) -> Float[Tensor, "n d"]:
        low, high = 1 / 8, 1 / 3
        if generator is None:
            return nn.functional.leaky_relu(h, (low + high) / 2)
        slope = torch.rand(h.shape, generator=generator, device=h.device, dtype=h.dtype) * (high - low) + low
        return torch.where(h < 0, slope * h, h)


_ACTIVATIONS: dict[Activation, type[nn.Module]] = {"relu": nn.ReLU, "prelu": nn.PReLU, "rrelu": RReLU, "elu": nn.ELU}


class Encoder(nn.Module, abc.ABC):
    """Maps what it reads of a graph to one row of embeddings a node.

    What others ask of an encoder before it is built are class methods of its options.
    """

    layer_by_layer: ClassVar[bool] = False
    """Whether a graph in memory that trains in batches is embedded one layer after the other, in blocks of rows."""

    @classmethod
    @abc.abstractmethod
    def reach(cls, options: EncoderOptions) -> int:
        """How often an output averages over neighbours: it depends on the nodes within so many steps."""

    @classmethod
    def smallest_dim(cls, options: EncoderOptions) -> int:  # noqa: ARG003
        """The smallest embedding dimension."""
        return 1

    @classmethod
    def unshareable(cls, options: EncoderOptions) -> str | None:
        """Why ranks that each have some of the rows cannot train it, and the way out; None if they can."""
        return f"encoder is {options.encoder}, but ranks share the rows of channels; take hops"

    @classmethod
    def unstreamable(cls, options: EncoderOptions) -> str | None:  # noqa: ARG003
        """Why it cannot read the rows of a graph folder from disk, and the way out; None if it can."""
        return None

    @classmethod
    @abc.abstractmethod
    def columns_on_disk(cls, num_features: int, options: EncoderOptions, *, scaled: bool) -> tuple[int, str]:
        """Columns a node that it keeps on disk for a graph folder, and of what; `scaled` if features are not read as stored."""

    @classmethod
    def reads_sparse_rows(cls, options: EncoderOptions) -> bool:  # noqa: ARG003
        """Whether it can read sparse features of a graph folder from disk."""
        return False

    @abc.abstractmethod
    def inputs(self, graph: Graph, *, constant: bool = True, like: Inputs | None = None) -> Inputs:
        """What the encoder reads of a graph.

        Args:
            graph: The prepared graph, or a view of it.
            constant: Whether it serves many steps, so that what is the same in all of them is computed here, once.
            like: The result for a graph with the same edges, whose matrix is reused.
        """

    def reading(self, graph: Graph, team: Team = ALONE) -> Inputs:  # noqa: ARG002
        """Data that `take` slices into batches; builds nothing of the graph's size where it can. A team does it together."""
        return self.inputs(graph)

    @abc.abstractmethod
    def take(
        self, inputs: Inputs, rows: Int[Tensor, " b"], sampled: int = 0, generator: torch.Generator | None = None, /
    ) -> Inputs:
        """What the encoder reads of some distinct nodes, on the device of its weights; each gives a row of embeddings.

        Args:
            inputs: The result of `reading`.
            rows: The nodes.
            sampled: Neighbours of each node that a GCN averages over in each layer, drawn here; 0 takes all, which is exact.
            generator: Source of the draws.
        """

    def blocks(self, graph: Graph, rows: range, team: Team = ALONE) -> Iterator[Float[Tensor, "b d"]]:
        """Embeddings of a range of nodes, a block of rows at a time, in order. Processes of a team each have a range."""
        whole = self.reading(graph, team)
        for block in blocks(rows):
            with torch.no_grad():  # not while the caller has the block
                z = self(self.take(whole, torch.arange(block.start, block.stop, device=graph.device)))
            yield z

    def refresh_rows(self, graph: Graph) -> None:
        """`refresh_statistics` over all nodes of a graph that is trained on in batches."""
        self.refresh_statistics(self.inputs(graph))

    def parts(self, inputs: Inputs, generator: torch.Generator | None = None) -> tuple[Float[Tensor, "n _"], ...]:
        """Embeddings that have a loss each: one, or those of each channel."""
        return (self(inputs, generator),)

    @abc.abstractmethod
    def refresh_statistics(self, inputs: Inputs) -> None:
        """Recomputes with the final weights what is averaged over nodes, such as batch-norm statistics."""


class Layers(nn.Module, abc.ABC):
    """Layers with an activation (and batch normalisation) between them; the last is linear unless `activate_last`."""

    def __init__(self, num_inputs: int, options: EncoderOptions) -> None:
        super().__init__()
        hidden = options.hidden or options.dim
        widths = [num_inputs, *[hidden] * (options.layers - 1), options.dim]
        activated = widths[1:] if options.activate_last else widths[1:-1]
        self.weights = nn.ModuleList(nn.Linear(i, o) for i, o in itertools.pairwise(widths))
        self.autocast, self.dropout = options.autocast, options.dropout
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for width in activated) if options.batch_norm else None
        self.activations = nn.ModuleList(_ACTIVATIONS[options.activation]() for _ in activated)
        self.row_norms = nn.ModuleList(nn.LayerNorm(width) for width in activated) if options.layer_norm else None

    @classmethod
    def columns_on_disk(cls, num_features: int, options: EncoderOptions, *, scaled: bool) -> tuple[int, str]:
        """One layer's outputs are read while the next one's are written (see `nn.streamed`)."""
        widest = max(options.dim, options.hidden) if options.layers > 1 else options.dim
        return scaled * num_features + 2 * widest, "layers"

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    def start_glorot(self) -> None:
        """Draws weights by Glorot's uniform rule and sets biases to zero, as in the original GCN."""
        for layer in self.weights:
            assert isinstance(layer, nn.Linear)
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, inputs: Inputs, generator: torch.Generator | None = None) -> Float[Tensor, "n d"]:
        """Embeddings. In training, dropout and RReLU draw from `generator`; without one they act as in evaluation."""
        device = self.weights[0].weight.device.type
        chance = generator if self.training else None
        with torch.autocast(str(device), torch.bfloat16, enabled=self.autocast):
            return self._encode(inputs, chance).float() if self.autocast else self._encode(inputs, chance)

    def _encode(self, inputs: Inputs, generator: torch.Generator | None) -> Float[Tensor, "n d"]:
        h = self._first_layer(inputs, generator)
        for depth, layer in enumerate(self.weights):
            assert isinstance(layer, nn.Linear)
            if depth > 0:
                dropped = self._dropped(h, generator)
                assert isinstance(dropped, Tensor)
                h = self._layer(layer, dropped, inputs, depth)
            h = self.activated(h, depth, generator)
        return h

    def activated(self, h: Float[Tensor, "n d"], depth: int, generator: torch.Generator | None = None) -> Float[Tensor, "n d"]:
        """What follows a layer: normalisation and activation, or nothing after the last one."""
        if depth >= len(self.activations):
            return h
        h = h if self.norms is None else self.norms[depth](h)
        activation = self.activations[depth]
        h = activation(h, generator) if isinstance(activation, RReLU) else activation(h)
        return h if self.row_norms is None else self.row_norms[depth](h)

    @abc.abstractmethod
    def _first_layer(self, inputs: Inputs, generator: torch.Generator | None) -> Tensor: ...

    def _layer(self, layer: nn.Linear, h: Tensor, inputs: Inputs, depth: int) -> Tensor:  # noqa: ARG002 - what a GCN needs
        """A layer after the first; a plain linear one unless overridden."""
        return linear(layer, h)

    def _dropped(self, h: Tensor | SparseMatrix, generator: torch.Generator | None) -> Tensor | SparseMatrix:
        return drop_entries(h, self.dropout, generator) if generator is not None and self.dropout > 0 else h

    @torch.no_grad()
    def refresh_statistics(self, inputs: Inputs) -> None:
        """Recomputes the batch-norm statistics in one pass: after few steps, their running averages still recall the start."""
        if self.norms is None:
            return
        for norm in self.norms:
            assert isinstance(norm, nn.BatchNorm1d)
            norm.reset_running_stats()
            norm.momentum = None  # a plain average over the passes, here one
        self.train()
        self(inputs)


def mlp_head(
    inputs: int, hidden: int, outputs: int, activation: Literal["relu", "prelu", "elu"], batch_norm: bool = False
) -> nn.Sequential:
    """A projector or predictor: Linear, (BatchNorm,) activation, Linear."""
    norm = [nn.BatchNorm1d(hidden)] if batch_norm else []
    return nn.Sequential(nn.Linear(inputs, hidden), *norm, _ACTIVATIONS[activation](), nn.Linear(hidden, outputs))


# Features


def with_dense_features(graph: Graph) -> Graph:
    """Converts features once to the layout that encoders read, so that each new view does not convert them again.

    Features become dense unless they are so sparse that sparse products are faster.
    """
    kept = _kept(graph.x)
    return graph if kept is graph.x else graph.derived(x=kept)


def readable(x: Tensor) -> Tensor | SparseMatrix:
    """Features as a layer reads them: dense unless sparse products are faster."""
    kept = _kept(x)
    return SparseMatrix(kept) if kept.layout == torch.sparse_csr else kept


def stays_sparse(x: Tensor) -> bool:
    """True if features are stored sparse, and sparse enough that sparse products are faster."""
    return x.layout == torch.sparse_csr and sparse_enough(x.values().numel() / max(1, x.shape[0] * x.shape[1]))


def sparse_enough(density: float) -> bool:
    """True if a sparse product beats the dense one at this share of non-zeros."""
    return density < _SPARSE_BELOW


def _kept(x: Tensor) -> Tensor:
    return x.to_dense() if x.layout == torch.sparse_csr and not stays_sparse(x) else x


def drop_entries(h: Tensor | SparseMatrix, rate: float, generator: torch.Generator) -> Tensor | SparseMatrix:
    """Dropout: entries set to zero with probability `rate`, the others divided by 1 - rate. Of a sparse matrix, stored ones."""
    if isinstance(h, SparseMatrix):
        return h.with_values(dropped(h.csr.values(), rate, generator))
    return dropped(h, rate, generator)


def dropped(values: Tensor, rate: float, generator: torch.Generator) -> Tensor:
    """Dropout of a tensor's entries."""
    keep = torch.rand(values.shape, generator=generator, device=values.device) >= rate
    return values * keep / (1 - rate)


# Products


def product(weight: Float[Tensor, "o i"], h: Tensor | SparseMatrix) -> Tensor:
    """h W^T, without a bias."""
    return wide_spmm(h, weight.T) if isinstance(h, SparseMatrix) else nn.functional.linear(h, weight)


def linear(layer: nn.Linear, h: Tensor | SparseMatrix) -> Tensor:
    """The layer's output."""
    return wide_spmm(h, layer.weight.T) + layer.bias if isinstance(h, SparseMatrix) else layer(h)


def average(matrix: SparseMatrix | Tensor, x: Tensor) -> Tensor:
    """matrix @ x, for an averaging matrix of either kind."""
    return matrix @ x if isinstance(matrix, Tensor) else wide_spmm(matrix, x)


def wide_spmm(matrix: SparseMatrix, x: Tensor) -> Tensor:
    """matrix @ x in single precision: under autocast torch would ask for a sparse product in bfloat16, and there is none."""
    with torch.autocast(x.device.type, enabled=False):
        return spmm(matrix, x)


def average_once(matrix: SparseMatrix | Tensor, x: Tensor) -> Tensor:
    """matrix @ x for constant features, which stay sparse if they are; not differentiable."""
    if isinstance(matrix, Tensor):
        return matrix @ x.to_dense()
    if x.layout != torch.sparse_csr:
        return spmm(matrix, x)
    return as_features(features_to_scipy(matrix.csr) @ features_to_scipy(x)).to(x.device)
