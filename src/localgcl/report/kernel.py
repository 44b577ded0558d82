r"""How well the random features of a run's loss estimate the kernel, on its own embeddings.

The negative term sums $e^{z_i^T z_k/\tau} = e^{1/\tau}\kappa(z_i, z_k)$, and a feature map estimates $\kappa$ by
$\psi(z_i)^T\psi(z_k)$. $\kappa$ lies between $e^{-2/\tau}$ and 1 whatever the temperature, so it is what the chart shows.
"""

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from localgcl.evaluation.task import normalised_rows
from localgcl.graph.csr import CSR
from localgcl.report.findings import Series
from localgcl.report.reading import Subject

_PAIRS = 200
"""Pairs of each chart: half of them neighbours, whose kernel is large, half drawn at random."""


def read_kernel(subject: Subject, *, seed: int = 0) -> tuple[tuple[Series, ...], str]:
    """Estimated against exact kernel values, a series for each part of the embedding that has a loss of its own.

    Returns:
        The series, and why there are none, where there are none.
    """
    run, method = subject.run, subject.model.method
    # A run from before choices were stored: as the machine that trained would choose, which need not be this one.
    trained_on = "cuda" if run.made.get("gpu") and run.config.training.device != "cpu" else "cpu"
    shared, known = "ranks" in run.made, run.made.get("chosen", {})
    method.resolve(subject.graph.num_nodes, torch.device(trained_on), shared=shared, known=known)
    kernels, note = method.kernels(torch.from_numpy(subject.z))
    generator = torch.Generator().manual_seed(seed)
    pairs, found = _pairs(subject.part.csr, generator), []
    for name, rows, features, tau in kernels:
        x, y = (normalised_rows(rows[end]) for end in pairs)
        assert isinstance(x, Tensor)
        assert isinstance(y, Tensor)
        draw = features.draw(rows.shape[1], tau, generator=generator)
        exact = ((torch.linalg.vecdot(x, y) - 1) / tau).exp()
        estimate = torch.linalg.vecdot(draw.psi(x), draw.psi(y))
        found.append(Series(name or f"{features.num_features:,} frequencies", exact.numpy(), estimate.numpy()))
    return tuple(found), note


def _pairs(csr: CSR, generator: torch.Generator) -> Int[Tensor, "2 pairs"]:
    n, m = csr.num_rows, csr.num_entries
    pairs = torch.randint(n, (2, _PAIRS), generator=generator)
    if m:
        picked = torch.randint(m, (_PAIRS // 2,), generator=generator)
        ends = np.searchsorted(csr.indptr.numpy(), picked.numpy(), side="right") - 1
        pairs[:, : _PAIRS // 2] = torch.stack([torch.from_numpy(ends), csr.indices[picked].long()])
    return pairs
