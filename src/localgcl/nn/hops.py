r"""Hops: channels that read the features after some steps over the graph, each with a small network and a loss of its own.

A channel reads the rows of X, $S^k X$ or $B^k X$, where $S = D^{-1/2}(A + I)D^{-1/2}$ averages over a node and its neighbours
and B, without the identity, over the neighbours alone. No single encoder is safe on every graph: where neighbours are alike,
averages help; where they are not, the node's own features or its neighbours' do. The embedding has the unit rows of all
channels side by side, so whatever reads it can choose.

Averaging needs no weights, so a channel reads rows and not a graph: a batch of nodes needs their rows and nothing else.
"""

import dataclasses
import re
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from localgcl.config import EncoderOptions
from localgcl.graph import Graph
from localgcl.graph.csr import csr_tensor
from localgcl.nn.columns import ColumnMap, FourierColumns, SparseProjection
from localgcl.nn.gcn import GCN
from localgcl.nn.layers import (
    Encoder,
    Hop,
    Inputs,
    Layers,
    average_once,
    dropped,
    product,
    readable,
    sparse_enough,
    stays_sparse,
    wide_spmm,
)
from localgcl.nn.streamed import channel_rows
from localgcl.ops import SparseMatrix, spmm
from localgcl.ops.propagation import propagation
from localgcl.system.team import ALONE, Team

# A multiply-add of a dense product takes about this share of the time of one in a sparse product.
_DENSE_SPEED = 1 / 12
# A hop is stored only if it takes at most this many bytes.
STORED_BYTES = 2**29


class Channel(NamedTuple):
    """$M^k X$: M is "S", with self-loops, or "B", without; k is `power`. "G" is a GCN of k layers on X."""

    matrix: str
    power: int


def parse_channel(name: str) -> Channel:
    """The channel called "X", "SX", "S2X", "B3X", "G2X" and so on; ValueError for other names."""
    found = re.fullmatch(r"(?:([SBG])([2-9]?))?X", name)
    if found is None:
        raise ValueError(
            f"channel is {name!r}; give X, SX or BX, more steps over the graph, such as S2X or B3X, or a GCN, as G2X"
        )
    matrix, power = found.groups()
    return Channel(matrix or "", int(power or 1) if matrix else 0)


def columns_read(num_features: int, options: EncoderOptions) -> int:
    """How many columns an encoder reads: those of X, projected to fewer or beside random Fourier features."""
    return options.projected or num_features + options.fourier


def channel_widths(num_inputs: int, options: EncoderOptions) -> list[int]:
    """Columns of each channel: `dim` in equal parts, the first ones taking what is left over.

    A linear channel is never wider than its input: more columns would repeat the same directions.
    """
    count = len(options.channels)
    if not 1 <= count <= options.dim:
        raise ValueError(f"{count} channels share dim {options.dim}; give at least one channel, and dim at least {count}")
    share, extra = divmod(options.dim, count)
    widths = [share + (place < extra) for place in range(count)]
    linear = [channel_layers(name, options) == 1 for name in options.channels]
    return [min(width, num_inputs) if alone else width for width, alone in zip(widths, linear, strict=True)]


def channel_layers(name: str, options: EncoderOptions) -> int:
    """Number of layers of a channel: its own if it is a GCN, otherwise `layers`."""
    channel = parse_channel(name)
    return channel.power if channel.matrix == "G" else options.layers


class HopLayers(Layers):
    """One channel: Linear, then (BatchNorm,) activation, Linear and so on if it has more than one layer."""

    def __init__(self, num_inputs: int, options: EncoderOptions) -> None:
        super().__init__(num_inputs, options)
        self.start_glorot()

    def _first_layer(self, inputs: Inputs, generator: torch.Generator | None) -> Tensor:
        r"""$M^k X W + b$, in the order that `Hop` has. A row that is all zero stays zero: it says nothing about its node.

        Dropout leaves out feature columns, the same ones for all nodes, because that commutes with averaging.
        """
        layer, (hop,) = self.weights[0], inputs.hops
        assert isinstance(layer, nn.Linear)
        weight = layer.weight
        if generator is not None and self.dropout > 0:
            weight = weight * dropped(torch.ones_like(weight[0]), self.dropout, generator)
        h = product(weight, hop.first)
        if hop.matrix is not None:
            for _ in range(hop.power):
                h = wide_spmm(hop.matrix, h)
        h = h if hop.rows is None else h[hop.rows]
        return torch.where(hop.present[:, None], h + layer.bias, 0.0)


class HopGCN(GCN):
    """One channel: a GCN. Its layers run over the whole graph, so a batch saves nothing here."""

    def _encode(self, inputs: Inputs, generator: torch.Generator | None) -> Tensor:
        (hop,) = inputs.hops
        h = super()._encode(inputs, generator)
        h = h if hop.rows is None else h[hop.rows]
        return torch.where(hop.present[:, None], h, 0.0)


