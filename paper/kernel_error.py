r"""How far the kernelised loss is from the exact one, for given embeddings of a graph.

The kernelised loss replaces $\sum_k e^{z_i^T z_k/\tau}$ by $e^{1/\tau}\,\psi(z_i)^T \sum_k \psi(z_k)$ (Eq. 9). Theorem 2 bounds
the error of one pair of vectors; training sees the logarithm of a sum over all nodes, and its gradient. Both are measured.

The gradient is noisier than the value: a frequency is about $\sqrt{d/\tau}$ long, and its noise is that many times larger in
the gradient. Two gradients are compared: that of the whole loss, and that of the negative term alone, which is estimated.
"""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from localgcl.experiments.tables import Table
from localgcl.graph import Graph
from localgcl.losses.local import LocalTerms, local_terms, positive_term, unit_rows
from localgcl.nn.features import MAPS, FeatureMap
from localgcl.ops.negatives import exact_log_sums, kernel_node_log_sums
from paper.plots import canvas, size_label
from paper.store import StudyRow

NUM_FEATURES = (256, 512, 1024, 2048, 4096, 8192, 16384)


def measure(
    z: Float[Tensor, "n d"],
    graph: Graph,
    *,
    temperature: float = 0.5,
    num_features: Sequence[int] = NUM_FEATURES,
    maps: Sequence[str] = ("rff", "orf", "sorf"),
    draws: int = 5,
    seed: int = 0,
) -> list[StudyRow]:
    """A row for each map and D. O(draws n d D) time a row (SORF: log d for d), and O(n^2 d) once for the exact loss.

    Args:
        z: Embeddings, any scale; row i belongs to node i of `graph`.
        graph: As the loss sees it, that is prepared: row i lists the neighbours of node i.
        temperature: tau.
        num_features: D.
        maps: Names of `localgcl.nn.features.MAPS`.
        draws: How many independent draws of frequencies to average over: two or more.
        seed: Of the first draw; draw k of every row has seed + k.
    """
    if draws < 2:
        raise ValueError(f"draws is {draws}; a deviation over draws needs 2 or more, for example 5")
    z = z.detach()
    exact, exact_gradient = _with_gradient(z, graph, temperature, "exact")
    attraction = _attraction(z, graph, temperature)
    unit, alive = unit_rows(z)
    exact_sums = exact_log_sums(unit, alive, temperature)[alive]
    rows = []
    for name in maps:
        for count in num_features:
            differences, errors, biases, cosines, repulsions, clamped = [], [], [], [], [], []
            for draw in range(draws):
                maker = MAPS[name](count, fixed_seed=seed + draw)  # both calls below use the same frequencies
                terms, gradient = _with_gradient(z, graph, temperature, maker)
                features = maker.draw(z.shape[1], temperature, device=z.device, dtype=unit.dtype)
                sums = kernel_node_log_sums(unit, alive, features, lambda vector: vector).logs[alive] + features.offset
                relative = (sums - exact_sums).double().expm1()
                differences.append(_value(terms) - _value(exact))
                errors.append(float(relative.abs().mean()))
                biases.append(float(relative.mean()))
                cosines.append(_cosine(gradient, exact_gradient))
                repulsions.append(_cosine(gradient - attraction, exact_gradient - attraction))
                clamped.append(float(terms.clamped))
            rows.append(
                {
                    "graph": graph.name,
                    "nodes": graph.num_nodes,
                    "d": z.shape[1],
                    "tau": temperature,
                    "map": name,
                    "D": count,
                    "draws": draws,
                    "exact_loss": _value(exact),
                    "surrogate_loss": _value(exact) + statistics.fmean(differences),
                    "difference": statistics.fmean(differences),
                    "difference_spread": statistics.stdev(differences),
                    "sum_error": statistics.fmean(errors),
                    "sum_bias": statistics.fmean(biases),
                    "clamped": statistics.fmean(clamped),
                    "gradient_cosine": statistics.fmean(cosines),
                    "gradient_cosine_least": min(cosines),
                    "negative_gradient_cosine": statistics.fmean(repulsions),
                }
            )
    return rows


def _with_gradient(
    z: Tensor, graph: Graph, temperature: float, negatives: Literal["exact"] | FeatureMap
) -> tuple[LocalTerms, Float[Tensor, " entries"]]:
    """Terms of the loss, and its gradient with respect to z, flat and in float64."""
    leaf = z.clone().requires_grad_()
    terms = local_terms(leaf, graph, temperature=temperature, negatives=negatives)
    (gradient,) = torch.autograd.grad(terms.positive + terms.negative, leaf)
    return terms, gradient.double().flatten()


