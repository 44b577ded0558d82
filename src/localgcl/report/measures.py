r"""What panels read of a run: its loss over steps, scores, degrees and homophily, and kernel values.

Scores are those of the run beside its encoder before training and the raw features, by the probe of `localgcl evaluate`. A
report should be quick, so all are computed on the same few splits, and on few nodes of each.

Kernel values tell how well the random features of the loss estimate the kernel, on the run's own embeddings. The negative
term sums $e^{z_i^T z_k/\tau} = e^{1/\tau}\kappa(z_i, z_k)$, and a feature map estimates $\kappa$ by $\psi(z_i)^T\psi(z_k)$.
$\kappa$ lies between $e^{-2/\tau}$ and 1 whatever the temperature, so it is what the chart shows.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from localgcl.datasets.splits import OWN, drawn_splits
from localgcl.evaluation import evaluate
from localgcl.evaluation.task import normalised_rows
from localgcl.graph import Split
from localgcl.graph.csr import CSR
from localgcl.graph.statistics import edge_homophily, homophily_by_chance
from localgcl.report.findings import Score, Series
from localgcl.report.nodes import Subject
from localgcl.training import RunFolder
from localgcl.training.fit import random_init, raw_features

_NOT_TERMS = ("step", "seconds", "clamped", "spread", "rank")
"""Columns of metrics.csv that are no terms of the loss: clocks and signs of health."""
_POINTS = 1000
"""Points of a line, at most; a screen does not show more."""
SPLITS = 5
"""Splits, at most."""
MOST = (2000, 1000, 10_000)
"""Nodes of a split to train, validate and test on, at most: the probe then takes a minute on two cores, whatever the graph."""
_PAIRS = 200
"""Pairs of each chart: half of them neighbours, whose kernel is large, half drawn at random."""


def read_losses(run: RunFolder) -> tuple[tuple[Series, ...], str]:
    """The loss and its terms over steps, from metrics.csv, and the reason if there are none."""
    rows = run.read_metrics()
    if not rows:
        return (), "The run has no metrics.csv, or trained no step."
    every = -(-len(rows) // _POINTS)
    kept = rows[::every] if (len(rows) - 1) % every == 0 else [*rows[::every], rows[-1]]
    # The loss first, whatever the order of the columns.
    names = dict.fromkeys(["loss", *(name for row in rows for name in row if name not in _NOT_TERMS)])
    lines = []
    for name in names:
        points = [(row["step"], row[name]) for row in kept if name in row]
        x, y = np.array(points, dtype=np.float32).reshape(-1, 2).T
        lines.append(Series(name, np.ascontiguousarray(x), np.ascontiguousarray(y)))
    return tuple(lines), ""


def read_scores(subject: Subject, *, seed: int = 0) -> tuple[tuple[Score, ...], str, str]:
    """The rows of the table, the protocol in one sentence, and the reason if there are no rows."""
    graph, config, path = subject.graph, subject.run.config, subject.run.path
    if graph.y is None or not bool((graph.y >= 0).any()):
        return (), "", "The graph has no labels to score against; give --labels to localgcl train."
    if subject.is_sample:
        return (), "", f"Scores of {graph.num_nodes:,} nodes are left to their own command: localgcl evaluate {path}"
    embedded: dict[str, Callable[[], Tensor]] = {config.method: lambda: torch.from_numpy(subject.z)}
    if subject.model.method.learns:
        embedded |= {"random-init": lambda: random_init(graph, config), "raw-features": lambda: raw_features(graph, config)}
    rows: list[Score] = []
    protocol = ""
    try:
        drawn, made = (graph.splits, OWN) if graph.splits else drawn_splits(graph, SPLITS, seed)
        splits = [_thinned(split, graph.y, seed) for split in drawn[:SPLITS]]
        for name, embed in embedded.items():
            z = embed()
            scores = evaluate(z, graph, splits, seed=seed)
            deviation = scores.std if len(scores.values) > 1 else None
            rows.append(Score(name, f"{scores.metric} in %", scores.mean, deviation, int(z.shape[1])))
            protocol = f"Mean over {scores.over} ({made}{_left_out(drawn, splits)}); {scores.protocol}."
    except ValueError as error:  # labels that cannot be scored, such as a class of one node
        return (), "", f"Scores could not be computed: {error}"
    return tuple(rows), protocol, ""


def _thinned(split: Split, y: Tensor, seed: int) -> Split:
    """The split with at most `MOST` labelled nodes in each part, drawn at random."""
    generator = torch.Generator().manual_seed(seed)
    parts: list[Tensor] = []
    for nodes, most in zip((split.train, split.val, split.test), MOST, strict=True):
        known = nodes[y[nodes] >= 0]
        parts.append(known[torch.randperm(len(known), generator=generator)[:most].sort().values])
    train, val, test = parts
    return Split(train, val, test, split.name)


def _left_out(drawn: Sequence[Split], splits: Sequence[Split]) -> str:
    """Which splits and nodes were left out, in words."""
    fewer_splits = f", the first {len(splits)} of {len(drawn)}" if len(splits) < len(drawn) else ""
    fewer = any(
        len(few.train) < len(all.train) or len(few.test) < len(all.test) for few, all in zip(splits, drawn, strict=False)
    )
    train, val, test = MOST
    at_most = f"at most {train:,} nodes to train, {val:,} to validate and {test:,} to test on"
    return fewer_splits + f", {at_most}: localgcl evaluate uses all" * fewer


def degrees_of(edges: CSR) -> Series:
    """Number of nodes (y) by degree (x)."""
    degree, count = np.unique(edges.degree.numpy(), return_counts=True)
    return Series("nodes", degree.astype(np.float32), count.astype(np.float32))


def homophily_of(subject: Subject) -> dict[str, float]:
    """The share of edges within a class, and what it would be if ends of edges were joined at random; empty without labels."""
    y, edges = subject.graph.y, subject.edges
    if y is None:
        return {}
    found = edge_homophily(edges, y)
    if np.isnan(found):
        return {}
    return {"in this graph": found, "by chance": homophily_by_chance(edges, y)}


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
