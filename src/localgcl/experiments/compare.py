"""Scores side by side: runs, the same encoder untrained, and the raw features, on the same splits."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from localgcl.datasets.source import Source
from localgcl.datasets.splits import splits_of
from localgcl.evaluation import PRESETS, Scores, evaluate
from localgcl.graph import Graph, Split
from localgcl.graph.prepare import column_statistics, prepare
from localgcl.io.files import read_labelled_embeddings
from localgcl.methods import find_method
from localgcl.methods.settings import untrained
from localgcl.training import Model, RunFolder, fit


def compare_runs(
    folders: Sequence[str | os.PathLike[str]],
    *,
    protocol: str = "linear",
    num_splits: int | None = None,
    seed: int = 0,
    baselines: bool = True,
    device: str = "cpu",
) -> dict[str, Scores]:
    """Scores by row: the runs' method and, unless left out, random-init and raw-features.

    The splits are those of the graph. Where it has none, one run is scored on `num_splits` (20) random ones; of several
    runs, which differ in their seeds, each is scored on one split (or `num_splits`) drawn with its own seed, as in the paper.
    """
    runs = [RunFolder.open(folder) for folder in folders]
    first = runs[0]
    for run in runs:
        if run.source != first.source or run.config.method != first.config.method:
            raise ValueError(
                f"{run.path} was trained on another graph or with another method than {first.path}; compare them apart"
            )
    if not first.source:
        raise ValueError(
            f"{first.path} does not say which graph it was trained on; embed the graph and evaluate the table instead"
        )
    graph = Source(**first.source).read()
    rows: dict[str, list[Scores]] = {}
    for run in runs:
        alone = len(runs) == 1
        splits = _splits(protocol, graph, num_splits or (20 if alone else 1), seed if alone else run.config.training.seed)
        for name, z in _rows(run, graph, baselines, device):
            rows.setdefault(name, []).append(evaluate(z, graph, splits, protocol=protocol, seed=seed, device=device))
    return {name: scores[0] if len(scores) == 1 else _over_runs(scores) for name, scores in rows.items()}


def score_table(
    embeddings: str | os.PathLike[str],
    labels: str | os.PathLike[str],
    *,
    protocol: str = "linear",
    num_splits: int = 20,
    seed: int = 0,
    device: str = "cpu",
) -> Scores:
    """Scores of a file of embeddings against a file of labels, matched by node id."""
    z, y = read_labelled_embeddings(embeddings, labels)
    nodes = Graph.from_edges([], [], x=np.zeros((len(z), 1), dtype=np.float32), y=y)
    return evaluate(z, nodes, _splits(protocol, nodes, num_splits, seed), protocol=protocol, seed=seed, device=device)


def _splits(protocol: str, graph: Graph, num: int, seed: int) -> Sequence[Split] | None:
    """None for a protocol that looks at all nodes at once."""
    return splits_of(graph, num, seed) if protocol not in PRESETS or PRESETS[protocol].uses_splits else None


def _rows(run: RunFolder, graph: Graph, baselines: bool, device: str) -> list[tuple[str, Any]]:
    config = run.config
    rows: list[tuple[str, Any]] = [(config.method, Model.load(run, device).embed(graph))]
    if baselines and find_method(config.method).trained:
        rows.append(("random-init", fit(graph, untrained(config).replace(device=device)).embed(graph)))
        prepared = prepare(graph, config.preparation, column_statistics(graph, config.preparation.scaling))
        rows.append(("raw-features", prepared.x))
    return rows


def _over_runs(scores: list[Scores]) -> Scores:
    """One value a run: its mean over splits."""
    first = scores[0]
    validation = [[value for value in one.validation if value is not None] for one in scores]
    return Scores(
        protocol=first.protocol,
        metric=first.metric,
        values=tuple(one.mean for one in scores),
        validation=tuple(float(np.mean(values)) if values else None for values in validation),
        names=tuple(f"run {index}" for index in range(len(scores))),
        over=f"{len(scores)} runs, {first.over} each",
        seed=first.seed,
    )
