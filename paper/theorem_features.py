r"""Theorem 2 in numbers: how far random features are from the kernel, against the bound.

For unit vectors x, y and $\kappa(x, y) = e^{-\|x-y\|^2/(2\tau)}$, the theorem says of D independent frequencies that, with
probability at least $1 - \epsilon$,

$$|\psi(x)^T\psi(y) - \kappa(x, y)| < \frac{1 - e^{-4/\tau}}{\sqrt{2 D \epsilon}},$$

by Chebyshev's inequality from the variance $(1 - e^{-z^2})^2/(2D)$, $z^2 = \|x-y\|^2/\tau \le 4/\tau$. It speaks of one pair
of vectors, and of frequencies from $N(0, I/\tau)$; the printed law $N(0, \tau I)$ estimates another kernel. It does not cover
ORF and SORF, which the paper goes on to use: ORF is unbiased and varies less, SORF is biased.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from localgcl.experiments.tables import Table
from localgcl.nn.features import MAPS, FeatureMap
from paper.plots import canvas, size_label
from paper.store import StudyRow

COSINES = (-1.0, -0.5, 0.0, 0.5, 0.9)


def measure(
    *,
    dim: int = 256,
    num_features: Sequence[int] = (256, 1024, 4096, 16384),
    temperatures: Sequence[float] = (0.2, 0.35, 0.5, 0.7, 1.0),
    cosines: Sequence[float] = COSINES,
    maps: Sequence[str] = ("rff", "orf", "sorf"),
    epsilon: float = 0.05,
    draws: int = 100,
    seed: int = 0,
) -> list[StudyRow]:
    r"""A row for each map, law, tau, D and pair of vectors. O(draws d D) time for the largest D (SORF: log d for d).

    The printed law is measured with RFF. One draw is used for all tau, since its frequencies are those of tau = 1 divided by
    $\sqrt\tau$ (under the printed law: multiplied), and its first D frequencies for a smaller D.

    Args:
        dim: d, of the vectors.
        num_features: D.
        temperatures: tau.
        cosines: x.y of the pairs.
        maps: Names of `localgcl.nn.features.MAPS` whose features are sines and cosines.
        epsilon: Of the bound.
        draws: Independent draws of frequencies.
        seed: Of draws and vectors.
    """
    generator = torch.Generator().manual_seed(seed)
    fan = _fan(dim, cosines, generator)
    rows = []
    for name in maps:
        angles = _angles(MAPS[name](max(num_features)), fan, draws, generator)
        laws = ("correct", "printed") if name == "rff" else ("correct",)
        for law in laws:
            for tau in temperatures:
                terms = torch.cos(angles * (tau**-0.5 if law == "correct" else tau**0.5)).double()
                for count in num_features:
                    estimates = terms[:, :, :count].mean(2).numpy()
                    found = zip(cosines, estimates.T, strict=True)
                    rows += [_row(name, law, dim, count, tau, cosine, values, epsilon) for cosine, values in found]
    return rows


def _fan(dim: int, cosines: Sequence[float], generator: torch.Generator) -> Float[Tensor, "rows {dim}"]:
    """A unit vector x in general position, then for each cosine a unit vector y with x.y = cosine."""
    basis, _ = torch.linalg.qr(torch.randn(dim, 2, generator=generator, dtype=torch.float64))
    x, y = basis.T
    return torch.stack([x, *(c * x + math.sqrt(1 - c**2) * y for c in cosines)])


def _angles(maker: FeatureMap, fan: Tensor, draws: int, generator: torch.Generator) -> Float[Tensor, "draws pairs D"]:
    """omega.(x - y) at tau = 1; psi(x).psi(y) is the mean of its cosine over frequencies."""
    out = torch.empty(draws, len(fan) - 1, maker.num_features)
    differences = (fan[0] - fan[1:]).float()
    for row in out:
        frequencies = maker.draw(fan.shape[1], 1.0, generator=generator).frequencies
        if frequencies is None:
            raise ValueError(f"{type(maker).__name__} has no frequencies; the theorem is about 'rff', and 'orf' and 'sorf'")
        row[:] = frequencies.angles(differences)
    return out


def _row(
    name: str, law: str, dim: int, count: int, tau: float, cosine: float, estimates: NDArray[np.float64], epsilon: float
) -> StudyRow:
    kernel = math.exp((cosine - 1) / tau)
    errors = estimates - kernel
    bound = (1 - math.exp(-4 / tau)) / math.sqrt(2 * count * epsilon)
    # The smallest value that at most a share epsilon of the draws exceeds, without interpolating between draws.
    quantile = float(np.quantile(np.abs(errors), 1 - epsilon, method="higher"))
    return {
        "map": name,
        "law": law,
        "d": dim,
        "D": count,
        "tau": tau,
        "cosine": cosine,
        "draws": len(errors),
        "kernel": kernel,
        "bias": float(errors.mean()),
        "bias_error": float(errors.std(ddof=1) / math.sqrt(len(errors))),
        "rms": float(np.sqrt((errors**2).mean())),
        "rms_formula": (1 - math.exp(-2 * (1 - cosine) / tau)) / math.sqrt(2 * count),
        "epsilon": epsilon,
        "quantile": quantile,
        "bound": bound,
        "holds": quantile < bound,
    }


def table(rows: Sequence[StudyRow]) -> Table:
    """A line for each map, law, tau and D: the worst of the pairs against the bound, and bias and deviation."""
    lines = []
    for group in _groups(rows, ("map", "law", "tau", "D")):
        any_row, worst = group[0], max(group, key=_quantile)
        bias = max(group, key=lambda row: abs(row["bias"]))
        ratios = [row["rms"] / row["rms_formula"] for row in group]
        lines.append(
            [
                any_row["map"],
                any_row["law"],
                f"{any_row['tau']:g}",
                str(any_row["D"]),
                f"{worst['quantile']:.4f}",
                f"{any_row['bound']:.4f}",
                "yes" if all(row["holds"] for row in group) else "no",
                f"{min(ratios):.2f} to {max(ratios):.2f}",
                f"{bias['bias']:+.4f} ± {bias['bias_error']:.4f}",
            ]
        )
    columns = ["map", "law", "τ", "D", "quantile of error", "bound", "holds", "rms / formula", "largest bias"]
    pairs = ", ".join(dict.fromkeys(f"{row['cosine']:g}" for row in rows))
    first = rows[0]
    laws = {"correct": "N(0, I/τ)", "printed": "N(0, τI)"}
    held = {law: [row["holds"] for row in rows if row["law"] == law] for law in laws}
    counts = [f"{sum(h)} of {len(h)} cells with frequencies from {laws[law]} (law: {law})" for law, h in held.items() if h]
    caption = (
        f"Error of ψ(x)ᵀψ(y) as an estimate of the Gaussian kernel, over {first['draws']} draws, for unit vectors in "
        f"{first['d']} dimensions with cosine {pairs}. The bound holds in {' and in '.join(counts)}."
    )
    notes = [
        f"quantile: the error that a share {first['epsilon']:g} of the draws exceeds, for the worst pair. bound: "
        "(1 - exp(-4/τ))/√(2Dε).",
        "rms / formula: root mean square error divided by (1 - exp(-z²))/√(2D), smallest and largest of the pairs.",
        "largest bias: mean error and its standard error, for the pair where it is largest.",
    ]
    title = "Theorem 2: error of random features and its bound"
    return Table("theorem-features", title, caption, columns, lines, notes)


def plot(rows: Sequence[StudyRow], path: Path) -> None:
    """The worst pair's quantile: against D at the middle tau, and as a share of the bound against tau at the largest D."""
    taus = sorted({row["tau"] for row in rows})
    tau, largest = taus[len(taus) // 2], max(row["D"] for row in rows)
    with canvas(path, 1, 2, (4.6, 3.6)) as (figure, (left, right)):
        for place, (name, law) in enumerate(dict.fromkeys((row["map"], row["law"]) for row in rows)):
            mine = [row for row in rows if (row["map"], row["law"]) == (name, law)]
            label = name if law == "correct" else f"{name}, frequencies as printed"
            style: dict[str, Any] = {"marker": "os^D"[place % 4], "markersize": 4, "linewidth": 1.3, "label": label}
            groups = [max(g, key=_quantile) for g in _groups([row for row in mine if row["tau"] == tau], ("D",))]
            left.plot([row["D"] for row in groups], [row["quantile"] for row in groups], **style)
            groups = [max(g, key=_quantile) for g in _groups([row for row in mine if row["D"] == largest], ("tau",))]
            right.plot([row["tau"] for row in groups], [row["quantile"] / row["bound"] for row in groups], **style)
        bounds = {row["D"]: row["bound"] for row in rows if row["tau"] == tau}
        left.plot(list(bounds), list(bounds.values()), color="black", linestyle="--", label="bound")
        right.axhline(1, color="black", linestyle="--")
        left.set(xlabel="D", ylabel=f"{1 - rows[0]['epsilon']:.0%} quantile of |error|, worst pair", title=f"τ = {tau:g}")
        left.set_xscale("log", base=2)
        left.set_yscale("log")
        left.set_xticks(list(bounds), labels=[size_label(count) for count in bounds])
        right.set(xlabel="τ", ylabel="quantile / bound", yscale="log", title=f"D = {largest:,}")
        for axes in (left, right):
            axes.grid(visible=True, which="major", alpha=0.3)
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)


def _quantile(row: StudyRow) -> float:
    return float(row["quantile"])


def _groups(rows: Sequence[StudyRow], names: Sequence[str]) -> list[list[StudyRow]]:
    """Rows that agree in `names`, in the order of their first."""
    groups: dict[tuple[Any, ...], list[StudyRow]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return list(groups.values())