def _channel(name: str, num_inputs: int, options: EncoderOptions) -> HopLayers | HopGCN:
    own = dataclasses.replace(options, layers=channel_layers(name, options))
    return HopGCN(num_inputs, own) if parse_channel(name).matrix == "G" else HopLayers(num_inputs, own)


class Hops(Encoder):
    """Channels side by side. O(|E| d) a pass over a whole graph, O(1) in the size of the graph for a batch of stored rows."""

    mean: Tensor
    components: Tensor

    @classmethod
    def reach(cls, options: EncoderOptions) -> int:
        return max(parse_channel(name).power for name in options.channels)

    @classmethod
    def smallest_dim(cls, options: EncoderOptions) -> int:
        return len(options.channels)

    @classmethod
    def unshareable(cls, options: EncoderOptions) -> str | None:
        # Each of these draws a number for every row, and so would depend on who has which rows.
        if options.dropout > 0:
            return f"dropout is {options.dropout}, which is drawn for each row, but ranks have different rows; set it to 0"
        if options.activation == "rrelu":
            return "activation is rrelu, which draws slopes for each row, but ranks have different rows; take prelu or elu"
        return None

    @classmethod
    def unstreamable(cls, options: EncoderOptions) -> str | None:
        for name in ("batch_norm", "pca"):
            if getattr(options, name):
                return f"{name} needs the rows of all nodes at once, but those of a graph folder stay on disk; leave it out"
        if any(parse_channel(name).matrix == "G" for name in options.channels):
            return "a channel that is a GCN reads the whole graph, but a graph folder stays on disk; take S2X or B2X"
        return None

    @classmethod
    def columns_on_disk(cls, num_features: int, options: EncoderOptions, *, scaled: bool) -> tuple[int, str]:
        """A channel of k steps is computed from that of k - 1, and X is stored where it is not read as it is."""
        channels = map(parse_channel, options.channels)
        files = {(channel.matrix, power) for channel in channels for power in range(1, channel.power + 1)}
        made = scaled or options.fourier > 0 or options.projected > 0
        return (len(files) + made) * columns_read(num_features, options), "channels"

    @classmethod
    def reads_sparse_rows(cls, options: EncoderOptions) -> bool:
        return options.projected > 0

    def __init__(self, num_inputs: int, options: EncoderOptions) -> None:
        super().__init__()
        self.names, self.self_loops = options.channels, options.self_loops
        if options.fourier and options.projected:
            raise ValueError(
                f"fourier is {options.fourier} and projected is {options.projected}; one widens narrow tables, the other "
                "narrows wide sparse features: set one of them to 0"
            )
        self.widen = FourierColumns(num_inputs, options.fourier) if options.fourier else None
        self.narrow = SparseProjection(num_inputs, options.projected) if options.projected else None
        num_inputs = columns_read(num_inputs, options)
        widths = channel_widths(num_inputs, options)
        self.channels = nn.ModuleList(
            _channel(name, num_inputs, dataclasses.replace(options, dim=width))
            for name, width in zip(self.names, widths, strict=True)
        )
        self.pca = min(options.pca, sum(widths))
        if self.pca:
            self.register_buffer("mean", torch.zeros(sum(widths)))
            self.register_buffer("components", torch.zeros(sum(widths), self.pca))

    @property
    def columns(self) -> ColumnMap | None:
        """Transforms X before the hops; None for identity."""
        return self.widen or self.narrow

    def inputs(self, graph: Graph, *, constant: bool = True, like: Inputs | None = None) -> Inputs:  # noqa: ARG002
        """One `Hop` a channel: stored if it serves many steps, is not too large, and makes a step cheaper.

        Those of a graph on disk are stored in files.
        """
        if graph.on_disk is not None:
            return self.reading(graph)
        loops = {"S": 1.0, "B": 0.0, "G": self.self_loops}
        matrices = {
            kind: propagation(graph, loops[kind]) for kind in {parse_channel(name).matrix for name in self.names} - {""}
        }
        with torch.no_grad():
            x = graph.x if self.columns is None else self.columns(graph.x)
        first = readable(x)
        stored = dict.fromkeys(matrices, (0, x))  # the highest power of each matrix so far: the next starts from it
        hops = {}
        for channel in sorted({parse_channel(name) for name in self.names}, key=lambda channel: channel.power):
            kind, power = channel
            matrix = matrices.get(kind)
            present = _present(graph.x, matrix, power)
            if matrix is None or kind == "G" or not constant or not _storing_pays(matrix, x, power):
                hops[channel] = Hop(first, present, matrix, power)
            else:
                reached, rows = stored[kind]
                stored[kind] = power, _stored(matrix, rows, power - reached)
                hops[channel] = Hop(readable(stored[kind][1]), present)
        return Inputs(first, hops=tuple(hops[parse_channel(name)] for name in self.names))

    def reading(self, graph: Graph, team: Team = ALONE) -> Inputs:
        """The hops of a graph on disk are stored in files, which a team computes together."""
        if (mapped := graph.on_disk) is None:
            return self.inputs(graph)
        hops = tuple(Hop(*channel_rows(mapped, *parse_channel(name), self.columns, team)) for name in self.names)
        return Inputs(hops[0].first, hops=hops)

    def take(self, inputs: Inputs, rows: Int[Tensor, " b"], /, *_: Any) -> Inputs:
        """The hops of some nodes, on the device of the weights."""
        device = next(self.parameters()).device
        return dataclasses.replace(inputs, hops=tuple(hop.take(rows, device) for hop in inputs.hops))

    def parts(self, inputs: Inputs, generator: torch.Generator | None = None) -> tuple[Float[Tensor, "n _"], ...]:
        """The outputs of each channel, not normalised."""
        return tuple(
            channel(Inputs(hop.first, hop.matrix, hops=(hop,)), generator)
            for channel, hop in zip(self.channels, inputs.hops, strict=True)
        )

    def forward(self, inputs: Inputs, generator: torch.Generator | None = None) -> Float[Tensor, "n d"]:
        """The channels' unit rows side by side and, after training, their first principal components if `pca` asks for it."""
        z = self._unit_rows(inputs, generator)
        return (z - self.mean) @ self.components if self.pca and not self.training else z

    def _unit_rows(self, inputs: Inputs, generator: torch.Generator | None = None) -> Float[Tensor, "n d"]:
        return torch.cat([nn.functional.normalize(part, dim=1) for part in self.parts(inputs, generator)], dim=1)

    def refresh_rows(self, graph: Graph) -> None:
        """`refresh_statistics` over all nodes; where there are none to refresh, the hops of all nodes are not computed."""
        if self.pca or any(isinstance(module, nn.BatchNorm1d) for module in self.modules()):
            super().refresh_rows(graph)

    @torch.no_grad()
    def refresh_statistics(self, inputs: Inputs) -> None:
        """Recomputes batch-norm statistics and principal components."""
        for channel, hop in zip(self.channels, inputs.hops, strict=True):
            assert isinstance(channel, HopLayers | HopGCN)
            channel.refresh_statistics(Inputs(hop.first, hop.matrix, hops=(hop,)))
        if self.pca:
            self.eval()
            z = self._unit_rows(inputs).double()
            self.mean.copy_(z.mean(dim=0))
            _, vectors = torch.linalg.eigh(torch.cov(z.T, correction=0))  # eigenvalues ascend
            self.components.copy_(vectors.flip(1)[:, : self.pca])
        self.train()


