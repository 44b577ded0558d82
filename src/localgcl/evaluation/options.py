"""Options of `localgcl evaluate`."""

import dataclasses

from localgcl.config import Checked, option


@dataclasses.dataclass(frozen=True)
class EvaluationOptions(Checked):
    """How embeddings are scored."""

    protocol: str = option("linear", "linear, sklearn, knn, kmeans...", metavar="P")
    # A split holds every labelled node once; a thousand of them fit in memory and take minutes to hours.
    splits: int | None = option(
        None,
        "random 10/10/80 splits where the graph has none (default: 20, or 1 for each of several runs)",
        low=1,
        high=1000,
        metavar="N",
    )
    seed: int = option(0, "seed of random splits and classifiers", low=0, high=2**63 - 1, metavar="S")
    baselines: bool = option(True, "for a run folder: also score random-init and raw-features")
    device: str = option("cpu", "cpu, cuda, cuda:1...; auto takes a GPU where there is one")
