r"""The negative term, $\sum_i \log \sum_k \exp(z_i^T z_k / \tau)$, in row chunks with hand-written backwards.

Exact. With $p_{ik}$ the softmax of row i, $\partial z_i = \frac1\tau \sum_k (p_{ik} + p_{ki}) z_k$: given the row
log-sum-exps, the gradient needs each block of p once more and nothing of size N x N is kept.

Kernelised. With $S = \sum_k \psi_k$ and $q_i = \psi_i^T S$, the value is $\sum_i \log q_i$ and
$\partial \psi_i = S / q_i + g$ with $g = \sum_j \psi_j / q_j$: one pass for S, one for q and g, one for the gradient, and
only the features of one chunk exist at a time. Across ranks S is summed in the forward and g in the backward; `reduce`
does the sum and is the identity on one machine.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

Reduce = Callable[[Tensor], Tensor]

# Numbers in one chunk's largest block (logits or features). On a CPU small blocks stay in the caches and are reused by
# the allocator, but many of them mean many rounds of its threads; a GPU wants launches that fill it.
_CHUNK = {"cpu": 2**21, "cuda": 2**28}


class LogSums(NamedTuple):
    """`total` is the differentiable sum over nodes; the rest are counts (tensors, so that no device has to wait)."""

    total: Float[Tensor, ""]
    clamped: Tensor
    num_nodes: Tensor


@runtime_checkable
class Features(Protocol):
    """What `kernel_log_sums` needs of a drawn feature map."""

    width: int

    def psi(self, z: Tensor) -> Tensor: ...

    def floor(self, num_nodes: Tensor) -> Tensor: ...


def exact_log_sums(
    z: Float[Tensor, "n d"], alive: Bool[Tensor, " n"], temperature: float, *, chunk: int | None = None
) -> LogSums:
    """Sum over living nodes i of log sum over living nodes k of exp(z_i.z_k / tau). O(n^2 d) time, O(chunk n) memory."""
    rows = chunk or _rows_per_chunk(z, z.shape[0])
    total: Tensor = _ExactLogSums.apply(z, alive, temperature, rows)
    nothing = torch.zeros((), device=z.device)
    return LogSums(total, nothing, nothing + z.shape[0])


def kernel_log_sums(
    z: Float[Tensor, "n d"], alive: Bool[Tensor, " n"], features: Features, reduce: Reduce, *, chunk: int | None = None
) -> LogSums:
    """Sum over living nodes of log(psi_i.S), S over all living nodes of all ranks. O(n) calls of psi, O(chunk D) memory.

    The random-feature estimate of a sum of positive kernel values can fall below their true lower bound, even below zero;
    such rows are clamped to the bound (so they pass no gradient) and counted.
    """
    rows = chunk or _rows_per_chunk(z, features.width)
    total, clamped, num_nodes = _KernelLogSums.apply(z, alive, features, reduce, rows)
    return LogSums(total, clamped, num_nodes)


def _rows_per_chunk(z: Tensor, width: int) -> int:
    return max(16, _CHUNK[z.device.type] // width)


def _parts(n: int, rows: int) -> list[slice]:
    return [slice(start, min(start + rows, n)) for start in range(0, n, rows)]


class _ExactLogSums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: Tensor, alive: Tensor, temperature: float, rows: int) -> Tensor:
        bias = torch.zeros_like(z[:, 0]).masked_fill_(~alive, -torch.inf)
        log_sums = torch.cat([((z[part] @ z.T) / temperature + bias).logsumexp(1) for part in _parts(len(z), rows)])
        ctx.save_for_backward(z, alive, bias, log_sums)
        ctx.temperature, ctx.rows = temperature, rows
        return torch.where(alive, log_sums, 0.0).sum()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:
        z, alive, bias, log_sums = ctx.saved_tensors
        weight = torch.where(alive, grads[0] / ctx.temperature, 0.0)
        out = torch.zeros_like(z)
        for part in _parts(len(z), ctx.rows):
            p = ((z[part] @ z.T) / ctx.temperature + bias - log_sums[part, None]).exp_()
            p.mul_(weight[part, None]).nan_to_num_(0.0)
            out[part] += p @ z
            out += p.T @ z[part]
        return out, None, None, None


class _KernelLogSums(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, z: Tensor, alive: Tensor, features: Features, reduce: Reduce, rows: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        parts, living = _parts(len(z), rows), alive.to(z.dtype)
        local = z.new_zeros(features.width + 2)
        for part in parts:
            local[:-2] += living[part] @ features.psi(z[part])
        local[-2], local[-1] = living.sum(), len(z)
        message = reduce(local)
        total_psi, num_living, num_nodes = message[:-2], message[-2], message[-1]
        floor = features.floor(num_living)

        total, clamped, common = z.new_zeros(()), z.new_zeros(()), torch.zeros_like(total_psi)
        inverse = torch.empty_like(living)
        for part in parts:
            psi = features.psi(z[part])
            q = psi @ total_psi
            low = (q < floor) & alive[part]
            total += torch.where(alive[part], q.clamp(min=floor).log(), 0.0).sum()
            clamped += low.sum()
            inverse[part] = torch.where(alive[part] & ~low, 1 / q, 0.0)
            common += inverse[part] @ psi
        ctx.save_for_backward(z, living, total_psi, inverse, common)
        ctx.features, ctx.reduce, ctx.rows = features, reduce, rows
        ctx.mark_non_differentiable(clamped, num_nodes)
        return total, clamped, num_nodes

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None, None]:
        z, living, total_psi, inverse, common = ctx.saved_tensors
        common = ctx.reduce(common)
        out = torch.empty_like(z)
        for part in _parts(len(z), ctx.rows):
            with torch.enable_grad():
                leaf = z[part].detach().requires_grad_()
                psi = ctx.features.psi(leaf)
            upstream = (inverse[part, None] * total_psi + living[part, None] * common).mul_(grads[0])
            (out[part],) = torch.autograd.grad(psi, leaf, upstream)
        return out, None, None, None, None
