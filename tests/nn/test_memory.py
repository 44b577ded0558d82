"""The memory of encoders: what a pass is said to keep is compared with what autograd saves."""

import dataclasses
from typing import Any

import pytest
import torch
from torch import Tensor

from localgcl.config import EncoderOptions
from localgcl.datasets import sbm
from localgcl.nn.encoders import build_encoder
from localgcl.nn.memory import encoder_memory, encoder_stacks, sparse_matrix, view_memory

GRAPH = sbm(2000, mean_degree=4, features=24, splits=0)
SIZE = (GRAPH.num_nodes, GRAPH.num_edges, GRAPH.num_features)


def saved_bytes(options: EncoderOptions) -> int:
    """Bytes that one pass leaves behind: tensors that autograd saves, and the output; inputs and weights do not count."""
    torch.manual_seed(0)
    encoder = build_encoder(GRAPH.num_features, options).train()
    inputs = encoder.inputs(GRAPH)
    known = {tensor.untyped_storage().data_ptr() for tensor in (*encoder.parameters(), *encoder.buffers(), GRAPH.x)}
    known |= {
        part.untyped_storage().data_ptr()
        for part in (inputs.first, *(hop.first for hop in inputs.hops))
        if isinstance(part, Tensor)
    }
    found: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        if tensor.layout == torch.strided and tensor.untyped_storage().data_ptr() not in known:
            found[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        outputs = encoder.parts(inputs, torch.Generator().manual_seed(0))
    for output in outputs:
        note(output.detach())
    return sum(found.values())


@pytest.mark.parametrize("encoder", ["gcn", "mlp", "hops"])
@pytest.mark.parametrize(
    "others",
    [
        {},
        {"activation": "prelu", "activate_last": True},
        {"activation": "elu", "batch_norm": True, "activate_last": True},
        {"activation": "rrelu"},
        {"layers": 4, "hidden": 70, "batch_norm": True},
        {"layers": 1},
        {"dropout": 0.3, "layers": 3},
    ],
    ids=lambda others: "-".join(map(str, others.values())) or "plain",
)
def test_a_pass_keeps_what_is_said(encoder: Any, others: dict[str, Any]) -> None:
    options = EncoderOptions(encoder=encoder, dim=60, **others)
    kept = encoder_memory(*SIZE, options).kept
    # Not counted: some masks of a byte an entry, and a number a column for statistics.
    assert saved_bytes(options) == pytest.approx(kept, rel=0.12)


def test_the_layers_of_each_encoder() -> None:
    gcn = EncoderOptions(dim=60, hidden=100, layers=3)
    assert encoder_stacks(24, gcn) == [[24, 100, 100, 60]]
    assert encoder_stacks(24, dataclasses.replace(gcn, hidden=0)) == [[24, 60, 60, 60]]
    hops = EncoderOptions(encoder="hops", dim=60, layers=2)
    assert encoder_stacks(24, hops) == [[24, 12, 12]] * 5


def test_inputs() -> None:
    n, m, f = SIZE
    features, matrix = 4 * n * f, sparse_matrix(m, n) // 2  # an undirected graph's, its own transpose
    assert encoder_memory(*SIZE, EncoderOptions(encoder="gcn")).inputs == matrix + features
    assert encoder_memory(*SIZE, EncoderOptions(encoder="gcn", dropout=0.5)).inputs == matrix  # dropout comes before averaging
    assert encoder_memory(*SIZE, EncoderOptions(encoder="mlp")).inputs == 0
    hops = EncoderOptions(encoder="hops", channels=("X", "X", "SX", "S2X", "BX"))
    assert encoder_memory(*SIZE, hops).inputs == 2 * matrix + 3 * features
    # Too large to be stored: averaged at each step, over all nodes, whatever the batch.
    large = encoder_memory(2**22, 2**23, 64, hops, rows=1000)
    assert large.inputs == sparse_matrix(2**23, 2**22)
    assert large.moving > 2**22 * 100 * 4
    assert large.kept == encoder_memory(2**12, 2**13, 64, hops, rows=1000).kept


def test_a_batch_keeps_its_rows_only() -> None:
    options = EncoderOptions(encoder="mlp", dim=60)
    whole, part = encoder_memory(*SIZE, options), encoder_memory(*SIZE, options, rows=200)
    assert (part.kept, part.moving) == (whole.kept // 10, whole.moving // 10)
    assert (part.inputs, part.alone) == (whole.inputs, whole.alone)
    assert whole.trained == whole.inputs + whole.kept + whole.moving


def test_a_view_holds_its_edges_twice_and_its_features() -> None:
    assert view_memory(10, 100, 3) == 4 * 8 * 100 + sparse_matrix(100, 10) + 4 * 10 * 3
