"""The plain expressions compute what the formulas say; a benchmark against wrong ones would mean nothing."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from scipy.linalg import hadamard as scipy_hadamard
from torch import Tensor

from localgcl.ops.propagation import propagation
from paper.bench import plain
from tests.losses.problems import CLOSE, directions, seeded, with_gradient
from tests.references import local as reference
from tests.references.graphs import messy_graph, random_rows

TAU = 0.8
TRANSFORMS = [plain.dense_hadamard, plain.kronecker_hadamard, plain.butterfly_hadamard]


def agree(plain: Callable[[Tensor], Tensor], formula: Callable[[Tensor], Tensor], z: Tensor) -> None:
    """The same value and the same gradient."""
    value, grad = with_gradient(plain, z)
    expected, expected_grad = with_gradient(formula, z)
    torch.testing.assert_close(value, expected, **CLOSE)
    torch.testing.assert_close(grad, expected_grad, **CLOSE)


@pytest.mark.parametrize("d", [1, 2, 8, 32])
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_transforms_equal_scipy(transform: plain.Hadamard, d: int) -> None:
    x = random_rows(6, d).reshape(2, 3, d)
    expected = x @ torch.from_numpy(scipy_hadamard(d)).double() / d**0.5
    torch.testing.assert_close(transform(x), expected, **CLOSE)


def test_dense_rff() -> None:
    frequencies, z = random_rows(5, 300, seed=1) / TAU**0.5, directions(9, 5)
    agree(
        lambda u: plain.kernel_negative(plain.rff(u, frequencies), TAU),
        lambda u: reference.negative_kernel(reference.rff(u, frequencies), 0.0, 1 / TAU),
        z,
    )


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_sorf(transform: plain.Hadamard) -> None:
    """Against the frequencies written out: d = 5 is padded to 8, and 3 blocks of 8 are cut to 20."""
    signs = 2.0 * torch.randint(2, (3, 3, 8), generator=seeded(0)).double() - 1
    h = torch.from_numpy(scipy_hadamard(8)).double() / 8**0.5
    blocks = [(8 / TAU) ** 0.5 * h @ signs[2, b].diag() @ h @ signs[1, b].diag() @ h @ signs[0, b].diag() for b in range(3)]
    frequencies = torch.cat(blocks)[:20, :5].T
    agree(
        lambda u: plain.kernel_negative(plain.sorf(u, signs, 20, TAU, transform), TAU),
        lambda u: reference.negative_kernel(reference.rff(u, frequencies), 0.0, 1 / TAU),
        directions(9, 5),
    )


@pytest.mark.parametrize("rows", [1, 4, 100])
def test_exact(rows: int) -> None:
    z = directions(9, 5)
    agree(lambda u: plain.dense_negative(u, TAU), lambda u: reference.negative_exact(u, TAU), z)
    agree(lambda u: plain.checkpointed_negative(u, TAU, rows), lambda u: reference.negative_exact(u, TAU), z)


@pytest.mark.parametrize("positives", ["mean", "max", "weighted"])
def test_gathered_positives(positives: str) -> None:
    graph = messy_graph().without_loops()
    formulas: dict[str, Any] = {
        "mean": reference.positive_mean,
        "max": reference.positive_max,
        "weighted": reference.positive_weighted,
    }
    agree(
        lambda u: plain.gathered_positive(u, graph.rows, graph.indices, TAU, positives),
        lambda u: formulas[positives](u, reference.adjacency(graph), TAU),
        directions(graph.num_nodes, 4),
    )


@pytest.mark.parametrize("sparse", [False, True])
def test_gcn(sparse: bool) -> None:
    graph = messy_graph()
    dense = propagation(graph).csr.to_dense().double()
    weights = [random_rows(5, 4, seed=1), random_rows(3, 5, seed=2)]
    biases = [random_rows(1, 5, seed=3)[0], random_rows(1, 3, seed=4)[0]]
    x = random_rows(graph.num_nodes, 4)
    out = plain.sparse_gcn(x.to_sparse() if sparse else x, dense.to_sparse(), weights, biases)
    expected = dense @ (dense @ x @ weights[0].T + biases[0]).relu() @ weights[1].T + biases[1]
    torch.testing.assert_close(out, expected, **CLOSE)
