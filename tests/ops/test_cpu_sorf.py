"""The three passes against Hadamard matrices in float64, how precise their cosines are, and what they may depend on."""

import math
import subprocess
import sys
from typing import Any

import pytest
import torch
from scipy.linalg import hadamard
from torch import Tensor

from localgcl.ops.cpu import sorf
from tests.references.graphs import random_rows

# The project's promise in single precision. Rounding errors come to a few 1e-7 here.
TOLERANCE = 1e-5


def _size(d: int) -> int:
    return 1 << (d - 1).bit_length()


def _signs(d: int, num_features: int) -> Tensor:
    shape = 3, -(-num_features // _size(d)), _size(d)
    return 2.0 * torch.randint(2, shape, generator=torch.Generator().manual_seed(d + num_features)) - 1


def _scale(d: int) -> float:
    return math.sqrt(2.0 * _size(d))


def _features(z: Tensor, signs: Tensor, scale: float, num_features: int) -> Tensor:
    """cos and then sin of scale H S_2 H S_1 H S_0 z, block after block: (n, 2 D) in float64."""
    size = signs.shape[2]
    h = torch.from_numpy(hadamard(size)).double() / size**0.5
    x = torch.nn.functional.pad(z.double(), (0, size - z.shape[1])).T
    blocks = [h @ (c * (h @ (b * (h @ (a * x))))) for a, b, c in signs.double()[..., None].unbind(1)]
    angles = scale * torch.cat(blocks)[:num_features].T
    return torch.cat([angles.cos(), angles.sin()], dim=1)


def _rows(n: int, d: int) -> Tensor:
    return torch.nn.functional.normalize(random_rows(n, d, dtype=torch.float32), dim=1)


def _numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def _relative(ours: Tensor, expected: Tensor) -> float:
    assert ours.dtype == torch.float32
    return float((ours.double().flatten() - expected.flatten()).norm() / expected.norm())


# Blocks from 1 to 4096 rows, whose transforms take one, two and three sweeps; parts of chunks, of tiles and of blocks.
SHAPES = [(n, d, num_features) for n in (1, 41, 1000) for d in (1, 3, 100, 640, 1024) for num_features in (1, 50, 3000)]
SHAPES += [(16, 17, 64), (17, 32, 31), (33, 33, 65), (48, 8, 100), (41, 2048, 3000), (3, 4096, 50)]


@pytest.mark.parametrize(("n", "d", "num_features"), SHAPES)
def test_passes_equal_their_formulas(n: int, d: int, num_features: int) -> None:
    _compare(_rows(n, d), _scale(d), num_features)


@pytest.mark.parametrize(("d", "length"), [(3, 30.0), (100, 7.0), (640, 1e-3)])
def test_rows_of_other_lengths(d: int, length: float) -> None:
    _compare(length * _rows(41, d), _scale(d), 300)


@pytest.mark.parametrize("d", [1, 3, 100, 1024])
def test_large_angles(d: int) -> None:
    """An angle near 100 is known to 100 * 6e-8 in float32 before any cosine is taken, and a few roundings lead up to it."""
    _compare(_rows(41, d), 100.0 * math.sqrt(_size(d)), 300, tolerance=5e-5)


def _compare(z: Tensor, scale: float, num_features: int, tolerance: float = TOLERANCE) -> None:
    n, d = z.shape
    signs, wide = _signs(d, num_features), z.double().requires_grad_()
    features = _features(wide, signs, scale, num_features)
    known = features.detach()

    weights = _numbers(n) + 0.5
    weights[1::3] = 0
    sums = sorf.feature_sum(z, weights, signs, scale, num_features)
    assert sums.shape == (2, num_features)
    assert _relative(sums, weights.double() @ known) < tolerance

    total = sums + _numbers(2, num_features)
    expected = known @ total.double().flatten() / num_features
    floor, living = float(expected.max()) / 2, torch.ones(n)
    living[2::5] = 0
    living[expected.argmax()] = 1
    q, inverse, common = sorf.balance(z, total, signs, scale, num_features, floor, living)
    assert _relative(q, expected) < tolerance
    # A row is above the floor by its own q, whose last digits are not those of float64.
    assert _relative(inverse, torch.where((q >= floor) & (living > 0), 1 / expected, 0.0)) < 2 * tolerance
    assert common.shape == (2, num_features)
    assert _relative(common, inverse.double() @ known) < tolerance

    a, b, u, v = _numbers(n, seed=1), _numbers(n, seed=2), _numbers(2, num_features, seed=3), _numbers(2, num_features, seed=4)
    gradient = sorf.pullback(z, a, u, b, v, signs, scale, num_features)
    value = a.double() @ (features @ u.double().flatten()) + b.double() @ (features @ v.double().flatten())
    assert gradient.shape == z.shape
    assert _relative(gradient, torch.autograd.grad(value, wide)[0]) < tolerance


def test_floor_and_living() -> None:
    """At the floor a row counts, below it and when dead it does not; q is told for all."""
    n, d, num_features = 50, 6, 64
    z, signs = _rows(n, d), _signs(d, num_features)
    total = sorf.feature_sum(z, torch.ones(n), signs, _scale(d), num_features)
    living = torch.ones(n)
    living[7] = 0
    q, inverse, _ = sorf.balance(z, total, signs, _scale(d), num_features, -math.inf, living)
    assert inverse[7] == 0
    torch.testing.assert_close(inverse[living > 0], 1 / q[living > 0], rtol=0, atol=0)
    floor = float(q[11])
    again, above, _ = sorf.balance(z, total, signs, _scale(d), num_features, floor, living)
    assert torch.equal(again, q)
    assert 0 < int((q < floor).sum()) < n
    assert torch.equal(above, torch.where(q >= floor, inverse, 0.0))
    assert above[11] > 0


@pytest.mark.parametrize("turns", [1.0, 1000.0])
def test_cosine_and_sine(turns: float) -> None:
    """With d = D = 1 and scale pi, q is cos(pi z) or sin(pi z), and pi z is known as precisely as z is."""
    z, signs = torch.linspace(-2 * turns, 2 * turns, 40001)[:, None].contiguous(), torch.ones(3, 1, 1)
    for total, function in ([[1.0], [0.0]], torch.cos), ([[0.0], [1.0]], torch.sin):
        q, _, _ = sorf.balance(z, torch.tensor(total), signs, math.pi, 1, 0.0, torch.ones(len(z)))
        # Rounding errors of the last steps of a polynomial whose values go up to 1: two of half a unit in the last place.
        torch.testing.assert_close(q.double(), function(math.pi * z[:, 0].double()), rtol=0, atol=1.2e-7)


def _all_passes(z: Tensor, num_features: int) -> list[Tensor]:
    one, signs, scale = torch.ones(len(z)), _signs(z.shape[1], num_features), _scale(z.shape[1])
    total = sorf.feature_sum(z, one, signs, scale, num_features)
    q, inverse, common = sorf.balance(z, total, signs, scale, num_features, 0.0, one)
    return [total, q, inverse, common, sorf.pullback(z, inverse, total, one, common, signs, scale, num_features)]


def test_same_to_the_bit_with_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorf, "_LEAST_WORK", 2**12)  # or so small a problem would stay in one thread
    z, before, results = _rows(1003, 40), torch.get_num_threads(), []
    try:
        for threads in (1, 1, 2, 5):
            torch.set_num_threads(threads)
            results.append(_all_passes(z, 200))
    finally:
        torch.set_num_threads(before)
    for other in results[1:]:
        for first, second in zip(results[0], other, strict=True):
            assert torch.equal(first, second)


