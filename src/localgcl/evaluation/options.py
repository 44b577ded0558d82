"""Options of `localgcl evaluate`."""

import dataclasses
from typing import Literal

from localgcl.config import Checked, option


@dataclasses.dataclass(frozen=True)
class EvaluationOptions(Checked):
    """How embeddings are scored."""

    protocol: str = option("linear", "linear, sklearn, knn, kmeans...", metavar="P")
    train_share: float | None = option(
        None,
        "share of each class to train the classifier on, in stratified random splits of the labelled nodes; a tenth is for "
        "validation (default: the graph's own splits, else 0.1, or 0.5 of fewer than 1,000 labelled nodes)",
        above=0,
        high=0.89,
        metavar="S",
    )
    # A split holds every labelled node once; a thousand of them fit in memory and take minutes to hours.
    splits: int | None = option(
        None,
        "number of splits, where they are drawn (default: 20, or 1 for each of several runs)",
        low=1,
        high=1000,
        metavar="N",
    )
    task: Literal["auto", "classes", "multi-label", "regression"] = option(
        "auto", "what --labels holds; auto: several columns or fractions are no classes (see --target-columns)"
    )
    per_class: bool = option(False, "also show the share of each class that is classified correctly")
    seed: int = option(0, "seed of random splits and classifiers", low=0, high=2**63 - 1, metavar="S")
    baselines: bool = option(True, "for a run folder: also score random-init and raw-features")
    device: str = option("cpu", "cpu, cuda, cuda:1...; auto takes a GPU where there is one")
