"""Sparse times dense. The backward is a product with the transpose, which is kept, so no scatter is needed."""

import dataclasses
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from localgcl.graph.csr import CSR, csr_tensor
from localgcl.ops.backends import first_order


@dataclasses.dataclass(frozen=True, eq=False)
class SparseMatrix:
    """A constant matrix in compressed sparse rows, and its transpose.

    Args:
        csr: The matrix, a sparse CSR tensor.
        symmetric: Whether it is its own transpose.
        transpose: The transpose, if known; otherwise computed on first use.
    """

    csr: Tensor
    symmetric: bool = False
    transpose: "SparseMatrix | None" = None

    @property
    def shape(self) -> torch.Size:
        return self.csr.shape

    @cached_property
    def transposed(self) -> "SparseMatrix":
        if self.symmetric or self.transpose is not None:
            return self.transpose or self
        return self._turned(self.csr.values())

    def with_values(self, values: Float[Tensor, " m"]) -> "SparseMatrix":
        """The same pattern with other values, as dropout needs at each step. The transpose is not sorted again."""
        pattern = self._pattern
        changed = csr_tensor(pattern.indptr, pattern.indices, values, (pattern.num_rows, pattern.num_columns))
        return SparseMatrix(changed, transpose=self._turned(values))

    def to(self, device: torch.device) -> "SparseMatrix":
        """The same matrix on another device; its transpose is computed there."""
        return self if self.csr.device == device else SparseMatrix(self.csr.to(device), symmetric=self.symmetric)

    @cached_property
    def _pattern(self) -> CSR:
        return CSR(self.csr.crow_indices(), self.csr.col_indices(), self.shape[1])

    def _turned(self, values: Float[Tensor, " m"]) -> "SparseMatrix":
        indptr, indices, order = self._pattern.transposed
        return SparseMatrix(csr_tensor(indptr, indices, values[order], (self.shape[1], self.shape[0])))


def spmm(matrix: SparseMatrix, x: Float[Tensor, "k d"]) -> Float[Tensor, "n d"]:
    """matrix @ x, differentiable in x. O(non-zeros * d); rows are summed in stored order, so the result is deterministic."""
    # Sparse products exist in single and double precision only, so half-precision activations are widened here.
    wide = x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
    result: Tensor = _SpMM.apply(matrix, wide)
    return result


class _SpMM(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: SparseMatrix, x: Tensor) -> Tensor:
        ctx.matrix = matrix
        # A transposed weight is column-major, and CUDA's product with it took 14 times as long (CS, 512 columns).
        return matrix.csr.to(x.dtype) @ x.contiguous()

    @staticmethod
    @first_order
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, Tensor | None]:
        (grad,) = grads
        if not ctx.needs_input_grad[1]:
            return None, None
        return None, ctx.matrix.transposed.csr.to(grad.dtype) @ grad.contiguous()
