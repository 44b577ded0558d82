"""What all kernels share: how precise, where they run, sine and cosine."""

import os

import torch
import triton
import triton.language as tl
from torch import Tensor


def interpreted() -> bool:
    """Whether kernels run in Triton's interpreter, as they do in tests on machines without a GPU."""
    return os.environ.get("TRITON_INTERPRET", "0") == "1"


def single_precision(z: Tensor) -> bool:
    """Whether products must keep single precision; torch's own setting for matrix products decides (TF32 or not)."""
    return z.dtype == torch.float32 and torch.get_float32_matmul_precision() == "highest"


def working_copy(x: Tensor) -> Tensor:
    """What products read: single precision as it is, else half precision, whose 11 bits are TF32's."""
    return x.contiguous() if single_precision(x) else x.to(torch.float16).contiguous()


def product(a: Tensor, b: Tensor) -> Tensor:
    """a @ b, half precision summed and returned in single precision."""
    if a.dtype == torch.float32:
        return a @ b
    if a.is_cuda:
        return torch.mm(a, b, out_dtype=torch.float32)
    return a.float() @ b.float()


@triton.jit
def sincos(theta, FAST: tl.constexpr):
    """The hardware's own functions are off by about 5e-7 + 6e-8 |theta|, far below what the products round."""
    if FAST:
        s = tl.inline_asm_elementwise("sin.approx.ftz.f32 $0, $1;", "=f,f", [theta], dtype=tl.float32, is_pure=True, pack=1)
        c = tl.inline_asm_elementwise("cos.approx.ftz.f32 $0, $1;", "=f,f", [theta], dtype=tl.float32, is_pure=True, pack=1)
    else:  # the interpreter has no intrinsics
        s = tl.sin(theta)
        c = tl.cos(theta)
    return s, c


@triton.jit
def tile_product(x, y, rows, columns, num_rows, num_columns, d, BK: tl.constexpr, EXACT: tl.constexpr):
    """x[rows] @ y[columns].T for contiguous x and y of width d, in single precision; zero outside."""
    k = tl.arange(0, BK)
    a = x + rows[:, None].to(tl.int64) * d + k[None, :]
    b = y + columns[None, :].to(tl.int64) * d + k[:, None]
    inside_rows, inside_columns = (rows < num_rows)[:, None], (columns < num_columns)[None, :]
    out = tl.zeros((rows.shape[0], columns.shape[0]), tl.float32)
    for start in range(0, d, BK):
        left = tl.load(a + start, mask=inside_rows & (k < d - start)[None, :], other=0.0)
        right = tl.load(b + start, mask=inside_columns & (k < d - start)[:, None], other=0.0)
        if EXACT:
            out = tl.dot(left, right, out, input_precision="tf32x3")
        else:
            out = tl.dot(left, right, out)
    return out
