"""Scores of a run beside those of its encoder before training and of the raw features, by the probe of `localgcl evaluate`.

A report should be quick, so all rows are scored on the same few splits, and on few nodes of each.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from localgcl.datasets.splits import drawn_splits
from localgcl.evaluation import evaluate
from localgcl.graph import Split
from localgcl.report.findings import Score
from localgcl.report.reading import Subject
from localgcl.training.fit import random_init, raw_features

SPLITS = 5
"""Splits, at most."""
MOST = (2000, 1000, 10_000)
"""Nodes of a split to train, validate and test on, at most: the probe then takes a minute on two cores, whatever the graph."""


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
        drawn, made = (graph.splits, "those of the graph") if graph.splits else drawn_splits(graph, SPLITS, seed)
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
