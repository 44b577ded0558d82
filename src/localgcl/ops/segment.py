"""Reductions over CSR rows: one value per edge in, one per node out. Every order of addition is fixed."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from localgcl.graph import Graph


def segment_sum(values: Float[Tensor, " m"], graph: Graph) -> Float[Tensor, " n"]:
    """Sum of each node's edge values, not differentiable; 0 for nodes without edges."""
    return torch.segment_reduce(values.detach(), "sum", offsets=graph.indptr, unsafe=True, initial=0)


def segment_logsumexp(values: Float[Tensor, " m"], graph: Graph) -> Float[Tensor, " n"]:
    r"""$\log \sum_{j} \exp v_{ij}$ over each node's edges; -inf for nodes without edges. Values may be -inf."""
    result: Tensor = _LogSumExp.apply(values, graph)
    return result


def segment_max(values: Float[Tensor, " m"], graph: Graph) -> Float[Tensor, " n"]:
    """Largest of each node's edge values, -inf for nodes without edges; the gradient goes to the first edge that attains it."""
    result: Tensor = _Max.apply(values, graph)
    return result


def _row_max(values: Tensor, graph: Graph) -> Tensor:
    return torch.segment_reduce(values, "max", offsets=graph.indptr, unsafe=True, initial=-torch.inf)


class _LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, graph: Graph) -> Tensor:
        top = _row_max(values, graph)
        shift = torch.where(top.isinf(), 0.0, top)
        result = segment_sum(torch.exp(values - shift[graph.rows]), graph).log_() + shift
        ctx.save_for_backward(values, result)
        ctx.graph = graph
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (values, result), rows, (grad,) = ctx.saved_tensors, ctx.graph.rows, grads
        share = torch.where(values.isinf(), 0.0, torch.exp(values - result[rows]))
        return share * grad[rows], None


class _Max(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, graph: Graph) -> Tensor:
        top = _row_max(values, graph)
        m = values.numel()
        position = torch.arange(m, device=values.device)
        candidate = torch.where(values == top[graph.rows], position, m)
        first = torch.full_like(graph.degree, m).scatter_reduce_(0, graph.rows, candidate, "amin")
        ctx.save_for_backward(first)
        ctx.num_edges = m
        return top

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (first,), (grad,) = ctx.saved_tensors, grads
        # One slot past the end takes the gradient of nodes without edges, so that no host-side selection is needed.
        out = grad.new_zeros(ctx.num_edges + 1)
        return out.scatter_(0, first, grad)[:-1], None
