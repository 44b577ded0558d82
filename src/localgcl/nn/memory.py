"""Memory of an encoder, estimated from sizes alone: before anything of that size is allocated.

Counted in tensors that the code holds at its peak: single precision, 8 bytes an index. `benchmarks/memory_check.py` compares
whole runs with these numbers.
"""

from typing import NamedTuple

from localgcl.config import Activation, EncoderOptions
from localgcl.nn.hops import STORED_BYTES, channel_layers, channel_widths, columns_read, parse_channel

FLOAT, INDEX = 4, 8

# Copies of its output that an activated layer keeps for the backward: all keep the result, PReLU and ELU also their input,
# RReLU the slopes it drew and a mask.
_COPIES: dict[Activation, float] = {"relu": 1, "prelu": 2, "elu": 2, "rrelu": 2.25}
# Dropout keeps what it returns and a mask of one byte an entry.
_DROPPED = 1.25


class EncoderMemory(NamedTuple):
    """Bytes of an encoder.

    `inputs` are built once and serve all steps. A pass keeps `kept` until its backward. `moving` are the largest temporaries
    of a pass or of its backward: two copies of the widest layer. `alone` is a pass over all nodes without a backward.
    """

    inputs: int
    kept: int
    moving: int
    alone: int

    @property
    def trained(self) -> int:
        """The inputs, one pass and its backward."""
        return self.inputs + self.kept + self.moving


def encoder_memory(
    num_nodes: int, num_edges: int, num_features: int, options: EncoderOptions, rows: int | None = None
) -> EncoderMemory:
    """Bytes of an encoder; `rows` is the number of nodes that a pass reads, all when not given.

    Sparse features count as the number of dense columns that take the same memory.
    """
    rows = num_nodes if rows is None else rows
    stacks = encoder_stacks(num_features, options)
    num_features = columns_read(num_features, options)
    widest = max(width for stack in stacks for width in stack[1:])
    kept = sum(_kept(stack, options) for stack in stacks)
    # Channels that are not stored compute all rows and then take some.
    reached = rows if options.encoder != "hops" or _are_stored(num_nodes, num_features) else num_nodes
    return EncoderMemory(
        inputs=_inputs(num_nodes, num_edges, num_features, options),
        kept=round(FLOAT * rows * kept),
        moving=2 * FLOAT * reached * widest,
        # Of channels first all outputs and their unit rows, then these and the same side by side.
        alone=FLOAT * num_nodes * (4 * widest if len(stacks) == 1 else 2 * sum(stack[-1] for stack in stacks) + 2 * widest),
    )


def encoder_stacks(num_features: int, options: EncoderOptions) -> list[list[int]]:
    """Widths of the layers, the input's first: one list, or one for each channel of hops."""
    num_features = columns_read(num_features, options)
    if options.encoder != "hops":
        return [[num_features, *[options.hidden or options.dim] * (options.layers - 1), options.dim]]
    widths = zip(options.channels, channel_widths(num_features, options), strict=True)
    return [[num_features, *[options.hidden or width] * (channel_layers(name, options) - 1), width] for name, width in widths]


def sparse_matrix(num_edges: int, num_nodes: int) -> int:
    """Bytes of an averaging matrix and its transpose."""
    return 2 * (INDEX + FLOAT) * (num_edges + num_nodes)


def view_memory(num_nodes: int, num_edges: int, num_features: int) -> int:
    """Bytes of a view with edges dropped and features masked: edges in both directions, their matrix, features."""
    structure = 4 * INDEX * num_edges
    return structure + sparse_matrix(num_edges, num_nodes) + FLOAT * num_nodes * num_features


def _inputs(num_nodes: int, num_edges: int, num_features: int, options: EncoderOptions) -> int:
    # The matrix of an undirected graph is its own transpose.
    matrix, features = sparse_matrix(num_edges, num_nodes) // 2, FLOAT * num_nodes * num_features
    if options.encoder == "gcn":
        return matrix + (features if options.dropout == 0 else 0)  # with dropout nothing is averaged beforehand
    if options.encoder == "hops":
        averaged = [name for name in map(parse_channel, options.channels) if name.power]
        stored = sum(name.matrix != "G" for name in averaged) * features if _are_stored(num_nodes, num_features) else 0
        stored += features if options.fourier or options.projected else 0  # X is widened, or projected, by a copy
        return len({name.matrix for name in averaged}) * matrix + stored
    return 0


def _are_stored(num_nodes: int, num_features: int) -> bool:
    return FLOAT * num_nodes * num_features <= STORED_BYTES


def _kept(stack: list[int], options: EncoderOptions) -> float:
    """Numbers a row that layers of these widths keep for the backward."""
    activated = _COPIES[options.activation] + options.batch_norm
    total = sum(activated * width for width in stack[1:-1]) + (activated if options.activate_last else 1) * stack[-1]
    if options.dropout > 0:
        # In the first layer of hops dropout changes the weights and not their input.
        total += _DROPPED * sum(stack[options.encoder == "hops" : -1])
    return total
