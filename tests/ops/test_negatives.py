"""exact_log_sums and kernel_log_sums against the dense formulas, and what they may hold in memory."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from localgcl.nn.features import MAPS, Draw
from localgcl.ops import exact_log_sums, kernel_log_sums, kernel_node_log_sums
from localgcl.ops.negatives import LogSums
from tests.references import local as reference
from tests.references.graphs import random_rows

N, DIM, TAU = 23, 6, 0.5


def _identity(vector: Tensor) -> Tensor:
    return vector


def _problem(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """Unit rows, two of them dead."""
    z = random_rows(N, DIM)
    z = z / z.norm(dim=1, keepdim=True)
    alive = torch.ones(N, dtype=torch.bool)
    alive[[3, N - 1]] = False
    return torch.where(alive[:, None], z, 0.0).to(dtype), alive


def _draw(name: str, dtype: torch.dtype = torch.float64, num_features: int = 256, tau: float = TAU) -> Draw:
    return MAPS[name](num_features).draw(DIM, tau, generator=torch.Generator().manual_seed(5), dtype=dtype)


def _dense_kernel(z: Tensor, alive: Tensor, draw: Draw, tau: float = TAU) -> Tensor:
    return reference.negative_kernel(draw.psi(z[alive]), reference.kernel_floor(int(alive.sum()), tau), offset=0.0)


def _relative(a: Tensor, b: Tensor) -> float:
    return float(((a.double() - b.double()).norm() / b.double().norm()).detach())


def _exact(z: Tensor, alive: Tensor, chunk: int | None) -> LogSums:
    total = exact_log_sums(z, alive, TAU, backend="torch", chunk=chunk).sum()
    return LogSums(total, torch.tensor(0), torch.tensor(len(z)))


Pair = tuple[Callable[[Tensor, int | None], LogSums], Callable[[Tensor], Tensor]]


def _pair(name: str, alive: Tensor, dtype: torch.dtype) -> Pair:
    """The function under test, and its reference in float64."""
    if name == "exact":
        return lambda z, chunk: _exact(z, alive, chunk), lambda z: reference.negative_exact(z[alive], TAU)
    draw, wide = _draw(name, dtype), _draw(name)
    return (
        lambda z, chunk: kernel_log_sums(z, alive, draw, _identity, backend="torch", chunk=chunk),
        lambda z: _dense_kernel(z, alive, wide),
    )


TERMS = ["exact", *MAPS]


@pytest.mark.parametrize("chunk", [1, 7, N, None])
@pytest.mark.parametrize("name", TERMS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_value_and_gradient_equal_dense(name: str, chunk: int | None, dtype: torch.dtype) -> None:
    z, alive = _problem(dtype)
    term, dense = _pair(name, alive, dtype)
    z.requires_grad_()
    wide = z.detach().double().requires_grad_()
    sums, expected = term(z, chunk), dense(wide)
    # The project's promise in single precision; in double only the order of additions differs.
    tolerance = 1e-5 if dtype == torch.float32 else 1e-12
    assert sums.total.dtype == dtype
    assert _relative(sums.total, expected) < tolerance
    # The loss is one summand of several, so gradients arrive scaled.
    (grad,) = torch.autograd.grad(3 * sums.total, z)
    (expected_grad,) = torch.autograd.grad(3 * expected, wide)
    assert _relative(grad, expected_grad) < tolerance
    assert int(sums.num_nodes) == N
    assert int(sums.clamped) == 0


@pytest.mark.parametrize("name", TERMS)
def test_gradcheck(name: str) -> None:
    z, alive = _problem()
    term, _ = _pair(name, alive[:9], torch.float64)
    assert torch.autograd.gradcheck(lambda z: term(z, 4).total, z[:9].clone().requires_grad_())


@pytest.mark.parametrize("name", TERMS)
def test_dead_rows_count_for_nothing(name: str) -> None:
    z, alive = _problem()
    term, _ = _pair(name, alive, torch.float64)
    z.requires_grad_()
    total = term(z, 7).total
    (grad,) = torch.autograd.grad(total, z)
    assert (grad[~alive] == 0).all()
    assert (grad[alive] != 0).any(dim=1).all()
    without, _ = _pair(name, alive[alive], torch.float64)
    # Only the chunk boundaries move when dead rows are taken out.
    torch.testing.assert_close(total, without(z[alive], 7).total, rtol=1e-12, atol=0)


@pytest.mark.parametrize("name", TERMS)
def test_nobody_alive(name: str) -> None:
    z, alive = torch.zeros(5, DIM, dtype=torch.float64, requires_grad=True), torch.zeros(5, dtype=torch.bool)
    term, _ = _pair(name, alive, torch.float64)
    sums = term(z, 2)
    (grad,) = torch.autograd.grad(sums.total, z)
    assert sums.total.item() == 0
    assert (grad == 0).all()


@pytest.mark.parametrize("name", TERMS)
def test_twice_the_same_to_the_bit(name: str) -> None:
    z, alive = _problem(torch.float32)
    results = []
    for _ in range(2):
        term, _dense = _pair(name, alive, torch.float32)  # draws anew from the same seed
        leaf = z.clone().requires_grad_()
        total = term(leaf, 7).total
        results.append((total, *torch.autograd.grad(total, leaf)))
    assert torch.equal(results[0][0], results[1][0])
    assert torch.equal(results[0][1], results[1][1])


@pytest.mark.parametrize("chunk", [1, 7, N])
def test_without_self(chunk: int) -> None:
    """The diagonal is left out, whatever the chunks; each row's sum has its own upstream gradient."""
    z, alive = _problem()
    z.requires_grad_()
    logits = (z @ z.T / TAU).masked_fill(~alive, -torch.inf).fill_diagonal_(-torch.inf)
    expected = torch.where(alive, logits.logsumexp(1), 0.0)
    sums = exact_log_sums(z, alive, TAU, include_self=False, chunk=chunk)
    torch.testing.assert_close(sums, expected, rtol=1e-12, atol=0)
    weights = torch.linspace(-1, 2, N, dtype=torch.float64)
    (grad,) = torch.autograd.grad(sums @ weights, z)
    torch.testing.assert_close(grad, torch.autograd.grad(expected @ weights, z)[0], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize(("name", "dtype"), [*((name, torch.float64) for name in MAPS), ("sorf", torch.float32)])
def test_each_node_has_its_own_sum(name: str, dtype: torch.dtype, include_self: bool) -> None:
    """Values and gradients of each node, under weights of its own; in single precision SORF takes the fused kernel."""
    tau = 2.0  # where positive features, too, have a self term near enough to 1
    z, alive = _problem(dtype)
    z.requires_grad_()
    wide = z.detach().double().requires_grad_()
    psi = _draw(name, tau=tau).psi(wide)[alive]
    expected = (psi @ psi.sum(0) - int(not include_self)).log()
    found = kernel_node_log_sums(z, alive, _draw(name, dtype, tau=tau), _identity, include_self=include_self)
    tolerance = 1e-5 if dtype == torch.float32 else 1e-12
    assert _relative(found.logs[alive], expected) < tolerance
    assert (found.logs[~alive] == 0).all()
    assert int(found.clamped) == 0
    assert int(found.num_nodes) == N
    weights = torch.linspace(-1, 2, N, dtype=torch.float64)
    (grad,) = torch.autograd.grad(found.logs @ weights.to(dtype), z)
    (expected_grad,) = torch.autograd.grad(expected @ weights[alive], wide)
    assert _relative(grad, expected_grad) < 5 * tolerance  # the weights' signs cancel part of the sum


def test_clamped_rows() -> None:
    """Below the floor the value is log(floor), the row is counted, and it sends nothing back, also not through S."""
    z, alive = _problem()
    draw = _draw("rff", num_features=4, tau=0.1)
    u = z[alive].clone().requires_grad_()
    psi = draw.psi(u)
    low = psi @ psi.sum(0) < reference.kernel_floor(len(u), 0.1)
    assert 0 < int(low.sum()) < len(u)
    expected = _dense_kernel(z, alive, draw, 0.1)
    z.requires_grad_()
    sums = kernel_log_sums(z, alive, draw, _identity, backend="torch", chunk=7)
    assert int(sums.clamped) == int(low.sum())
    torch.testing.assert_close(sums.total, expected, rtol=1e-12, atol=0)
    (grad,) = torch.autograd.grad(sums.total, z)
    kept = (psi[~low] @ psi.sum(0)).log().sum()
    torch.testing.assert_close(grad[alive], torch.autograd.grad(kept, u)[0], rtol=1e-10, atol=1e-12)


class _LargestBlock(TorchDispatchMode):
    """Records the largest storage, in numbers, that any operation hands out (a view counts as what it is a view of)."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        self.numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(out):
            if isinstance(leaf, Tensor) and leaf.layout == torch.strided:
                self.numbers = max(self.numbers, leaf.untyped_storage().nbytes() // leaf.element_size())
        return out


@pytest.mark.parametrize("name", TERMS)
def test_only_one_chunk_exists_at_a_time(name: str) -> None:
    n, width, chunk = 600, 512, 16
    z = torch.nn.functional.normalize(random_rows(n, DIM, dtype=torch.float32), dim=1).requires_grad_()
    alive = torch.ones(n, dtype=torch.bool)
    draw = None if name == "exact" else _draw(name, torch.float32, width if name == "positive" else width // 2)
    with _LargestBlock() as largest:
        if draw is None:
            total = exact_log_sums(z, alive, TAU, chunk=chunk).sum()
        else:
            total = kernel_log_sums(z, alive, draw, _identity, backend="torch", chunk=chunk).total
        total.backward()
    assert z.grad is not None
    # One block of chunk x n logits or chunk x width features (SORF's transforms hold a few columns more, up to d').
    assert largest.numbers <= chunk * (n if draw is None else width)
    assert largest.numbers > n * DIM  # or the recorder saw nothing
    assert chunk * max(n, width) * 16 < n * min(n, width)  # far below N x N and N x 2D


def test_default_chunks_keep_blocks_small() -> None:
    """Without `chunk`, a block holds about two million numbers however many nodes there are."""
    n, num_features = 3000, 1024
    z = torch.nn.functional.normalize(random_rows(n, DIM, dtype=torch.float32), dim=1).requires_grad_()
    alive, draw = torch.ones(n, dtype=torch.bool), _draw("rff", torch.float32, num_features)
    with _LargestBlock() as largest:
        kernel_log_sums(z, alive, draw, _identity).total.backward()
    assert largest.numbers <= 2**21 < n * 2 * num_features
    with _LargestBlock() as largest:
        exact_log_sums(z, alive, TAU).sum().backward()
    assert largest.numbers <= 2**21 < n * n


@pytest.mark.parametrize("name", ["sorf", "orf", "rff"])
@pytest.mark.parametrize("size", [(1, 3, 50), (41, 100, 3000), (41, 3, 50), (8193, 640, 50)])
def test_whatever_backend_is_chosen_at_odd_sizes(name: str, size: tuple[int, int, int]) -> None:
    n, d, num_features = size
    z = torch.nn.functional.normalize(random_rows(n, d, dtype=torch.float32) + 1.0, dim=1).requires_grad_()
    alive = torch.ones(n, dtype=torch.bool)
    draws = [
        MAPS[name](num_features).draw(d, TAU, generator=torch.Generator().manual_seed(5), dtype=dtype)
        for dtype in (torch.float32, torch.float64)
    ]
    sums = kernel_log_sums(z, alive, draws[0], _identity)
    (grad,) = torch.autograd.grad(0.1 * sums.total, z)
    wide = z.detach().double().requires_grad_()
    expected = reference.negative_kernel(draws[1].psi(wide), reference.kernel_floor(n, TAU), offset=0.0)
    (expected_grad,) = torch.autograd.grad(0.1 * expected, wide)
    if n == 1:  # log 1, on the floor: nothing to pull at
        assert float(sums.total.detach()) == pytest.approx(0.0, abs=1e-5)
        return
    assert _relative(sums.total, expected) < 1e-5
    assert _relative(grad, expected_grad) < 1e-5
