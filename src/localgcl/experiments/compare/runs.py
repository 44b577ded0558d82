"""Scores of run folders side by side, with the same encoders untrained and the raw features, on the same splits."""

import dataclasses
import json
import os
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from localgcl.config import Config
from localgcl.datasets.splits import choose_splits
from localgcl.evaluation import PRESETS, Scores, evaluate
from localgcl.evaluation.evaluator import EvaluationOptions, evaluate_targets
from localgcl.experiments.sweep import decisive_settings
from localgcl.graph import Graph
from localgcl.io.ids import Nodes
from localgcl.io.labels import Labels
from localgcl.io.targets import read_answers, read_labelled_embeddings
from localgcl.methods import find_method
from localgcl.system.text import shown
from localgcl.training import Model, RunFolder
from localgcl.training.fit import random_init, raw_features

Groups = dict[str, list[RunFolder]]
"""Runs by the label of the row that they are averaged in."""


@dataclasses.dataclass(frozen=True)
class Answers:
    """What embeddings are to predict, and how they are scored.

    Args:
        graph: With the classes of nodes, and perhaps splits.
        options: Protocol, splits and seed.
        targets: Other targets of each node, which are then scored instead of classes; NaN where unknown.
    """

    graph: Graph
    options: EvaluationOptions
    targets: NDArray[Any] | None = None

    @classmethod
    def known(cls, graph: Graph, options: EvaluationOptions, found: Labels | NDArray[Any]) -> "Answers":
        """From labels or targets that were read from a file."""
        if isinstance(found, Labels):
            return cls(graph.derived(y=torch.from_numpy(found.numbers), class_names=found.names), options)
        return cls(graph, options, found)

    def score(self, z: Any, num: int, drawn: int) -> Scores:
        """Scores on the graph's splits, or on `num` that are drawn with the seed `drawn`."""
        how, protocol = self.options, self.options.protocol
        if self.targets is not None:
            if protocol != "linear":
                raise ValueError(
                    f"protocol {protocol!r:.80} is for classes, and these targets are none; leave it out (--protocol)"
                )
            kind: Any = how.task
            return evaluate_targets(z, self.targets, task=kind, train_share=how.train_share, num_splits=num, seed=drawn)
        if protocol not in PRESETS or PRESETS[protocol].uses_splits:
            chosen = choose_splits(self.graph, num=num, seed=drawn, train_share=how.train_share)
        elif how.train_share is not None:
            raise ValueError(f"protocol {protocol!r} clusters all nodes at once; leave train_share (--train-share) out")
        else:
            chosen = None
        splits = None if chosen is None else chosen.splits
        scores = evaluate(z, self.graph, splits, protocol=protocol, seed=how.seed, device=how.device)
        return dataclasses.replace(scores, splits="" if chosen is None else chosen.how)


