"""Edge weights in the estimate of memory."""

import torch

from localgcl.config import Preparation
from localgcl.datasets import sbm
from localgcl.methods import configure
from localgcl.nn.memory import FLOAT
from localgcl.training.memory import WEIGHED, Sizes, estimate


def test_weights_are_counted() -> None:
    plain = sbm(2000, features=4, splits=0)
    weighted = plain.with_edges(plain.rows, plain.indices, torch.full((plain.num_edges,), 2.0))
    sizes = [Sizes.of(graph, Preparation()) for graph in (plain, weighted)]
    assert [size.weighted for size in sizes] == [False, True]
    assert sizes[1].graph - sizes[0].graph == FLOAT * plain.num_edges
    before, after = (estimate(size, configure("local-gcl", {}), torch.device("cpu")) for size in sizes)
    assert after.preparing >= before.preparing + WEIGHED * plain.num_edges
    assert after.training >= before.training + (FLOAT + WEIGHED) * plain.num_edges
