"""Options of a comparison: those of `lg.compare` and of `localgcl compare`."""

import dataclasses
from typing import Literal

from localgcl.config import MOST_JOBS, MOST_SEEDS, WIDEST, Checked, option


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
