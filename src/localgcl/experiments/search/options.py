"""Options of a search: those of `tune` and of `localgcl tune`."""

import dataclasses

from localgcl.config import MOST_JOBS, MOST_SEEDS, Checked, option
from localgcl.experiments.search.samplers import SAMPLERS

MOST_TRIALS = 10**6


@dataclasses.dataclass(frozen=True)
class SearchOptions(Checked):
    """Options of a search. What varies and what stays fixed are arguments of `tune`."""

    sampler: str = option("random", "how the next trial is chosen", choices=lambda: SAMPLERS)
    trials: int = option(50, "number of trials, those in the log included", low=1, high=MOST_TRIALS, metavar="N")
    seeds: int = option(
        3, "number of seeds of each trial, 1000 and on: report results on others", low=1, high=MOST_SEEDS, metavar="K"
    )
    splits: int = option(
        3, "validate on the first S of the graph's own splits; 0: on --redraws alone", low=0, high=MOST_SEEDS, metavar="S"
    )
    redraws: int = option(
        0,
        "for a graph with one given split: extra random train/validation splits of its labelled nodes",
        low=0,
        high=MOST_SEEDS,
        metavar="R",
    )
    finalists: int = option(
        0, "validate the best F trials again on more seeds; the best of them wins", low=0, high=MOST_TRIALS, metavar="F"
    )
    final_seeds: int = option(10, "number of seeds of the finalists", low=1, high=MOST_SEEDS, metavar="K")
    start: str = option("recipe", "settings of the first trial, whose values join the space", metavar="recipe|defaults|FILE")
    protocol: str = option("linear", "how embeddings are validated: linear, sklearn, knn...", metavar="P")
    device: str = option("auto", "cpu, cuda, auto")
    jobs: int = option(1, "trials at a time, a process each", low=1, high=MOST_JOBS, metavar="J")
    seed: int = option(0, "seed of the sampler", low=0, high=2**32 - 1, metavar="S")
    out: str = option("", "folder of trials.csv and recipe.toml; by default tuning/METHOD-DATASET", metavar="DIR")
    commit: str = option("", "commit to record, where the tree was copied without its history", metavar="HASH")