def compare_runs(
    folders: Sequence[str | os.PathLike[str]],
    options: EvaluationOptions,
    *,
    labels: str | os.PathLike[str] | None = None,
    id: str | None = None,
    target_columns: Sequence[str] = (),
) -> dict[str, Scores]:
    """Scores by row: the runs and, unless left out, random-init and raw-features, once for each encoder and scaling.

    Runs must be of one graph. Those that differ only in their seed share a row, the mean over them; all others have one each.
    The splits are those of the graph. Where it has none, or `train_share` is given, they are drawn (see `drawn_splits`). If no
    row has several runs, all are scored on the same 20 splits; else each run is scored on one split drawn with its own seed, as
    in the paper. The option `splits` gives another number.

    They are scored against the classes of the graph, or against those or other targets in the file `labels` (see `evaluate`).
    """
    runs = [RunFolder.open(folder) for folder in folders]
    graph, device = _graph(runs), options.device
    groups = _by_settings(runs)
    alone = all(len(members) == 1 for members in groups.values())
    if labels is not None:
        nodes = Nodes(pa.array(graph.node_ids), f"the graph of {shown(runs[0].path)}", numbered=False)
        found = read_answers(labels, nodes, id=id, wanted=target_columns, task=options.task)
        answers = Answers.known(graph, options, found)
    elif target_columns or options.task not in ("auto", "classes"):
        raise ValueError("a graph has classes only; give the file of other targets (--labels)")
    else:
        answers = Answers(graph, options)

    def score(run: RunFolder, z: Any) -> Scores:
        if alone:
            return answers.score(z, options.splits or 20, options.seed)
        return answers.score(z, options.splits or 1, run.config.training.seed)

    def row(members: list[RunFolder], embed: Callable[[RunFolder], Any]) -> Scores:
        scores = [score(run, embed(run)) for run in members]
        return scores[0] if len(scores) == 1 else _over_runs(scores)

    def init(run: RunFolder) -> Any:
        return random_init(graph, run.config, device)

    def raw(run: RunFolder) -> Any:
        return raw_features(graph, run.config)

    rows = {label: row(members, lambda run: Model.load(run, device).embed(graph)) for label, members in groups.items()}
    if options.baselines:
        trained = {label: members for label, members in groups.items() if find_method(members[0].config.method).learns}
        encoders = _baseline("random-init", trained, lambda config: (config.encoder, config.preparation), alone)
        scalings = _baseline("raw-features", trained, lambda config: config.preparation.scaling, alone)
        rows |= {label: row(members, init) for label, members in encoders.items()}
        rows |= {label: row(members, raw) for label, members in scalings.items()}
    return rows


def score_table(
    embeddings: str | os.PathLike[str],
    labels: str | os.PathLike[str],
    options: EvaluationOptions,
    *,
    id: str | None = None,
    target_columns: Sequence[str] = (),
) -> Scores:
    """Scores of a file of embeddings against a file of labels, matched by node id: the column `id` of the labels."""
    z, found = read_labelled_embeddings(embeddings, labels, id=id, wanted=target_columns, task=options.task)
    nodes = Graph.from_edges([], [], x=np.zeros((len(z), 1), dtype=np.float32))  # to hold the labels
    return Answers.known(nodes, options, found).score(z, options.splits or 20, options.seed)


def _graph(runs: Sequence[RunFolder]) -> Graph:
    """The graph that all runs were trained on."""
    first = runs[0]
    if not first.source:
        raise ValueError(
            f"{first.path} does not say which graph it was trained on; embed the graph and evaluate the table instead"
        )
    for run in runs:
        if run.source != first.source:
            raise ValueError(f"{run.path} was trained on another graph than {first.path}; evaluate them apart")
    return first.graph_source.read()


def _by_settings(runs: Sequence[RunFolder]) -> Groups:
    """Runs that differ only in their seed, by method; where a method has several settings, also by the first folder."""
    found: dict[tuple[str, str], list[RunFolder]] = {}
    for run in runs:
        settings = json.dumps(decisive_settings(run.config), sort_keys=True)
        found.setdefault((run.config.method, settings), []).append(run)
    methods = [method for method, _ in found]
    return {
        method if methods.count(method) == 1 else f"{method} ({members[0].path})": members
        for (method, _), members in found.items()
    }


def _baseline(name: str, groups: Groups, key: Callable[[Config], Hashable], alone: bool) -> Groups:
    """Groups runs that share the baseline `name`: those whose settings have the same `key`. One run of each seed is scored.

    Where all runs are scored on the same splits (`alone`), one run is enough.
    """
    found: dict[Hashable, tuple[list[str], dict[int, RunFolder]]] = {}
    for label, members in groups.items():
        labels, by_seed = found.setdefault(key(members[0].config), ([], {}))
        labels.append(label)
        for run in members:
            by_seed.setdefault(0 if alone else run.config.training.seed, run)
    return {
        name if len(found) == 1 else f"{name} (as {', '.join(labels)})": list(by_seed.values())
        for labels, by_seed in found.values()
    }


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
        extra={name: tuple(float(np.mean(one.extra[name])) for one in scores) for name in first.extra},
        splits=first.splits,
        unit=first.unit,
        recall={name: float(np.mean([one.recall[name] for one in scores if name in one.recall])) for name in first.recall},
    )
