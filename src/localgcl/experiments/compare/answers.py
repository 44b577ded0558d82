"""What embeddings are scored against: the classes of a graph, or targets in a file that are read when they are needed."""

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from localgcl.datasets.splits import OWN, drawn_splits
from localgcl.evaluation import PRESETS, Scores, evaluate
from localgcl.evaluation.evaluator import TASK, evaluate_targets
from localgcl.graph import Graph, Split
from localgcl.io.ids import Nodes
from localgcl.io.labels import Labels
from localgcl.io.targets import read_answers


@dataclasses.dataclass(frozen=True)
class Answers:
    """What is to be predicted.

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
        """What was read from a file."""
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
        splits, told = _splits(protocol, self.graph, num_splits, drawn, train_share)
        scores = evaluate(z, self.graph, splits, protocol=protocol, seed=seed, device=device)
        return dataclasses.replace(scores, splits=told)


def unconnected(number: int) -> Graph:
    """Nodes without edges or features, to hold labels."""
    return Graph.from_edges([], [], x=np.zeros((number, 1), dtype=np.float32))


def _splits(protocol: str, graph: Graph, num: int, seed: int, train_share: float | None) -> tuple[Sequence[Split] | None, str]:
    """Splits, and how they were made, in words; none for a protocol that looks at all nodes at once."""
    if protocol in PRESETS and not PRESETS[protocol].uses_splits:
        if train_share is not None:
            raise ValueError(f"protocol {protocol!r} clusters all nodes at once; leave train_share (--train-share) out")
        return None, ""
    if graph.splits and train_share is None:
        return graph.splits, OWN
    return drawn_splits(graph, num, seed, train_share)