def _attraction(z: Tensor, graph: Graph, temperature: float) -> Float[Tensor, " entries"]:
    """The gradient of the positive term, which is the same for all maps."""
    leaf = z.clone().requires_grad_()
    total = positive_term(*unit_rows(leaf), graph, temperature) / graph.num_nodes
    (gradient,) = torch.autograd.grad(total, leaf)
    return gradient.double().flatten()


def _cosine(a: Float[Tensor, " entries"], b: Float[Tensor, " entries"]) -> float:
    return float(torch.nn.functional.cosine_similarity(a, b, dim=0))


def _value(terms: LocalTerms) -> float:
    return float(terms.positive.detach().double() + terms.negative.detach().double())


def table(rows: Sequence[StudyRow]) -> Table:
    """A line for each map and D."""
    first = rows[0]
    lines = [
        [
            row["map"],
            f"{row['D']}",
            f"{row['surrogate_loss']:.4f}",
            f"{row['difference']:+.4f} ± {row['difference_spread']:.4f}",
            f"{row['sum_error']:.2%}",
            f"{row['clamped']:.2%}",
            f"{row['gradient_cosine']:.4f}",
            f"{row['gradient_cosine_least']:.4f}",
            f"{row['negative_gradient_cosine']:.4f}",
        ]
        for row in rows
    ]
    caption = (
        f"The kernelised loss on {first['graph']} ({first['nodes']} nodes, d = {first['d']}, τ = {first['tau']:g}) beside the "
        f"exact one, {first['exact_loss']:.4f}: mean ± standard deviation of the difference over {first['draws']} draws of the "
        "frequencies. The value is close, while the gradient of a single draw is noisy."
    )
    notes = [
        "error of sums: relative error of a node's sum over all nodes, mean over nodes.",
        "clamped: share of nodes whose estimated sum was below its true lower bound.",
        "cosine: between the gradients of both losses with respect to the embeddings, mean and smallest over draws; for the "
        "negative term alone, mean over draws.",
    ]
    columns = ["map", "D", "loss", "difference", "error of sums", "clamped", "cosine", "smallest", "negative term"]
    return Table("kernel-error", "The kernelised loss beside the exact one", caption, columns, lines, notes)


def plot(rows: Sequence[StudyRow], path: Path) -> None:
    """Difference of the loss, error of the sums, and cosine of the gradients, against D, a line a map."""
    first = rows[0]
    counts = sorted({row["D"] for row in rows})
    with canvas(path, 1, 3, (3.7, 3.4)) as (figure, (left, middle, right)):
        from matplotlib import ticker  # after the canvas, which names the extra where it is missing

        figure.suptitle(f"{first['graph']}: {first['nodes']:,} nodes, d = {first['d']:,}, τ = {first['tau']:g}")
        for place, name in enumerate(dict.fromkeys(row["map"] for row in rows)):
            mine = sorted((row for row in rows if row["map"] == name), key=lambda row: int(row["D"]))
            x = [row["D"] * 1.04 ** (place - 1) for row in mine]  # side by side, so that bars do not hide each other
            style: dict[str, Any] = {"marker": "os^D"[place % 4], "markersize": 4, "color": f"C{place}", "label": name}
            left.errorbar(
                x, [row["difference"] for row in mine], yerr=[row["difference_spread"] for row in mine], capsize=2, **style
            )
            middle.plot(x, [row["sum_error"] for row in mine], **style)
            right.plot(x, [row["gradient_cosine"] for row in mine], **style)
            right.plot(x, [row["negative_gradient_cosine"] for row in mine], **style | {"linestyle": ":"})
        left.axhline(0, color="black", linewidth=0.8)
        left.set(ylabel="surrogate minus exact loss")
        middle.set(ylabel="relative error of a node's sum", yscale="log")
        middle.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        middle.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g}%")
        middle.yaxis.set_minor_formatter(ticker.NullFormatter())
        right.set(ylabel="cosine of the gradients", title="dotted: of the negative term's", ylim=(0, 1.02))
        for axes in (left, middle, right):
            axes.set_xscale("log", base=2)
            axes.set_xticks(counts, labels=[size_label(count) for count in counts], rotation=45)
            axes.set_xlabel("D")
            axes.grid(visible=True, which="major", alpha=0.3)
        left.legend(frameon=False)
