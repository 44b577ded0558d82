"""The contest: the graph that methods are compared on, and one evaluator for all of them."""

import dataclasses
import functools
import hashlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from localgcl.config import LocalGCLWarning
from localgcl.datasets import hide_test_labels, random_splits, stratified_splits
from localgcl.datasets.splits import FEW, default_share, in_percent
from localgcl.evaluation import PRESETS, Scores, evaluate, validate
from localgcl.evaluation.inputs import read_classes, read_graph, read_tasks
from localgcl.graph import Graph, Split

# Names, and what follows from other fields.
_NOT_CONTENT = ("node_ids", "name", "feature_names", "class_names", "structure", "folder", "encoding", "structural")


@dataclasses.dataclass(frozen=True)
class Contest:
    """What all contenders share.

    Args:
        graph: With its labels.
        protocol: A name of `PRESETS`.
        train_share: Share of the labelled nodes to train classifiers on, in random splits; None for the graph's own splits.
        num_splits: Random splits for each seed.
        on: The nodes that are scored.
        device: Where to train and score.
        force_memory: Train though it is estimated not to fit.
        jobs: How many contenders run at a time.
        made: Version, commit and hardware, read once: the source may be edited while they run.
    """

    graph: Graph
    protocol: str
    train_share: float | None
    num_splits: int
    on: Literal["test", "validation"]
    device: str
    force_memory: bool
    jobs: int
    made: Mapping[str, str]

    @functools.cached_property
    def fingerprint(self) -> str:
        return fingerprint(self.graph)

    @functools.cached_property
    def unlabelled(self) -> Graph:
        """What methods are trained on."""
        return self.graph.derived(y=None, splits=())

    @property
    def draws(self) -> bool:
        """Whether seeds draw their splits; else the graph brings them."""
        return self.train_share is not None or not self.graph.splits

    @functools.cached_property
    def _labelled(self) -> int:
        return 0 if self.graph.y is None else int((self.graph.y >= 0).sum())

    @property
    def _train(self) -> float:
        return default_share(self._labelled) if self.train_share is None else self.train_share

    @property
    def evaluator(self) -> str:
        """How embeddings are scored, in words."""
        if not PRESETS[self.protocol].uses_splits:
            return f"{self.protocol}, all labelled nodes"
        if not self.draws:
            return f"{self.protocol} on {self.on} nodes, {_count(len(self.graph.splits), 'split')} of the graph"
        drawn = _count(self.num_splits, "stratified split" if self._labelled < FEW else "random split")
        return f"{self.protocol} on {self.on} nodes, {drawn} of {in_percent(self._train)} for each seed"

    def splits(self, seed: int) -> Sequence[Split] | None:
        """The splits of a seed, the same for all methods; None if all nodes are scored. No two seeds draw the same split."""
        if not PRESETS[self.protocol].uses_splits:
            return None
        if not self.draws:
            return self.graph.splits
        draw = stratified_splits if self._labelled < FEW else random_splits
        return draw(self.graph, num=self.num_splits, train=self._train, seed=seed * self.num_splits)

    def check(self) -> None:
        """Raises ValueError if labels or splits cannot be scored, before anything is trained. All seeds are alike in this."""
        probe, graph, splits, tests = PRESETS[self.protocol], read_graph(self.graph), self.splits(0), self.on == "test"
        known = graph if tests or splits is None else hide_test_labels(graph, splits)
        assert known.y is not None  # read_graph has seen to it
        y, classes = read_classes(known.y, learnt=probe.uses_splits and tests, names=graph.class_names)
        if splits is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LocalGCLWarning)  # each contender notes them
                read_tasks(torch.zeros(len(y), 1), y, classes, splits, validates=probe.validates, tests=tests)

    def score(self, z: Any, seed: int) -> Scores:
        scored = evaluate if self.on == "test" else validate
        return scored(z, self.graph, self.splits(seed), protocol=self.protocol, seed=seed, device=self.device)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'s' * (number != 1)}"


def fingerprint(graph: Graph) -> str:
    """A hash of edges, features, labels and splits, in twelve digits; names do not count. O(|E| + feature values).

    Example:
        >>> path = Graph.from_edges([0, 1], [1, 2], x=torch.eye(3))
        >>> fingerprint(path) == fingerprint(dataclasses.replace(path, name="path"))
        True
    """
    digest = hashlib.sha256()
    for field in dataclasses.fields(graph):
        if field.name not in _NOT_CONTENT:
            for part in _tensors(getattr(graph, field.name)):
                digest.update(f"{field.name} {part.dtype} {tuple(part.shape)}\n".encode())
                digest.update(part.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:12]


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        sparse = value.layout == torch.sparse_csr
        yield from (value.crow_indices(), value.col_indices(), value.values()) if sparse else (value,)
    elif isinstance(value, Split):
        yield from (value.train, value.val, value.test)
    elif value is not None:
        for part in value:
            yield from _tensors(part)
