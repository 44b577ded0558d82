r"""Encoders over a graph in blocks of rows, for graphs larger than memory: hops in files, and layers one after the other.

**Hops.** The rows of $M^k X$ are computed once and mapped. A file is named after what it was made of: graph, scaling,
statistics, column map and channel. It appears whole or not at all, so a run that is stopped goes on with the files that are
there. Several processes may compute a file together.

**Layers.** The outputs of a layer are all computed before the next layer starts, because a node averages over any others. They
are held in a file without a name, in the cache of a graph that is mapped from a folder, and in memory otherwise. Products with
weights run where the weights are, averages over neighbours on the CPU. Results equal those of `Layers.forward` up to rounding.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from localgcl.graph import Graph
from localgcl.graph.csr import as_features
from localgcl.graph.mapped import MappedGraph, blocks, shared_rows
from localgcl.graph.stored import FolderError
from localgcl.io.numpy_files import write_rows
from localgcl.nn.columns import ColumnMap
from localgcl.nn.layers import Layers, linear, product, readable
from localgcl.ops.propagation import Averages, Numbers
from localgcl.system.team import ALONE, Team


class Rows(NamedTuple):
    """The rows of a channel, mapped, and which of them are not all zero."""

    values: Float[Tensor, "n f"]
    present: Bool[Tensor, " n"]


def channel_rows(graph: MappedGraph, matrix: str, power: int, columns: ColumnMap | None, team: Team = ALONE) -> Rows:
    """The rows of $M^k X$. They are computed on first use, from those of $M^{k-1} X$, by all processes of `team`."""
    key = _key(graph, columns)
    path = graph.cache / f"{key}-{matrix}{power}X.npy" if power else graph.cache / f"{key}-X.npy"
    if power == 0 and graph.scaling == "raw" and columns is None:
        assert graph.folder is not None
        return _open(graph.folder / "x.npy", graph.cache / f"{key}-X.present.npy", graph, team)
    if not _is_there(path, team):
        compute = _features(graph, columns) if power == 0 else _averages(graph, matrix, power, columns, team)
        width = graph.num_features if columns is None else columns.width
        _write(path, (graph.num_nodes, width), "float32", compute, team)
    return _open(path, path.with_suffix(".present.npy"), graph, team)


def _write(path: Path, shape: tuple[int, ...], kind: str, compute: Callable[[range], Numbers], team: Team) -> None:
    """Writes the rows that `compute` gives, each process its share of the blocks: the bytes do not depend on the team."""
    rows = shared_rows(shape[0], team)
    write_rows(path, shape, kind, rows, map(compute, blocks(rows)), team)


def _is_there(path: Path, team: Team) -> bool:
    """Whether the first process sees the file; if not, it makes the folder.

    The others do not look: a network file system would remember for seconds that there was none.
    """
    there = team.rank == 0 and path.is_file()
    if team.rank == 0 and not there:
        path.parent.mkdir(parents=True, exist_ok=True)
    return team.broadcast(there)


def _features(graph: MappedGraph, columns: ColumnMap | None) -> Callable[[range], Numbers]:
    def compute(rows: range) -> Numbers:
        x = graph.features(rows)
        return (x if columns is None else columns(x.to(next(columns.buffers()).device))).detach().cpu().numpy()

    return compute


def _averages(graph: MappedGraph, matrix: str, power: int, columns: ColumnMap | None, team: Team) -> Callable[[range], Numbers]:
    before = channel_rows(graph, matrix if power > 1 else "", power - 1, columns, team).values.numpy()
    averages = Averages.of(graph, float(matrix == "S"))
    return lambda rows: averages.product(before, rows)


def _open(path: Path, marks: Path, graph: MappedGraph, team: Team) -> Rows:
    values = as_features(_array(path, graph.num_nodes, mode="r"), copy=True)  # read-only, so nothing is copied
    if not _is_there(marks, team):

        def present(rows: range) -> Numbers:
            # Fourier columns come after those of X, and are never all zero.
            own: Numbers = (values[rows.start : rows.stop, : graph.num_features] != 0).any(dim=1).numpy()
            return own

        _write(marks, (graph.num_nodes,), "bool", present, team)
    return Rows(values, torch.from_numpy(_array(marks, graph.num_nodes)))


def _array(path: Path, num_rows: int, mode: Literal["r"] | None = None) -> Numbers:
    """An array with a row for each node; FolderError if the file was damaged after it was written."""
    try:
        array: Numbers = np.load(path, mmap_mode=mode, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise FolderError(f"{path} cannot be read; delete it, and it is computed again") from error
    if len(array) != num_rows:
        raise FolderError(f"{path} has {len(array)} rows for {num_rows} nodes; delete it, and it is computed again")
    return array


def _key(graph: MappedGraph, columns: ColumnMap | None) -> str:
    digest = hashlib.sha256(graph.fingerprint.encode())
    if columns is not None:
        for part in columns.buffers():
            digest.update(part.cpu().numpy().tobytes())
    return digest.hexdigest()[:16]


Outputs = Callable[[range], Float[Tensor, "b d"]]
"""Gives a block of a layer's rows, on the device of the weights."""


