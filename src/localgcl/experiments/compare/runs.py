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
from localgcl.evaluation.evaluator import TASK, evaluate_targets
from localgcl.experiments.sweep import decisive_settings
from localgcl.graph import Graph, Split
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
    """What embeddings are to predict.

    Args:
        graph: With the classes of nodes, and perhaps splits.
        targets: Other targets of each node, which are then scored instead of classes; NaN where unknown.
        task: What they are.
    """

    graph: Graph
    targets: NDArray[Any] | None = None
    task: TASK = "auto"

    @classmethod
    def of(
        cls,
        graph: Graph,
        labels: str | os.PathLike[str] | None,
        nodes: Nodes,
        *,
        id: str | None = None,
        columns: Sequence[str] = (),
        task: TASK = "auto",
    ) -> "Answers":
        """The classes of `graph`, or what the file `labels` has for its `nodes`."""
        if labels is None:
            if columns or task not in ("auto", "classes"):
                raise ValueError("a graph has classes only; give the file of other targets (--labels)")
            return cls(graph)
        return cls.known(graph, read_answers(labels, nodes, id=id, wanted=columns, task=task), task)

    @classmethod
    def known(cls, graph: Graph, found: Labels | NDArray[Any], task: TASK) -> "Answers":
        """From labels or targets that were read from a file."""
        if isinstance(found, Labels):
            return cls(graph.derived(y=torch.from_numpy(found.numbers), class_names=found.names))
        return cls(graph, found, task)

    def score(
        self,
        z: Any,
        *,
        protocol: str,
        num_splits: int,
        drawn: int,
        train_share: float | None,
        seed: int,
        device: str,
    ) -> Scores:
        """Scores of embeddings on splits that are drawn with the seed `drawn`, where they are drawn."""
        if self.targets is not None:
            if protocol != "linear":
                raise ValueError(
                    f"protocol {protocol!r:.80} is for classes, and these targets are none; leave it out (--protocol)"
                )
            kind: Any = self.task
            return evaluate_targets(z, self.targets, task=kind, train_share=train_share, num_splits=num_splits, seed=drawn)
        splits, how = _splits(protocol, self.graph, num_splits, drawn, train_share)
        scores = evaluate(z, self.graph, splits, protocol=protocol, seed=seed, device=device)
        return dataclasses.replace(scores, splits=how)


def unconnected(number: int) -> Graph:
    """Nodes without edges or features, to hold labels."""
    return Graph.from_edges([], [], x=np.zeros((number, 1), dtype=np.float32))


def _splits(protocol: str, graph: Graph, num: int, seed: int, train_share: float | None) -> tuple[Sequence[Split] | None, str]:
    """Splits, and how they were made, in words; none for a protocol that looks at all nodes at once."""
    if protocol in PRESETS and not PRESETS[protocol].uses_splits:
        if train_share is not None:
            raise ValueError(f"protocol {protocol!r} clusters all nodes at once; leave train_share (--train-share) out")
        return None, ""
    return choose_splits(graph, num=num, seed=seed, train_share=train_share)


def compare_runs(
    folders: Sequence[str | os.PathLike[str]],
    *,
    protocol: str = "linear",
    num_splits: int | None = None,
    train_share: float | None = None,
    seed: int = 0,
    baselines: bool = True,
    device: str = "cpu",
    labels: str | os.PathLike[str] | None = None,
    id: str | None = None,
    target_columns: Sequence[str] = (),
    task: TASK = "auto",
) -> dict[str, Scores]:
    """Scores by row: the runs and, unless left out, random-init and raw-features, once for each encoder and scaling.

    Runs must be of one graph. Those that differ only in their seed share a row, the mean over them; all others have one each.
    The splits are those of the graph. Where it has none, or `train_share` is given, they are drawn (see `drawn_splits`). If no
    row has several runs, all are scored on the same `num_splits` (20); else each run is scored on one split (or `num_splits`)
    drawn with its own seed, as in the paper.

    They are scored against the classes of the graph, or against those or other targets in the file `labels` (see `evaluate`).
    """
    runs = [RunFolder.open(folder) for folder in folders]
    graph = _graph(runs)
    groups = _by_settings(runs)
    alone = all(len(members) == 1 for members in groups.values())
    nodes = Nodes(pa.array(graph.node_ids), f"the graph of {shown(runs[0].path)}", numbered=False)
    answers = Answers.of(graph, labels, nodes, id=id, columns=target_columns, task=task)

    def score(run: RunFolder, z: Any) -> Scores:
        drawn = seed if alone else run.config.training.seed
        changes: dict[str, Any] = {"protocol": protocol, "train_share": train_share, "seed": seed, "device": device}
        return answers.score(z, num_splits=num_splits or (20 if alone else 1), drawn=drawn, **changes)

    def row(members: list[RunFolder], embed: Callable[[RunFolder], Any]) -> Scores:
        scores = [score(run, embed(run)) for run in members]
        return scores[0] if len(scores) == 1 else _over_runs(scores)

    def init(run: RunFolder) -> Any:
        return random_init(graph, run.config, device)

    def raw(run: RunFolder) -> Any:
        return raw_features(graph, run.config)

    rows = {label: row(members, lambda run: Model.load(run, device).embed(graph)) for label, members in groups.items()}
    if baselines:
        trained = {label: members for label, members in groups.items() if find_method(members[0].config.method).learns}
        encoders = _baseline("random-init", trained, lambda config: (config.encoder, config.preparation), alone)
        scalings = _baseline("raw-features", trained, lambda config: config.preparation.scaling, alone)
        rows |= {label: row(members, init) for label, members in encoders.items()}
        rows |= {label: row(members, raw) for label, members in scalings.items()}
    return rows


def score_table(
    embeddings: str | os.PathLike[str],
    labels: str | os.PathLike[str],
    *,
    protocol: str = "linear",
    num_splits: int = 20,
    train_share: float | None = None,
    seed: int = 0,
    device: str = "cpu",
    id: str | None = None,
    target_columns: Sequence[str] = (),
    task: TASK = "auto",
) -> Scores:
    """Scores of a file of embeddings against a file of labels, matched by node id: the column `id` of the labels."""
    z, found = read_labelled_embeddings(embeddings, labels, id=id, wanted=target_columns, task=task)
    changes: dict[str, Any] = {"protocol": protocol, "train_share": train_share, "seed": seed, "device": device}
    return Answers.known(unconnected(len(z)), found, task).score(z, num_splits=num_splits, drawn=seed, **changes)


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
