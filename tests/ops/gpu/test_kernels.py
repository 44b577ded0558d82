"""The fused kernels against the dense formulas in float64: on a GPU where there is one, else in Triton's interpreter."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

pytest.importorskip("triton", reason="the fused kernels need triton")

from localgcl.graph import Graph
from localgcl.losses import positive_term
from localgcl.nn.features import MAPS, Draw
from localgcl.ops import exact_log_sums, kernel_log_sums
from localgcl.ops.gpu import edges, pairs
from tests.references import local as reference
from tests.references.graphs import random_rows

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TAU = 0.5
# Tiles of 16 to 128 rows, transforms of one and of two factors, sizes that fill none of them.
SIZES = [(1, 16, 8), (41, 48, 50), (41, 100, 300), (9, 640, 50), (20, 256, 600), (5, 1024, 1500)]
LARGE = [(8193, 640, 3000), (8193, 100, 50), (1000, 4096, 5000)] if DEVICE == "cuda" else []  # too slow for the interpreter
CASES = [(name, size) for size in [*SIZES, *LARGE] for name in ("sorf", "orf", "rff")]
if DEVICE == "cpu":  # orf and rff are one kernel, whose time is that of the frequencies' size
    CASES.remove(("orf", SIZES[-1]))
# Products in single precision, or rounded to 11 bits as TF32 does; the promise for each, in relative norm.
PRECISIONS = {"highest": 1e-5, "high": 2e-3}


@pytest.fixture(params=list(PRECISIONS))
def tolerance(request: pytest.FixtureRequest) -> Iterator[float]:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(request.param)
    yield PRECISIONS[request.param]
    torch.set_float32_matmul_precision(before)


def _identity(vector: Tensor) -> Tensor:
    return vector


def _problem(n: int, d: int) -> tuple[Tensor, Tensor]:
    """Unit rows close enough to each other that kernel sums are far from zero; one of them dead where there are several."""
    z = torch.nn.functional.normalize(random_rows(n, d, dtype=torch.float32) + 0.5, dim=1)
    alive = torch.ones(n, dtype=torch.bool)
    if n > 2:
        alive[2] = False
    return torch.where(alive[:, None], z, 0.0).to(DEVICE), alive.to(DEVICE)


def _draws(name: str, d: int, num_features: int, tau: float = TAU) -> tuple[Draw, Draw]:
    """The same frequencies in single and in double precision."""

    def draw(dtype: torch.dtype) -> Draw:
        return MAPS[name](num_features).draw(d, tau, generator=torch.Generator().manual_seed(5), device=DEVICE, dtype=dtype)

    return draw(torch.float32), draw(torch.float64)


def _relative(a: Tensor, b: Tensor) -> float:
    return float(((a.double() - b.double()).norm() / b.double().norm()).detach())


def _value_and_gradient(function: Callable[[Tensor], Tensor], z: Tensor, scale: float = 3.0) -> tuple[Tensor, Tensor]:
    leaf = z.detach().clone().requires_grad_()
    value = function(leaf)
    (grad,) = torch.autograd.grad(scale * value, leaf)  # the loss is one summand of several: gradients arrive scaled
    return value, grad


@pytest.mark.parametrize(("name", "size"), CASES)
def test_kernelised(name: str, size: tuple[int, int, int], tolerance: float) -> None:
    n, d, num_features = size
    z, alive = _problem(n, d)
    draw, wide = _draws(name, d, num_features)

    def dense(z: Tensor) -> Tensor:
        floor = reference.kernel_floor(int(alive.sum()), TAU)
        return reference.negative_kernel(wide.psi(z[alive]), floor, offset=0.0)

    def fused(z: Tensor) -> Tensor:
        sums = kernel_log_sums(z, alive, draw, _identity, backend="triton")
        assert n == 1 or int(sums.clamped) == 0  # one node alone sits on the bound, give or take rounding
        assert int(sums.num_nodes) == n
        return sums.total

    value, grad = _value_and_gradient(fused, z)
    expected, expected_grad = _value_and_gradient(dense, z.double())
    # Of one node alone the value is log 1 = 0, so its error is compared with one.
    assert float((value - expected).detach().abs()) <= tolerance * max(1.0, float(expected.detach().abs()))
    if n > 1:
        assert _relative(grad, expected_grad) <= tolerance
    assert (grad[~alive] == 0).all()
    if DEVICE == "cuda" or n > 5:  # the interpreter runs one block after another; there a few sizes suffice
        again, grad_again = _value_and_gradient(fused, z)
        assert torch.equal(value, again)
        assert torch.equal(grad, grad_again)


@pytest.mark.parametrize("name", ["sorf", "rff"])
def test_clamped_rows_pass_no_gradient(name: str) -> None:
    z, alive = _problem(23, 32)
    draw, wide = _draws(name, 32, 16, tau=0.1)
    u = z[alive].double().requires_grad_()
    psi = wide.psi(u)
    low = psi @ psi.sum(0) < reference.kernel_floor(len(u), 0.1)
    assert 0 < int(low.sum()) < len(u)
    leaf = z.clone().requires_grad_()
    sums = kernel_log_sums(leaf, alive, draw, _identity, backend="triton")
    assert int(sums.clamped) == int(low.sum())
    (grad,) = torch.autograd.grad(sums.total, leaf)
    expected = torch.autograd.grad((psi[~low] @ psi.sum(0)).log().sum(), u)[0]
    assert _relative(grad[alive], expected) <= 1e-5


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_embeddings(dtype: torch.dtype) -> None:
    """Embeddings in half precision are read as they are; what they give is rounded once more only in the gradient."""
    z, alive = _problem(41, 100)
    z = z.to(dtype)
    draw, wide = _draws("sorf", 100, 300)

    def dense(z: Tensor) -> Tensor:
        return reference.negative_kernel(wide.psi(z[alive]), 0.0, offset=0.0)

    value, grad = _value_and_gradient(lambda z: kernel_log_sums(z, alive, draw, _identity, backend="triton").total, z)
    expected, expected_grad = _value_and_gradient(dense, z.double())
    assert grad.dtype == dtype
    assert _relative(value, expected) <= 2e-3
    # bfloat16 keeps 8 bits, so an entry of the gradient is off by up to 2^-8 (the interpreter cuts off instead of rounding).
    assert _relative(grad, expected_grad) <= (2**-8 if dtype == torch.bfloat16 else 2e-3)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("size", [(1, 16), (41, 3), (41, 100), (70, 640)])
def test_exact(size: tuple[int, int], include_self: bool, tolerance: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "_BLOCK", 32)  # several blocks, of which the last are not full
    z, alive = _problem(*size)

    def dense(z: Tensor) -> Tensor:
        logits = (z @ z.T / TAU).masked_fill(~alive, -torch.inf)
        if not include_self:
            logits = logits.fill_diagonal_(-torch.inf)
        return torch.where(alive, logits.logsumexp(1), 0.0)

    def flash(z: Tensor) -> Tensor:
        return exact_log_sums(z, alive, TAU, include_self=include_self, backend="triton")

    if size[0] == 1 and not include_self:
        assert flash(z).tolist() == [-torch.inf]  # nobody to compare with
        return
    # Each row with an upstream gradient of its own, as small as a mean over many nodes makes it.
    weights = torch.linspace(0.5, 2.0, size[0], device=DEVICE, dtype=torch.float64) * 1e-7
    value, grad = _value_and_gradient(lambda z: flash(z) @ weights.float(), z)
    expected, expected_grad = _value_and_gradient(lambda z: dense(z) @ weights, z.double())
    assert _relative(value, expected) <= tolerance
    assert _relative(grad, expected_grad) <= tolerance
    assert (grad[~alive] == 0).all()
    assert torch.equal(grad, _value_and_gradient(lambda z: flash(z) @ weights.float(), z)[1])


@pytest.mark.parametrize("d", [1, 3, 100, 300])
def test_edge_dot(d: int) -> None:
    z = random_rows(40, d, dtype=torch.float32).to(DEVICE)
    generator = torch.Generator().manual_seed(0)
    rows, columns = (torch.randint(40, (101,), generator=generator).to(DEVICE) for _ in range(2))
    expected = (z[rows].double() * z[columns].double()).sum(1)
    # Sums of d products of single precision, in another order.
    torch.testing.assert_close(edges.edge_dot(z, rows, columns).double(), expected, rtol=1e-5, atol=1e-5)
    assert edges.edge_dot(z, rows[:0], columns[:0]).shape == (0,)


class TestMemory:
    """What a fused pass may allocate: vectors of N or D, partial sums, never N x N or N x D. Counted in the interpreter."""

    @pytest.fixture
    def largest(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        sizes: list[int] = []
        for name in ("empty", "empty_like", "zeros"):
            make: Any = getattr(torch, name)

            def counting(*args: Any, _make: Any = make, **kwargs: Any) -> Tensor:
                out: Tensor = _make(*args, **kwargs)
                sizes.append(out.numel())
                return out

            monkeypatch.setattr(torch, name, counting)
        return sizes

    def test_structured(self, largest: list[int]) -> None:
        n, d, num_features = 300, 32, 512
        z, alive = _problem(n, d)
        draw, _ = _draws("sorf", d, num_features)
        largest.clear()
        _value_and_gradient(lambda z: kernel_log_sums(z, alive, draw, _identity, backend="triton").total, z)
        assert max(largest) < n * num_features / 8
        assert max(largest) >= n * d  # the gradient itself, or nothing was seen

    def test_exact(self, largest: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(pairs, "_BLOCK", 64)
        n, d = 300, 32
        z, alive = _problem(n, d)
        largest.clear()
        _value_and_gradient(lambda z: exact_log_sums(z, alive, TAU, backend="triton").sum(), z)
        assert n * d <= max(largest) < n * n / 4


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("positives", ["mean", "max", "weighted"])
def test_positive_term_on_the_gpu_equals_the_cpu(positives: Any) -> None:
    generator = torch.Generator().manual_seed(0)
    source, target = (torch.randint(500, (4000,), generator=generator) for _ in range(2))
    graph = Graph.from_edges(source, target, x=torch.ones(500, 1)).symmetrized()
    z, alive = (
        torch.nn.functional.normalize(random_rows(500, 100, dtype=torch.float32), dim=1),
        torch.ones(500, dtype=torch.bool),
    )
    value, grad = _value_and_gradient(lambda z: positive_term(z, alive, graph, TAU, positives), z)
    there = graph.to("cuda")
    on_gpu, grad_on_gpu = _value_and_gradient(lambda z: positive_term(z, alive.cuda(), there, TAU, positives), z.cuda())
    assert _relative(on_gpu.cpu(), value) <= 1e-5
    assert _relative(grad_on_gpu.cpu(), grad) <= 1e-5