def layerwise(encoder: Layers, graph: Graph, self_loops: float | None, rows: range) -> Iterator[Float[Tensor, "b d"]]:
    """Embeddings of a range of nodes, a block of rows at a time, in order.

    Args:
        encoder: In evaluation mode.
        graph: The prepared graph, in memory or mapped.
        self_loops: Weight of a node itself in the averages of each layer; None for layers that average nothing.
        rows: The nodes; of layers before the last, all rows are computed.
    """
    with torch.no_grad():
        *_, (last, depth) = _layers(encoder, graph, self_loops)
    for block in blocks(rows):
        with torch.no_grad():  # not while the caller has the block
            z = encoder.activated(last(block), depth)
        yield z


@torch.no_grad()
def refresh_layerwise(encoder: Layers, graph: Graph, self_loops: float | None) -> None:
    """Recomputes the batch-norm statistics over all nodes, as `Layers.refresh_statistics` does on a graph in memory."""
    if encoder.norms is None:
        return
    encoder.eval()
    n = graph.num_nodes
    before: nn.BatchNorm1d | None = None
    for rows, depth in _layers(encoder, graph, self_loops):
        _correct(before, n)
        if depth == len(encoder.norms):
            break
        before = encoder.norms[depth]  # type: ignore[assignment]  # a ModuleList holds modules
        assert isinstance(before, nn.BatchNorm1d)
        mean, variance = _moments(rows, n)
        # The variance of a training pass divides by n: with it the next layers see what they see there.
        before.reset_running_stats()
        before.momentum = None
        assert before.running_mean is not None
        assert before.running_var is not None
        assert before.num_batches_tracked is not None
        before.running_mean.copy_(mean)
        before.running_var.copy_(variance)
        before.num_batches_tracked.fill_(1)
    else:
        _correct(before, n)
    encoder.train()


def _correct(norm: nn.BatchNorm1d | None, n: int) -> None:
    """The variance that batch normalisation stores divides by n - 1."""
    if norm is not None and norm.running_var is not None:
        norm.running_var.mul_(n / max(n - 1, 1))


def _moments(rows: Outputs, n: int) -> tuple[Float[Tensor, " d"], Float[Tensor, " d"]]:
    """Mean and variance of all columns, summed in double precision."""
    total: Tensor | None = None
    for block in blocks(n):
        h = rows(block).double()
        part = torch.stack([h.sum(dim=0), h.square().sum(dim=0)])
        total = part if total is None else total + part
    assert total is not None
    mean, square = total / n
    return mean, (square - mean.square()).clamp(min=0)


def _layers(encoder: Layers, graph: Graph, self_loops: float | None) -> Iterator[tuple[Outputs, int]]:
    """For each layer its outputs before normalisation and activation, and its number.

    They are activated and stored when the next layer is asked for.
    """
    graph = graph.to("cpu")
    averages = None if self_loops is None else Averages.of(graph, self_loops)
    before: Numbers | None = None
    for depth, layer in enumerate(encoder.weights):
        assert isinstance(layer, nn.Linear)
        rows = _outputs(encoder, layer, graph, averages, before)
        yield rows, depth
        if depth + 1 < len(encoder.weights):
            before = _stored(graph, _activations(encoder, rows, depth))


def _activations(encoder: Layers, rows: Outputs, depth: int) -> Outputs:
    return lambda block: encoder.activated(rows(block), depth)


def _outputs(encoder: Layers, layer: nn.Linear, graph: Graph, averages: Averages | None, before: Numbers | None) -> Outputs:
    """The rows of A H W + b, of which the cheaper product comes first; H is `before`, or the features."""
    device = layer.weight.device

    def read(block: range) -> Any:
        if before is None:
            return readable(graph.features(block).to(device))
        return torch.from_numpy(before[block.start : block.stop]).to(device)

    def single(compute: Callable[[], Tensor]) -> Tensor:
        with torch.autocast(device.type, torch.bfloat16, enabled=encoder.autocast):
            return compute().float()

    if averages is None:
        return lambda block: single(lambda: linear(layer, read(block)))

    def average(x: Numbers, block: range) -> Tensor:
        return torch.from_numpy(averages.product(x, block)).to(device)

    dense = before is not None or graph.x.layout == torch.strided
    if dense and layer.in_features <= layer.out_features:
        source = _all_features(graph) if before is None else before
        return lambda block: single(lambda: layer(average(source, block)))
    products = _stored(graph, lambda block: single(lambda: product(layer.weight, read(block))))
    return lambda block: average(products, block) + layer.bias


def _all_features(graph: Graph) -> Numbers:
    """Dense features of all nodes; those of a graph on disk in a file, scaled."""
    x = graph.x if graph.on_disk is None else channel_rows(graph.on_disk, "", 0, None).values
    return x.numpy()


def _stored(graph: Graph, rows: Outputs) -> Numbers:
    """All rows of a layer, in memory or in a file that vanishes with the array."""
    array: Numbers | None = None
    for block in blocks(graph.num_nodes):
        h = rows(block).cpu().numpy()
        array = _empty(graph, (graph.num_nodes, h.shape[1])) if array is None else array
        array[block.start : block.stop] = h
    assert array is not None
    return array


def _empty(graph: Graph, shape: tuple[int, int]) -> Numbers:
    if graph.on_disk is None:
        return np.empty(shape, dtype=np.float32)
    cache = graph.on_disk.cache
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=cache) as file:  # the map keeps it open
        # Writing to a map on a full disk kills the process: the space is taken here, or there is an error.
        os.posix_fallocate(file.fileno(), 0, 4 * shape[0] * shape[1])
        return np.memmap(file, dtype=np.float32, mode="r+", shape=shape)
