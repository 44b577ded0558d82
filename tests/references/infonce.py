"""InfoNCE of two views as its formula reads: dense, float64."""

import torch
from torch import Tensor


def pair_losses(u: Tensor, v: Tensor, tau: float) -> Tensor:
    """l(u_i, v_i) for each i: unit rows in, every sum written out."""
    between, within = (u @ v.T / tau).exp(), (u @ u.T / tau).exp()
    others = within.sum(1) - within.diagonal()
    return -(between.diagonal() / (between.sum(1) + others)).log()


def two_view_loss(u: Tensor, v: Tensor, tau: float) -> Tensor:
    """Mean over i of (l(u_i, v_i) + l(v_i, u_i)) / 2; no row may be zero."""
    u, v = torch.nn.functional.normalize(u.double()), torch.nn.functional.normalize(v.double())
    return (pair_losses(u, v, tau) + pair_losses(v, u, tau)).mean() / 2


def sampled_loss(u: Tensor, v: Tensor, tau: float, nodes: list[int]) -> Tensor:
    """The same where only `nodes` are negatives, in both views, and never an anchor's own node."""
    u, v = torch.nn.functional.normalize(u.double()), torch.nn.functional.normalize(v.double())
    terms = []
    for i in range(len(u)):
        for a, b in ((u, v), (v, u)):
            positive = (a[i] @ b[i] / tau).exp()
            negative = sum((((a[i] @ a[k] / tau).exp() + (a[i] @ b[k] / tau).exp()) for k in nodes if k != i), u.new_zeros(()))
            terms.append(-(positive / (positive + negative)).log())
    return torch.stack(terms).mean()


def kernelised_loss(u: Tensor, v: Tensor, psi: Tensor, tau: float) -> Tensor:
    """The same with e^(1/tau) psi_i.psi_k for each exponential of the denominator, psi the features of [u; v]: k != i."""
    u, v = torch.nn.functional.normalize(u.double()), torch.nn.functional.normalize(v.double())
    kernel = psi @ psi.T
    floor = (len(psi) - 1) * torch.tensor(-2 / tau, dtype=torch.float64).exp()
    denominators = (kernel - torch.diag(kernel.diagonal())).sum(1).clamp(min=floor)
    return (denominators.log() + 1 / tau).mean() - ((u * v).sum(1) / tau).mean()
