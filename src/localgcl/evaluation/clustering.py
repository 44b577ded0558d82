"""k-means against the classes: whether clusters of embeddings match the labels."""

import dataclasses
from typing import ClassVar

import torch

from localgcl.evaluation.task import Probe, SplitScore, Task, normalised_rows, to_scikit


@dataclasses.dataclass(frozen=True)
class ClusterProbe(Probe):
    """k-means (k-means++ start) on unit rows of all nodes, k the number of classes, scored on the labelled nodes.

    NMI is normalised by the arithmetic mean of the entropies. Each of `repeats` seeds is a value of its own, so the
    deviation shows how much the start matters; `starts` above 1 keeps the start of lowest inertia within a seed.
    """

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
        from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

        model = KMeans(task.num_classes, n_init=self.starts, random_state=seed % 2**32)
        found = model.fit_predict(to_scikit(normalised_rows(task.x)))
        known = (task.y >= 0).numpy()
        truth = task.y.numpy()[known]
        nmi = 100.0 * float(normalized_mutual_info_score(truth, found[known]))
        return SplitScore(nmi, extra={"ARI": 100.0 * float(adjusted_rand_score(truth, found[known]))})
