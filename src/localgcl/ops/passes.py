r"""The passes over the nodes that a kernelised log-sum needs, by backend.

With features $\psi$, $S = \sum_k \psi_k$ and $q_i = \psi_i^T S$, the value is $\sum_i \log q_i$ and its gradient is
$\partial \psi_i = S / q_i + g$ with $g = \sum_j \psi_j / q_j$. A step needs

1. `total`: a weighted sum of features, for S;
2. `balance`: the $q_i$, their inverses (zero for dead and for clamped rows), and g;
3. `pullback`: the gradient of $\sum_i \psi_i^T (a_i u + b_i v)$ with respect to z, for a = 1/q, u = S, b = living, v = g.

Every backend recomputes features instead of keeping them, so that memory is O(N + D) beyond z and its gradient.
"""

import importlib
from types import ModuleType
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from localgcl.ops.backends import NUMBA, Backend, fused
from localgcl.ops.frequencies import DenseFrequencies, Frequencies, StructuredFrequencies, inverses

# Numbers in one chunk's features. On a CPU small chunks stay in the caches, but each costs a start of its threads. On a GPU
# a chunk must be large enough to fill the device.
_CHUNK = {"cpu": 2**21, "cuda": 2**26}


@runtime_checkable
class Features(Protocol):
    """What a log-sum needs of a feature map with drawn frequencies; they are None for maps that are not Fourier features."""

    width: int
    frequencies: Frequencies | None

    def psi(self, z: Tensor) -> Tensor: ...

    def floor(self, num_nodes: Tensor, *, include_self: bool = True) -> Tensor: ...


class Balance(NamedTuple):
    """The result of `balance`."""

    q: Float[Tensor, " n"]
    inverse: Float[Tensor, " n"]
    common: Float[Tensor, " w"]


@runtime_checkable
class Passes(Protocol):
    """The three passes; z holds unit rows, `living` is 1 for rows that count and 0 for the others."""

    def total(self, z: Tensor, weights: Tensor) -> Tensor: ...

    def balance(self, z: Tensor, living: Tensor, total: Tensor, floor: Tensor) -> Balance: ...

    def pullback(self, z: Tensor, a: Tensor, u: Tensor, b: Tensor, v: Tensor) -> Tensor: ...


def choose_backend(z: Tensor, features: Features) -> Literal["torch", "numba", "triton"]:
    """The fastest backend for these embeddings and features; plain torch where no kernel takes them."""
    frequencies = features.frequencies
    if frequencies is None:
        return "torch"
    if z.is_cuda:
        # Triton multiplies matrices of at least 16 entries a side; the kernels' tiles have at most 4096 rows.
        fits = isinstance(frequencies, DenseFrequencies) or 16 <= frequencies.signs.shape[2] <= 4096
        return "triton" if fits and fused(z) else "torch"
    if isinstance(frequencies, StructuredFrequencies) and z.dtype == torch.float32 and NUMBA:
        return "numba"
    return "torch"


def passes(z: Tensor, features: Features, backend: Backend = "auto", *, chunk: int | None = None) -> Passes:
    """The passes for these features. `backend` and `chunk` (rows at a time) exist for tests."""
    name = choose_backend(z, features) if backend == "auto" else backend
    if name == "torch":
        rows = chunk or max(16, _CHUNK[z.device.type] // features.width)
        return _Streamed(features, rows)
    assert features.frequencies is not None
    return _Fused(_kernels(name, features.frequencies), features.frequencies)


def _kernels(name: str, frequencies: Frequencies) -> ModuleType:
    """The module of fused kernels, imported when it is first needed: Triton and numba take seconds to load."""
    if name == "numba":
        return importlib.import_module("localgcl.ops.cpu.sorf")
    kind = "sorf" if isinstance(frequencies, StructuredFrequencies) else "dense"
    return importlib.import_module(f"localgcl.ops.gpu.{kind}")


class _Streamed:
    """Any features, in chunks of rows, by plain torch and its autograd."""

    def __init__(self, features: Features, rows: int) -> None:
        self.features, self.rows = features, rows

    def total(self, z: Tensor, weights: Tensor) -> Tensor:
        out = z.new_zeros(self.features.width)
        for part in self._parts(z):
            out += weights[part] @ self.features.psi(z[part])
        return out

    def balance(self, z: Tensor, living: Tensor, total: Tensor, floor: Tensor) -> Balance:
        q, inverse, common = torch.empty_like(living), torch.empty_like(living), torch.zeros_like(total)
        for part in self._parts(z):
            psi = self.features.psi(z[part])
            q[part] = psi @ total
            inverse[part] = inverses(q[part], living[part], floor)
            common += inverse[part] @ psi
        return Balance(q, inverse, common)

    def pullback(self, z: Tensor, a: Tensor, u: Tensor, b: Tensor, v: Tensor) -> Tensor:
        out = torch.empty_like(z)
        for part in self._parts(z):
            with torch.enable_grad():
                leaf = z[part].detach().requires_grad_()
                psi = self.features.psi(leaf)
            upstream = a[part, None] * u + b[part, None] * v
            (out[part],) = torch.autograd.grad(psi, leaf, upstream)
        return out

    def _parts(self, z: Tensor) -> list[slice]:
        return [slice(start, min(start + self.rows, len(z))) for start in range(0, len(z), self.rows)]


class _Fused:
    """Fourier features in fused kernels, which work with [cos, sin] = sqrt(D) psi as (2, D)."""

    def __init__(self, kernels: ModuleType, frequencies: Frequencies) -> None:
        self.kernels, self.count = kernels, frequencies.count
        self.arguments: tuple[Any, ...] = (
            (frequencies.signs, frequencies.scale, frequencies.count)
            if isinstance(frequencies, StructuredFrequencies)
            else (frequencies.matrix,)
        )

    def total(self, z: Tensor, weights: Tensor) -> Tensor:
        return self._flat(self.kernels.feature_sum(z, weights, *self.arguments))

    def balance(self, z: Tensor, living: Tensor, total: Tensor, floor: Tensor) -> Balance:
        raw = (total * self.count**0.5).view(2, -1)
        q, inverse, common = self.kernels.balance(z, raw, *self.arguments, floor, living)
        return Balance(q, inverse, self._flat(common))

    def pullback(self, z: Tensor, a: Tensor, u: Tensor, b: Tensor, v: Tensor) -> Tensor:
        root = self.count**0.5
        out: Tensor = self.kernels.pullback(z, a / root, u.view(2, -1), b / root, v.view(2, -1), *self.arguments)
        return out

    def _flat(self, sums: Tensor) -> Tensor:
        return sums.reshape(-1).div(self.count**0.5)
