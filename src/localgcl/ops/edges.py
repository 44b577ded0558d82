"""Numbers on edges: dot products of their ends, without a tensor of |E| x d, and reductions over the entries of CSR rows.

Additions have a fixed order.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from localgcl.graph.csr import CSR, csr_tensor
from localgcl.ops.backends import first_order, fused

# Gathered rows held at a time, in numbers: 64 MiB of float32.
_CHUNK = 2**24


def edge_dot(z: Float[Tensor, "n d"], csr: CSR) -> Float[Tensor, " m"]:
    r"""$s_{ij} = z_i^T z_j$ for every entry (i, j), in CSR order. O(|E| d) time, O(|E| + |V| d) memory.

    Column j refers to row j of z, and row i to row i of z; a rectangular structure has fewer rows than z.

    The gradient is two sparse products, $\partial z = G z + G^T z$ with G the upstream gradient laid out as the CSR
    matrix. Gathering with `z[rows]` instead would scatter-add in the backward: on several CPU threads torch does that
    with atomic additions whose order changes from run to run, so results would not repeat bit for bit.
    """
    result: Tensor = _EdgeDot.apply(z, csr)
    return result


@torch.no_grad()
def pair_dot(z: Float[Tensor, "n d"], rows: Int[Tensor, " m"], columns: Int[Tensor, " m"]) -> Float[Tensor, " m"]:
    """z_i.z_j for m pairs of nodes, not differentiable. O(m d) time, O(m) memory."""
    if fused(z) and z.dtype == torch.float32:
        from localgcl.ops.gpu import edges

        return edges.edge_dot(z, rows, columns)
    step = max(1, _CHUNK // z.shape[1])
    out = z.new_empty(rows.numel())
    for start in range(0, rows.numel(), step):
        part = slice(start, start + step)
        torch.sum(z[rows[part]].mul_(z[columns[part]]), dim=1, out=out[part])
    return out


class _EdgeDot(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: Tensor, csr: CSR) -> Tensor:
        ctx.save_for_backward(z)
        ctx.csr = csr
        return pair_dot(z, csr.rows, csr.indices)

    @staticmethod
    @first_order
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (z,), csr, (grad,) = ctx.saved_tensors, ctx.csr, grads
        rows, columns = csr.num_rows, csr.num_columns
        indptr_t, indices_t, order = csr.transposed
        if csr.is_symmetric:  # then both matrices have the same pattern, and one product is enough
            return csr_tensor(csr.indptr, csr.indices, grad + grad[order], (rows, columns)) @ z, None
        forward = csr_tensor(csr.indptr, csr.indices, grad, (rows, columns)) @ z
        out = csr_tensor(indptr_t, indices_t, grad[order], (columns, rows)) @ z[:rows]
        out[:rows] += forward
        return out, None


def segment_sum(values: Float[Tensor, " m"], csr: CSR) -> Float[Tensor, " n"]:
    """Sum of each row's values, not differentiable; 0 for empty rows."""
    return torch.segment_reduce(values.detach(), "sum", offsets=csr.indptr, unsafe=True, initial=0)


def segment_logsumexp(values: Float[Tensor, " m"], csr: CSR) -> Float[Tensor, " n"]:
    r"""$\log \sum_{j} \exp v_{ij}$ over each row; -inf for empty rows. Values may be -inf."""
    result: Tensor = _LogSumExp.apply(values, csr)
    return result


def segment_max(values: Float[Tensor, " m"], csr: CSR) -> Float[Tensor, " n"]:
    """Largest value of each row, -inf for empty rows; the gradient goes to the first entry that attains it."""
    result: Tensor = _Max.apply(values, csr)
    return result


def _row_max(values: Tensor, csr: CSR) -> Tensor:
    return torch.segment_reduce(values, "max", offsets=csr.indptr, unsafe=True, initial=-torch.inf)


class _LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, csr: CSR) -> Tensor:
        top = _row_max(values, csr)
        shift = torch.where(top.isinf(), 0.0, top)
        result = segment_sum(torch.exp(values - shift[csr.rows]), csr).log_() + shift
        ctx.save_for_backward(values, result)
        ctx.rows = csr.rows
        return result

    @staticmethod
    @first_order
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (values, result), rows, (grad,) = ctx.saved_tensors, ctx.rows, grads
        share = torch.where(values.isinf(), 0.0, torch.exp(values - result[rows]))
        return share * grad[rows], None


class _Max(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, csr: CSR) -> Tensor:
        top = _row_max(values, csr)
        m = values.numel()
        position = torch.arange(m, device=values.device)
        candidate = torch.where(values == top[csr.rows], position, m)
        first = torch.full_like(csr.degree, m).scatter_reduce_(0, csr.rows, candidate, "amin")
        ctx.save_for_backward(first)
        ctx.num_entries = m
        return top

    @staticmethod
    @first_order
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (first,), (grad,) = ctx.saved_tensors, grads
        # One slot past the end takes the gradient of empty rows: selecting rows would make the host wait.
        out = grad.new_zeros(ctx.num_entries + 1)
        return out.scatter_(0, first, grad)[:-1], None
