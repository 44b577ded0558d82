"""Protocols that fit no weights: the vote of the k nearest neighbours, and k-means against the classes."""

import dataclasses
from typing import ClassVar

import torch
from jaxtyping import Int
from torch import Tensor

from localgcl.evaluation.scores import Kind, accuracy
from localgcl.evaluation.task import Matrix, Probe, SplitScore, Task, normalised_rows, select, to_scikit, to_tensor


@dataclasses.dataclass(frozen=True)
class NeighbourProbe(Probe):
    """Majority vote of the k training nodes of largest cosine; k picked on validation, ties to the first of `ks`.

    Equal votes go to the lowest class, as in scikit-learn. Similarities are computed `chunk` rows at a time: memory is
    O(chunk |train|), never |V|^2. Values of k above the number of training nodes are left out.
    """

    ks: tuple[int, ...] = (5, 10, 20)
    chunk: int = 1024

    def __post_init__(self) -> None:
        if not self.ks or min(self.ks) < 1:
            raise ValueError(f"ks is {self.ks}; give one or more from 1 up, for example (5, 10, 20)")
        if self.chunk < 1:
            raise ValueError(f"chunk is {self.chunk}; it must be at least 1, for example 1024")

    @property
    def description(self) -> str:
        return f"k nearest neighbours: cosine, majority vote, k in {', '.join(map(str, self.ks))} picked on validation"

    def run(self, task: Task, seed: int, device: torch.device) -> SplitScore:  # noqa: ARG002  # nothing here is random
        ks = tuple(k for k in self.ks if k <= len(task.train))
        if not ks:
            raise ValueError(f"ks is {self.ks}, but {task.name!r} has {len(task.train)} training nodes; pass smaller ks")
        truth = task.y[task.val].numpy()
        validation = [accuracy(truth, votes.numpy()) for votes in self._votes(task, task.val, ks, device)]
        best = max(range(len(ks)), key=lambda i: (validation[i], -i))
        (predicted,) = self._votes(task, task.test, (ks[best],), device)
        return self.score(task.y[task.test].numpy(), predicted.numpy(), validation=validation[best], pick={"k": ks[best]})

    def _votes(
        self, task: Task, nodes: Int[Tensor, " m"], ks: tuple[int, ...], device: torch.device
    ) -> list[Int[Tensor, " m"]]:
        """The class each node is given, one tensor per k."""
        train = to_tensor(normalised_rows(select(task.x, task.train)), device)
        known = task.y[task.train].to(device)
        found: list[list[Tensor]] = [[] for _ in ks]
        for part in nodes.split(self.chunk):
            similarity = (train @ _dense(normalised_rows(select(task.x, part)), device).T).T
            nearest = known[similarity.topk(max(ks), dim=1).indices]
            ballots = torch.nn.functional.one_hot(nearest, task.num_classes).cumsum(1)
            for votes, k in zip(found, ks, strict=True):
                votes.append(ballots[:, k - 1].argmax(-1))
        return [torch.cat(votes).cpu() for votes in found]


def _dense(x: Matrix, device: torch.device) -> Tensor:
    return x.to(device) if isinstance(x, Tensor) else torch.from_numpy(x.toarray()).to(device)


@dataclasses.dataclass(frozen=True)
class ClusterProbe(Probe):
    """k-means (k-means++ start) on unit rows of all nodes, k the number of classes, scored on the labelled nodes.

    Each of `repeats` seeds is a value of its own, so the deviation shows how much the start matters; `starts` above 1 keeps
    the start of lowest inertia within a seed.
    """

    predicts: ClassVar[Kind] = "clusters"
    metric: ClassVar[str] = "NMI"
    uses_splits: ClassVar[bool] = False

    repeats: int = 10
    starts: int = 1

    def __post_init__(self) -> None:
        if self.repeats < 1 or self.starts < 1:
            raise ValueError(f"repeats is {self.repeats} and starts is {self.starts}; both must be at least 1")

    @property
    def description(self) -> str:
        return f"k-means: unit rows, k = number of classes, {self.starts} k-means++ start{'s' * (self.starts > 1)} a seed"

    @property
    def runs(self) -> int:
        return self.repeats

    @property
    def validates(self) -> bool:
        return False

    def run(self, task: Task, seed: int, device: torch.device) -> SplitScore:  # noqa: ARG002  # scikit-learn runs on the CPU
        from sklearn.cluster import KMeans

        model = KMeans(task.num_classes, n_init=self.starts, random_state=seed % 2**32)
        found = model.fit_predict(to_scikit(normalised_rows(task.x)))
        known = (task.y >= 0).numpy()
        return self.score(task.y.numpy()[known], found[known])
