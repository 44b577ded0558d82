"""The contest: what is compared, on which graph, and one evaluator for all methods."""

import dataclasses
import functools
import hashlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from localgcl.config import MOST_JOBS, MOST_SEEDS, WIDEST, Checked, LocalGCLWarning, option
from localgcl.datasets import hide_test_labels, random_splits, stratified_splits
from localgcl.datasets.splits import FEW, default_share, in_percent
from localgcl.evaluation import PRESETS, Scores, evaluate, validate
from localgcl.evaluation.inputs import read_classes, read_graph, read_tasks
from localgcl.graph import Graph, Split

# Names, and what follows from other fields.
_NOT_CONTENT = ("node_ids", "name", "feature_names", "class_names", "structure", "folder", "encoding", "structural")


@dataclasses.dataclass(frozen=True)
class CompareOptions(Checked):
    """What is compared, and how it is scored. Other settings of the methods are an argument of `compare`."""

    methods: tuple[str, ...] = option((), "methods to compare (default: all)", metavar="M")
    seeds: int = option(3, "number of seeds of each method: 0, 1...", low=1, high=MOST_SEEDS, metavar="K")
    dim: int | None = option(
        None, "embedding dimension of all methods (default: each method's own)", low=1, high=WIDEST, metavar="D"
    )
    recipe: bool = option(True, "use the recipes of a data set; otherwise the settings for graphs without one")
    protocol: str = option("linear", "linear, sklearn, knn, kmeans...", metavar="P")
    train_share: float | None = option(
        None,
        "share of the labelled nodes to train the classifier on, in random splits (stratified below 1,000 nodes); a tenth is "
        "for validation (default: the graph's own splits, else 0.1, or 0.5 of fewer than 1,000 nodes)",
        above=0,
        high=0.89,
        metavar="S",
    )
    splits: int = option(1, "random splits for each seed, where splits are drawn", low=1, high=1000, metavar="N")
    on: Literal["test", "validation"] = option("test", "nodes to score on; validation never reads test labels")
    baselines: bool = option(True, "also score random-init and raw-features")
    device: str = option("auto", "cpu, cuda, cuda:1...; auto takes a GPU where there is one")
    jobs: int = option(
        1, "trainings at a time, a process each; times and memory then say little", low=1, high=MOST_JOBS, metavar="J"
    )
    retry: bool = option(False, "run again what failed")
    force_memory: bool = option(False, "train though it is estimated not to fit the memory")


@dataclasses.dataclass(frozen=True)
class Contest:
    """What all contenders share.

    Args:
        graph: With its labels.
        options: What is compared, and how it is scored.
        made: Version, commit and hardware, read once: the source may be edited while they run.
    """

    graph: Graph
    options: CompareOptions
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
        return self.options.train_share is not None or not self.graph.splits

    @functools.cached_property
    def _labelled(self) -> int:
        return 0 if self.graph.y is None else int((self.graph.y >= 0).sum())

    @property
    def _train(self) -> float:
        return default_share(self._labelled) if self.options.train_share is None else self.options.train_share

    @property
    def evaluator(self) -> str:
        """How embeddings are scored, in words."""
        if not PRESETS[self.options.protocol].uses_splits:
            return f"{self.options.protocol}, all labelled nodes"
        if not self.draws:
            return f"{self.options.protocol} on {self.options.on} nodes, {_count(len(self.graph.splits), 'split')} of the graph"
        drawn = _count(self.options.splits, "stratified split" if self._labelled < FEW else "random split")
        return f"{self.options.protocol} on {self.options.on} nodes, {drawn} of {in_percent(self._train)} for each seed"

    def splits(self, seed: int) -> Sequence[Split] | None:
        """The splits of a seed, the same for all methods; None if all nodes are scored. No two seeds draw the same split."""
        if not PRESETS[self.options.protocol].uses_splits:
            return None
        if not self.draws:
            return self.graph.splits
        draw = stratified_splits if self._labelled < FEW else random_splits
        return draw(self.graph, num=self.options.splits, train=self._train, seed=seed * self.options.splits)

    def check(self) -> None:
        """Raises ValueError if labels or splits cannot be scored, before anything is trained. All seeds are alike in this."""
        probe, tests = PRESETS[self.options.protocol], self.options.on == "test"
        graph, splits = read_graph(self.graph), self.splits(0)
        known = graph if tests or splits is None else hide_test_labels(graph, splits)
        assert known.y is not None  # read_graph has seen to it
        y, classes = read_classes(known.y, learnt=probe.uses_splits and tests, names=graph.class_names)
        if splits is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LocalGCLWarning)  # each contender notes them
                read_tasks(torch.zeros(len(y), 1), y, classes, splits, validates=probe.validates, tests=tests)

    def score(self, z: Any, seed: int) -> Scores:
        scored = evaluate if self.options.on == "test" else validate
        return scored(z, self.graph, self.splits(seed), protocol=self.options.protocol, seed=seed, device=self.options.device)


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
