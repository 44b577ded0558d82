r"""How well the random features of a run's loss estimate the kernel, on its own embeddings.

The negative term sums $e^{z_i^T z_k/\tau} = e^{1/\tau}\kappa(z_i, z_k)$, and a feature map estimates $\kappa$ by
$\psi(z_i)^T\psi(z_k)$. $\kappa$ lies between $e^{-2/\tau}$ and 1 whatever the temperature, so it is what the chart shows.
"""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from localgcl.config import Config
from localgcl.evaluation.task import normalised_rows
from localgcl.graph.csr import CSR
from localgcl.nn.features import MAPS, FeatureMap
from localgcl.nn.memory import encoder_stacks
from localgcl.ops.costs import choose_negatives
from localgcl.report.findings import Series
from localgcl.report.reading import Subject

_PAIRS = 200
"""Pairs of each chart: half of them neighbours, whose kernel is large, half drawn at random."""


def read_kernel(subject: Subject, *, seed: int = 0) -> tuple[tuple[Series, ...], str]:
    """Estimated against exact kernel values, a series for each part of the embedding that has a loss of its own.

    Returns:
        The series, and why there are none, where there are none.
    """
    config = subject.run.config
    if not hasattr(config.options, "negatives"):
        return (), f"The loss of {config.method} has no kernel that is approximated."
    kind = _feature_map(subject)
    if kind is None:
        return (), "The negative term was computed exactly, without random features."
    z = torch.from_numpy(subject.z)
    generator = torch.Generator().manual_seed(seed)
    pairs = _pairs(subject.part.csr, generator)
    tau, found = config.options.temperature, []
    for name, part in _parts(z, subject.graph.num_features, config).items():
        x, y = (normalised_rows(part[end]) for end in pairs)
        assert isinstance(x, Tensor)
        assert isinstance(y, Tensor)
        draw = kind.draw(part.shape[1], tau, generator=generator)
        exact = ((torch.linalg.vecdot(x, y) - 1) / tau).exp()
        estimate = torch.linalg.vecdot(draw.psi(x), draw.psi(y))
        found.append(Series(name or f"{config.options.num_features:,} frequencies", exact.numpy(), estimate.numpy()))
    return tuple(found), ""


def _feature_map(subject: Subject) -> FeatureMap | None:
    """The map that the run trained with; None if it compared all pairs."""
    config, options = subject.run.config, subject.run.config.options
    name = options.negatives
    if name == "auto":
        batch, n = config.training.batch, subject.graph.num_nodes
        widest = max(stack[-1] for stack in encoder_stacks(subject.graph.num_features, config.encoder))
        # "auto" chose by the machine that trained, which need not be this one.
        device = "cuda" if subject.run.made.get("gpu") and config.training.device != "cpu" else "cpu"
        name = choose_negatives(
            min(batch or n, n), widest, options.num_features, options.temperature, device=torch.device(device)
        )
    fixed = config.training.seed if options.frequencies == "fixed" else None
    return None if name == "exact" else MAPS[name](options.num_features, fixed, options.frequency_law)


def _parts(z: Float[Tensor, "n d"], num_features: int, config: Config) -> dict[str, Float[Tensor, "n _"]]:
    """The columns of each channel of hops by its name; all columns where there are no channels."""
    widths = [stack[-1] for stack in encoder_stacks(num_features, config.encoder)]
    if config.encoder.encoder != "hops" or sum(widths) != z.shape[1]:  # principal components mix the channels
        return {"": z}
    return dict(zip(config.encoder.channels, z.split(widths, dim=1), strict=True))


def _pairs(csr: CSR, generator: torch.Generator) -> Int[Tensor, "2 pairs"]:
    n, m = csr.num_rows, csr.num_entries
    pairs = torch.randint(n, (2, _PAIRS), generator=generator)
    if m:
        picked = torch.randint(m, (_PAIRS // 2,), generator=generator)
        ends = np.searchsorted(csr.indptr.numpy(), picked.numpy(), side="right") - 1
        pairs[:, : _PAIRS // 2] = torch.stack([torch.from_numpy(ends), csr.indices[picked].long()])
    return pairs