def _present(x: Tensor, matrix: SparseMatrix | None, power: int) -> Bool[Tensor, " n"]:
    """Rows of $M^k X$ with an entry, whatever its value: both orders of work have to agree on them."""
    present = x.crow_indices().diff() > 0 if x.layout == torch.sparse_csr else (x != 0).any(dim=1)
    if matrix is None:
        return present
    reached = present.float()[:, None]
    for _ in range(power):
        reached = (spmm(matrix, reached) > 0).float()
    return reached[:, 0] > 0


def _stored(matrix: SparseMatrix, x: Tensor, power: int) -> Tensor:
    for _ in range(power):
        x = average_once(matrix, x)
        # As soon as it fills up, a dense product is faster and takes less memory.
        x = x if stays_sparse(x) else x.to_dense()
    return x


def _storing_pays(matrix: SparseMatrix, x: Tensor, power: int) -> bool:
    r"""True if a step over the stored rows of $M^k X$ does less work than one over X and then k products with M.

    The number of entries is estimated: each row of a product has a random subset of the columns, as large as the rows it adds.
    """
    n, f = x.shape
    if x.layout != torch.sparse_csr:
        return 4 * n * f <= STORED_BYTES
    edges = matrix.csr.values().numel()
    ones = SparseMatrix(
        csr_tensor(matrix.csr.crow_indices(), matrix.csr.col_indices(), torch.ones_like(matrix.csr.values()), (n, n))
    )
    counts = x.crow_indices().diff().float()[:, None]
    for _ in range(power):
        added = spmm(ones, counts)
        counts = f * -torch.expm1(-added / f)
    entries = float(counts.sum())
    sparse = sparse_enough(entries / (n * f))
    work = entries if sparse else n * f * _DENSE_SPEED
    bytes_ = 12 * entries if sparse else 4 * n * f
    before = x.values().numel() if stays_sparse(x) else n * f * _DENSE_SPEED
    return bytes_ <= STORED_BYTES and work <= before + power * edges