def test_groups_change_nothing_but_the_order_of_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    z = _rows(1003, 40)
    together = _all_passes(z, 200)
    monkeypatch.setattr(sorf, "_LEAST_WORK", 1)
    for one, many in zip(together, _all_passes(z, 200), strict=True):
        assert _relative(many, one.double()) < 1e-6  # sums of a thousand numbers, in another order


def test_views_and_leaves_are_taken_as_they_are() -> None:
    z, signs = _rows(20, 5), _signs(5, 16)
    strided = z.T.contiguous().T.requires_grad_()
    expected = sorf.feature_sum(z, torch.ones(20), signs, 1.0, 16)
    assert torch.equal(sorf.feature_sum(strided, torch.ones(1).expand(20), signs, 1.0, 16), expected)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"z": torch.zeros(4, 3, dtype=torch.float64)}, "z is torch.float64"),
        ({"weights": torch.zeros(5)}, r"weights is .* of shape \(5,\).*of shape \(4,\)"),
        ({"signs": torch.ones(3, 2, 8)}, r"signs is .*of shape \(3, 1, 8\)"),
        ({"signs": torch.ones(3, 4, 2)}, "blocks of 2; .* power of two of at least 3"),
        ({"signs": torch.ones(3, 2, 6)}, "blocks of 6; .* power of two"),
        ({"num_features": 9}, r"signs is .*of shape \(3, 3, 4\)"),
    ],
)
def test_other_shapes_and_types_are_refused(change: dict[str, Any], named: str) -> None:
    good: dict[str, Any] = {
        "z": torch.zeros(4, 3),
        "weights": torch.zeros(4),
        "signs": torch.ones(3, 2, 4),
        "scale": 1.0,
        "num_features": 8,
    }
    # Without the shape checks of the test run, as a user would call it.
    function = getattr(sorf.feature_sum, "__wrapped__", sorf.feature_sum)
    with pytest.raises(ValueError, match=named):
        function(**{**good, **change})


MEMORY = """
import resource, torch
from localgcl.ops.cpu import sorf
def passes(n):
    z, one, signs = torch.ones(n, 16), torch.ones(n), torch.ones(3, 512, 16)
    total = sorf.feature_sum(z, one, signs, 1.0, 8192)
    q, inverse, common = sorf.balance(z, total, signs, 1.0, 8192, 0.0, one)
    sorf.pullback(z, inverse, total, one, common, signs, 1.0, 8192)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = passes(16)
print((passes(12000) - before) / 1024)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems count memory in other units")
def test_nothing_of_size_n_times_d_is_held() -> None:
    """12,000 x 8192 numbers would be 375 MB. The sums of 64 groups are 4 MB, scratch is below 1 MB, z and its gradient too."""
    grown = float(subprocess.run([sys.executable, "-c", MEMORY], check=True, capture_output=True, text=True).stdout)
    assert grown < 40
