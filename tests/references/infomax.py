"""The losses of DGI, MVGRL and GMI as their papers and codes define them: every pair written out, as probabilities."""

import torch
from torch import Tensor

from localgcl.graph import Graph


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """-mean of y log p + (1 - y) log(1 - p), p the sigmoid."""
    p = 1 / (1 + (-logits).exp())
    return -(labels * p.log() + (1 - labels) * (1 - p).log()).mean()


def bilinear(h: Tensor, s: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """h_i^T W s + b for each row."""
    return torch.stack([row @ weight @ s + bias for row in h])


def readout(h: Tensor) -> Tensor:
    return 1 / (1 + (-h.sum(0) / len(h)).exp())


def dgi(h: Tensor, corrupted: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """One cross-entropy over 2N logits."""
    s = readout(h)
    logits = torch.cat([bilinear(h, s, weight, bias), bilinear(corrupted, s, weight, bias)])
    return cross_entropy(logits, torch.cat([torch.ones(len(h)), torch.zeros(len(h))]))


def mvgrl(a: Tensor, b: Tensor, wrong_a: Tensor, wrong_b: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """One cross-entropy over 4N logits."""
    s_a, s_b = readout(a), readout(b)
    pairs = [(b, s_a), (a, s_b), (wrong_b, s_a), (wrong_a, s_b)]
    logits = torch.cat([bilinear(h, s, weight, bias) for h, s in pairs])
    return cross_entropy(logits, torch.cat([torch.ones(2 * len(a)), torch.zeros(2 * len(a))]))


def jensen_shannon(anchors: Tensor, partners: Tensor, bias: Tensor, others: Tensor, *, squash: bool) -> Tensor:
    """log(1 + e^-t) of scores that belong together and log(1 + e^t) of those that do not, each averaged."""
    scores = anchors @ partners.T + bias
    scores = 1 / (1 + (-scores).exp()) if squash else scores
    apart = torch.stack([scores[i, j] for i in range(len(others)) for j in others[i]])
    return (1 + (-scores.diagonal()).exp()).log().mean() + (1 + apart.exp()).log().mean()


def edge_reconstruction(h: Tensor, graph: Graph) -> Tensor:
    """The cross-entropy of sigmoid(h h^T) against A + I with the published weights, over all pairs."""
    n = len(h)
    truth = torch.eye(n, dtype=torch.float64)
    truth[graph.rows, graph.indices] = 1
    edges = truth.sum() / 2
    p = 1 / (1 + (-(h @ h.T)).exp())
    of_linked, of_all = (n * n - edges) / edges, n * n / (n * n - edges)
    return (-of_linked * truth * p.log() - (1 - truth) * (1 - p).log()).mean() * of_all
