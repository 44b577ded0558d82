r"""The negative term, $\sum_i \log \sum_k \exp(z_i^T z_k / \tau)$, exactly or through random features, with its own backward.

Exact. With $p_{ik}$ the softmax of row i, $\partial z_i = \frac1\tau \sum_k (p_{ik} + p_{ki}) z_k$: given the row
log-sum-exps, the gradient needs each block of p once more and nothing of size N x N is kept.

Kernelised. See `passes`: value and gradient come from sums over all nodes of functions of one node. `reduce` sums over ranks,
S in the forward and g in the backward; on one machine it is the identity.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from localgcl.ops.backends import Backend, first_order, fused
from localgcl.ops.passes import Features, Passes, passes

Reduce = Callable[[Tensor], Tensor]

# Logits held at a time by the exact term on a CPU (and in double precision on a GPU).
_CHUNK = {"cpu": 2**21, "cuda": 2**28}


class LogSums(NamedTuple):
    """`total` is the differentiable sum over nodes; the others are counts, as tensors so that the host need not wait."""

    total: Float[Tensor, ""]
    clamped: Tensor
    num_nodes: Tensor


class NodeLogSums(NamedTuple):
    """As `LogSums`, with one differentiable value per node, 0 for dead ones."""

    logs: Float[Tensor, " n"]
    clamped: Tensor
    num_nodes: Tensor


def exact_log_sums(
    z: Float[Tensor, "n d"],
    alive: Bool[Tensor, " n"],
    temperature: float,
    *,
    include_self: bool = True,
    backend: Backend = "auto",
    chunk: int | None = None,
) -> Float[Tensor, " n"]:
    """log sum over living nodes k of exp(z_i.z_k / tau), for each living i; 0 for the others. Rows of z have unit length.

    O(n^2 d) time, O(n) memory beside z and its gradient. `include_self=False` leaves k = i out. `backend` and `chunk`
    (rows at a time) exist for tests.
    """
    if backend == "triton" or (backend == "auto" and fused(z)):
        result: Tensor = _FlashLogSums.apply(z, alive, temperature, include_self)
    else:
        rows = chunk or max(16, _CHUNK[z.device.type] // z.shape[0])
        result = _ExactLogSums.apply(z, alive, temperature, include_self, rows)
    return result


def kernel_log_sums(
    z: Float[Tensor, "n d"],
    alive: Bool[Tensor, " n"],
    features: Features,
    reduce: Reduce,
    *,
    size: Tensor | None = None,
    backend: Backend = "auto",
    chunk: int | None = None,
) -> LogSums:
    """Sum over living nodes of log(psi_i.S), S over all living nodes of all ranks. O(n) calls of psi, O(n + D) memory.

    `size` is the number of rows to count on this rank, living or not; all rows of z when not given.

    The random-feature estimate of a sum of positive kernel values can fall below their true lower bound, even below zero;
    such rows are clamped to the bound (so they pass no gradient) and counted.
    """
    steps = passes(z, features, backend, chunk=chunk)
    total, clamped, num_nodes = _KernelLogSums.apply(z, alive, size, features, reduce, steps)
    return LogSums(total, clamped, num_nodes)


def kernel_node_log_sums(
    z: Float[Tensor, "n d"],
    alive: Bool[Tensor, " n"],
    features: Features,
    reduce: Reduce,
    *,
    size: Tensor | None = None,
    include_self: bool = True,
    backend: Backend = "auto",
    chunk: int | None = None,
) -> NodeLogSums:
    """log(psi_i.S) for each living node, not only their sum: one more pass than `kernel_log_sums`.

    `include_self=False` subtracts the node's own term. That is 1, the kernel of a unit vector with itself (Fourier features
    give it exactly, positive ones on average). What is left is at least (n - 1) e^(-2/tau), and clamped to that.
    """
    steps = passes(z, features, backend, chunk=chunk)
    q, living, num_nodes = _KernelSums.apply(z, alive, size, features, reduce, steps)
    sums = q if include_self else q - 1
    floor = features.floor(living, include_self=include_self).clamp_min(torch.finfo(q.dtype).tiny)
    logs = torch.where(alive, sums.clamp_min(floor).log(), 0.0)
    return NodeLogSums(logs, ((sums < floor) & alive).sum().to(q.dtype), num_nodes)


class _ExactLogSums(torch.autograd.Function):
    """In chunks of rows."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, alive: Tensor, temperature: float, include_self: bool, rows: int) -> Tensor:
        ctx.temperature, ctx.rows, ctx.include_self = temperature, rows, include_self
        # Written into one tensor: a small result kept after each chunk would keep the allocator from reusing the chunk's block.
        log_sums = z.new_empty(len(z))
        for part in _parts(len(z), rows):
            log_sums[part] = _logits(ctx, z, alive, part).logsumexp(1)
        ctx.save_for_backward(z, alive, log_sums)
        return torch.where(alive, log_sums, 0.0)

    @staticmethod
    @first_order
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None, None]:
        z, alive, log_sums = ctx.saved_tensors
        weight = torch.where(alive, grads[0] / ctx.temperature, 0.0)
        out = torch.zeros_like(z)
        for part in _parts(len(z), ctx.rows):
            p = _logits(ctx, z, alive, part).sub_(log_sums[part, None]).exp_()
            p.mul_(weight[part, None]).nan_to_num_(0.0)
            out[part] += p @ z
            out += p.T @ z[part]
        return out, None, None, None, None


