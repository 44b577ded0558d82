r"""Theorem 1 in numbers: the error of a linear classifier on the eigen-solution, against its bound.

Let $\lambda_1 \le \lambda_2 \le \dots$ be the eigenvalues of the normalised Laplacian $L = I - D^{-1/2} A D^{-1/2}$, so that
$1 - \lambda_k$ are those of the normalised adjacency, in decreasing order, and $Z^* = U_d (I - \Lambda_d)^{1/2}$ the best
factorisation $Z Z^T$ of the latter with d columns. It minimises the spectral contrastive loss over free vectors; the loss that
is trained is another one, InfoNCE on unit vectors of an encoder.

Printed: for the uniform average over nodes there is a B with $\|B\|_F \le 1/(1-\lambda_d)$ and

$$E_i \|y_i - B^T z^*_i\|^2 \le (1 - \phi)/\lambda_{d+1}.$$

A star of one class has $\phi = 1$ and an error above 0. What the proof gives instead is, with $f_i = \sqrt{vol/deg_i}\,z^*_i$,

$$\sum_i \frac{deg_i}{vol} \|y_i - B^T f_i\|^2 \le \frac{1 - \phi}{\lambda_{d+1}}, \qquad \|B\|_F \le (1 - \lambda_d)^{-1/2}.$$

Proof. Let $G = D^{1/2} Y / \sqrt{vol}$, so $\|G\|_F = 1$ and $tr(G^T L G) = 1 - \phi$: hence at most
$(1 - \phi)/\lambda_{d+1}$ of $\|G\|_F^2$ lies outside of the first d eigenvectors. The left side is $\|G - Z^* B\|_F^2$,
and $B = (I - \Lambda_d)^{-1/2} U_d^T G$ leaves exactly that part. It needs $\lambda_d < 1$: beyond, $Z^*$ has columns of zeros.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from localgcl.datasets import load, sbm
from localgcl.experiments.tables import Table
from localgcl.graph import Graph
from paper.plots import canvas
from paper.store import StudyRow

Array = NDArray[np.float64]

DIMS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
# Eigenvalues of matrices of norm 1 or 2 come with errors of about n times 1e-16; errors and norms inherit them.
_ROUNDING = 1e-9


def default_graphs(benchmarks: Sequence[str] = ()) -> dict[str, Graph]:
    """Block models of three homophilies, the star and the ring; and benchmark graphs, loaded by name."""
    graphs = {f"sbm {share:g}": sbm(400, classes=4, mean_degree=12, homophily=share, features=4) for share in (0.3, 0.6, 0.9)}
    return {**graphs, "star": star(5), "ring": ring(60, classes=3), **{name: load(name) for name in benchmarks}}


def star(leaves: int) -> Graph:
    """A centre, node 0, and its leaves, all of one class."""
    n = leaves + 1
    return Graph.from_edges([0] * leaves, range(1, n), x=np.zeros((n, 1), np.float32), y=[0] * n, name="star").symmetrized()


def ring(n: int, classes: int) -> Graph:
    """A cycle cut into arcs of one class each: all degrees are 2."""
    nodes = np.arange(n)
    y = nodes * classes // n
    return Graph.from_edges(nodes, (nodes + 1) % n, x=np.zeros((n, 1), np.float32), y=y, name="ring").symmetrized()


def measure(graphs: Mapping[str, Graph], dims: Sequence[int] = DIMS) -> list[StudyRow]:
    """A row for each graph and d: both forms of the theorem. O(n^3) time and O(n^2) memory a graph, in float64.

    Edges are made undirected; self-loops and unlabelled and isolated nodes are left out (the row says how many nodes). A d of
    n or more is left out too, because there is no lambda_{d+1}. Where d exceeds the number of positive eigenvalues
    (`within_positive` is false), errors are those of the non-zero columns of Z*, and there is no bound on the norm.
    """
    return [row for name, graph in graphs.items() for row in _rows(name, graph, dims)]


def _rows(name: str, graph: Graph, dims: Sequence[int]) -> list[StudyRow]:
    kept = _simple(graph)
    assert kept.y is not None  # _simple has checked it
    degree = kept.degree.numpy().astype(np.float64)
    scale = 1 / np.sqrt(degree)
    adjacency = kept.to_scipy().toarray().astype(np.float64) * scale[:, None] * scale
    values, vectors = np.linalg.eigh(adjacency)
    values, vectors = values[::-1], vectors[:, ::-1]
    y = np.eye(kept.num_classes)[kept.y.numpy()]
    n, phi = kept.num_nodes, kept.homophily()
    # The share of the labels that each eigenvector explains: weighted by degree, and uniformly. Both add up to 1.
    weighted = vectors.T @ (np.sqrt(degree / degree.sum())[:, None] * y)
    uniform = vectors.T @ y / math.sqrt(n)
    positive = int((values > _ROUNDING).sum())
    rows = []
    for d in (d for d in dims if d < n):
        used = min(d, positive)  # columns of Z* that are not zero
        last, mu = float(values[d - 1]), values[:used]
        laplacian = float(1 - values[d]) if 1 - values[d] > _ROUNDING else 0.0
        bound = (1 - phi) / laplacian if laplacian else math.inf
        norm_printed = 1 / last if abs(last) > _ROUNDING else math.inf
        norm_corrected = 1 / math.sqrt(last) if last > _ROUNDING else math.nan
        error_weighted, norm = _least(weighted[:used], mu)
        error_uniform, _ = _least(uniform[:used], mu)
        # z* itself has rows of length about sqrt(d/n), so B is larger by sqrt(n) than what explains the scaled labels.
        error_printed = _least_within(uniform[:used], mu, norm_printed / math.sqrt(n))
        rows.append(
            {
                "graph": name,
                "nodes": n,
                "dropped": graph.num_nodes - n,
                "homophily": phi,
                "d": d,
                "positive_eigenvalues": positive,
                "within_positive": d <= positive,
                "lambda_next": laplacian,
                "bound": bound,
                "error_weighted": error_weighted,
                "error_uniform": error_uniform,
                "error_uniform_within_norm": error_printed,
                "norm": norm,
                "norm_bound_corrected": norm_corrected,
                "norm_bound_printed": norm_printed,
                "holds_corrected": bool(error_weighted <= bound + _ROUNDING and norm <= norm_corrected + _ROUNDING),
                "holds_printed_error": bool(error_uniform <= bound + _ROUNDING),
                "holds_printed": bool(error_printed <= bound + _ROUNDING),
            }
        )
    return rows


def _simple(graph: Graph) -> Graph:
    """Undirected, without loops, unlabelled and isolated nodes."""
    if graph.y is None:
        raise ValueError(f"graph {graph.name!r} has no labels, and the theorem is about their prediction; pass labels")
    if not bool((graph.y >= 0).any()):
        raise ValueError(f"graph {graph.name!r} has no labelled node, and the theorem is about labels; pass some")
    simple = graph.symmetrized().without_loops().subgraph(graph.y >= 0)
    if simple.num_edges == 0:
        raise ValueError(f"graph {graph.name!r} has no edge between labelled nodes; the theorem needs one")
    return simple.subgraph(simple.degree > 0)


def _least(explained: Array, mu: Array) -> tuple[float, float]:
    """Error and norm of the best B: labels of total square 1, of which eigenvector k explains row k of `explained`."""
    return 1 - float((explained**2).sum()), math.sqrt(float((explained**2 / mu[:, None]).sum()))


def _least_within(explained: Array, mu: Array, radius: float) -> float:
    r"""The least error of classifiers with $\|B\|_F \le$ radius: ridge regression, its penalty t found by bisection.

    $b_k = \sqrt{\mu_k}\,a_k / (\mu_k + t)$, whose norm falls with t. nan where no classifier has such a norm.
    """
    squares = (explained**2).sum(1)

    def excess(t: float) -> float:
        return math.sqrt(float((mu * squares / (mu + t) ** 2).sum())) - radius

    if radius <= 0:
        return math.nan
    # At t = sqrt(sum mu a^2) / radius the norm is below the radius, since mu + t > t.
    t = 0.0 if excess(0.0) <= 0 else float(brentq(excess, 0.0, math.sqrt(float((mu * squares).sum())) / radius, xtol=1e-14))
    return 1 - float(squares.sum()) + float((squares * (t / (mu + t)) ** 2).sum())


COLUMNS = {
    "graph": "graph",
    "nodes": "nodes",
    "homophily": "φ",
    "d": "d",
    "lambda_next": "λ(d+1)",
    "bound": "bound",
    "error_weighted": "error, by degree",
    "norm": "norm",
    "norm_bound_corrected": "its bound",
    "holds_corrected": "corrected holds",
    "error_uniform": "error, uniform",
    "holds_printed_error": "printed error holds",
    "error_uniform_within_norm": "error within printed norm",
    "norm_bound_printed": "printed norm",
    "holds_printed": "printed holds",
}


def table(rows: Sequence[StudyRow]) -> Table:
    """All rows; "outside" where d exceeds the number of positive eigenvalues, so that the theorem does not apply."""
    dropped = ", ".join(dict.fromkeys(f"{row['dropped']} of {row['graph']}" for row in rows if row["dropped"]))
    caption = (
        "Squared error of the best linear classifier on the eigen-solution Z* of the spectral contrastive loss, against the "
        "bound (1 - φ)/λ(d+1). The corrected form holds wherever it applies; the printed one does not."
    )
    notes = [
        "corrected: average weighted by degree, features √(vol/deg) z*, norm at most 1/√(1 - λ(d)).",
        "printed: uniform average, features z*, norm at most 1/(1 - λ(d)); shown for any classifier and for the best one "
        "within that norm.",
        "inf: λ(d+1) = 0, so the bound says nothing (d is below the number of components).",
        "outside: Z* has fewer than d non-zero columns, because the normalised adjacency has fewer positive eigenvalues.",
        f"Isolated and unlabelled nodes are left out ({dropped or 'none'}). Eigenvalues are in float64.",
    ]
    cells = [[_cell(row, name) for name in COLUMNS] for row in rows]
    title = "Theorem 1: error of a linear classifier and its bound"
    return Table("theorem-error", title, caption, list(COLUMNS.values()), cells, notes)


def _cell(row: StudyRow, name: str) -> str:
    value = row[name]
    if isinstance(value, bool):
        return ("yes" if value else "no") if row["within_positive"] else "outside"
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:.4g}"
    return str(value)


def plot(rows: Sequence[StudyRow], path: Path) -> None:
    """Error against d, a panel a graph: the bound, the error weighted by degree, and the uniform one it is printed for."""
    names = list(dict.fromkeys(row["graph"] for row in rows))
    columns = min(len(names), 4)
    with canvas(path, -(-len(names) // columns), columns, (3.2, 2.9)) as (figure, grid):
        for axes in grid[len(names) :]:
            axes.set_visible(False)
        for axes, name in zip(grid, names, strict=False):
            mine = [row for row in rows if row["graph"] == name]
            inside = [row for row in mine if row["within_positive"]]
            finite = [row for row in inside if math.isfinite(row["bound"])]
            axes.plot(*_points(finite, "bound"), color="black", marker="_", linestyle="--", label="bound (1 - φ)/λ(d+1)")
            axes.plot(*_points(inside, "error_weighted"), "o-", color="C0", markersize=4, label="error, weighted by degree")
            axes.plot(*_points(inside, "error_uniform"), "s-", color="C1", markersize=3.5, label="error, uniform")
            norm = "error, uniform, within the printed norm"
            axes.plot(*_points(inside, "error_uniform_within_norm"), "^:", color="C3", markersize=3.5, label=norm)
            axes.set_xscale("log", base=2)
            axes.set_xlim(0.8, 1.25 * max(2, *(row["d"] for row in mine)))
            axes.set_ylim(-0.04, 1.3)  # the labels' total is 1: a bound above it says nothing
            if len(inside) < len(mine):
                axes.axvspan(1.1 * mine[0]["positive_eigenvalues"], 2 * mine[-1]["d"], color="0.9", label="no such Z*")
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.set_title(f"{name}, φ = {mine[0]['homophily']:.2f}")
            axes.set_xlabel("d")
            axes.grid(visible=True, alpha=0.3)
        for axes in grid[: len(names) : columns]:
            axes.set_ylabel("squared error")
        handles, labels = grid[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)


def _points(rows: Sequence[StudyRow], name: str) -> tuple[list[int], list[float]]:
    return [row["d"] for row in rows], [row[name] for row in rows]
