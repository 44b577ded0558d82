"""Reductions over CSR rows: one value per entry in, one per row out. Additions have a fixed order."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from localgcl.graph.csr import CSR
from localgcl.ops.first_order import first_order


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