def _logits(ctx: Any, z: Tensor, alive: Tensor, part: slice) -> Tensor:
    """z_i.z_k / tau for the rows of one chunk, -inf where k does not count."""
    logits = (z[part] @ z.T).div_(ctx.temperature).masked_fill_(~alive, -torch.inf)
    if not ctx.include_self:
        logits.diagonal(part.start).fill_(-torch.inf)
    return logits


def _parts(n: int, rows: int) -> list[slice]:
    return [slice(start, min(start + rows, n)) for start in range(0, n, rows)]


class _FlashLogSums(torch.autograd.Function):
    """In tiles, on a GPU: see `gpu.pairs`."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, alive: Tensor, temperature: float, include_self: bool) -> Tensor:
        from localgcl.ops.gpu import pairs

        sums = pairs.row_sums(z, alive, temperature, include_self=include_self)
        ctx.save_for_backward(z, alive, sums)
        ctx.temperature, ctx.include_self = temperature, include_self
        return torch.where(alive, sums.log() + 1 / temperature, 0.0)

    @staticmethod
    @first_order
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:
        from localgcl.ops.gpu import pairs

        z, alive, sums = ctx.saved_tensors
        # The kernel's half precision expects weights of order one; a mean over nodes makes them of order 1/N.
        size = grads[0].abs().max().clamp_min(torch.finfo(torch.float32).tiny)
        inverse = torch.where(alive & (sums > 0), grads[0] / size / sums, 0.0)
        out = pairs.pullback(z, inverse, ctx.temperature, include_self=ctx.include_self)
        return (out * (alive * (size / ctx.temperature))[:, None]).to(z.dtype), None, None, None


class _KernelLogSums(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, z: Tensor, alive: Tensor, size: Tensor | None, features: Features, reduce: Reduce, steps: Passes
    ) -> tuple[Tensor, Tensor, Tensor]:
        living, total, num_living, num_nodes = _summed(z, alive, size, reduce, steps)
        floor = features.floor(num_living)
        q, inverse, common = steps.balance(z, living, total, floor)
        ctx.save_for_backward(z, living, total, inverse, common)
        ctx.reduce, ctx.steps = reduce, steps
        value = torch.where(alive, q.clamp(min=floor).log(), 0.0).sum()
        clamped = ((q < floor) & alive).sum().to(living.dtype)
        ctx.mark_non_differentiable(clamped, num_nodes)
        return value, clamped, num_nodes

    @staticmethod
    @first_order
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None, None, None]:
        z, living, total, inverse, common = ctx.saved_tensors
        out = ctx.steps.pullback(z, inverse * grads[0], total, living * grads[0], ctx.reduce(common))
        return out, None, None, None, None, None


class _KernelSums(torch.autograd.Function):
    """q_i = psi_i.S itself, for any upstream gradient w: d psi_i = w_i S + sum_j w_j psi_j."""

    @staticmethod
    def forward(
        ctx: Any, z: Tensor, alive: Tensor, size: Tensor | None, features: Features, reduce: Reduce, steps: Passes
    ) -> tuple[Tensor, Tensor, Tensor]:
        living, total, num_living, num_nodes = _summed(z, alive, size, reduce, steps)
        ctx.save_for_backward(z, living, total)
        ctx.reduce, ctx.steps = reduce, steps
        ctx.mark_non_differentiable(num_living, num_nodes)
        return steps.balance(z, living, total, features.floor(num_living)).q, num_living, num_nodes

    @staticmethod
    @first_order
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None, None, None]:
        z, living, total = ctx.saved_tensors
        weights = grads[0] * living
        common = ctx.reduce(ctx.steps.total(z, weights))
        return ctx.steps.pullback(z, weights, total, living, common), None, None, None, None, None


def _summed(
    z: Tensor, alive: Tensor, size: Tensor | None, reduce: Reduce, steps: Passes
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """1 for living rows; then, over all ranks, S, the number of living rows and the number of rows."""
    living = alive.to(z.dtype if z.dtype == torch.float64 else torch.float32)
    present = torch.full_like(living[0], len(z)) if size is None else size.to(living)
    counts = torch.stack([living.sum(), present])
    message = reduce(torch.cat([steps.total(z, living), counts]))
    return living, message[:-2], message[-2], message[-1]
