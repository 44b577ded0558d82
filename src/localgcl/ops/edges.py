"""Dot products along edges (sampled dense-dense product) without a tensor of |E| x d."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from localgcl.graph.csr import CSR, csr_tensor
from localgcl.ops.backends import fused
from localgcl.ops.first_order import first_order

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
