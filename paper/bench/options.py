"""The options of `python -m paper bench`."""

import dataclasses
from pathlib import Path

from localgcl.config import MOST_FREQUENCIES, MOST_NODES, WIDEST, Checked, option
from paper.bench.setups import Size
from paper.bench.suites import SUITES


@dataclasses.dataclass(frozen=True)
class BenchOptions(Checked):
    """At which sizes to measure, how long, and where rows go."""

    suite: str = option("none", "a named set of sizes, instead of the sizes below", choices=lambda: ("none", *SUITES))
    nodes: tuple[int, ...] = option((Size.nodes,), "numbers of nodes", low=1, high=MOST_NODES, metavar="N")
    dim: tuple[int, ...] = option((Size.dim,), "embedding dimensions", low=1, high=WIDEST, metavar="d")
    num_features: tuple[int, ...] = option(
        (Size.num_features,), "numbers of frequencies", low=1, high=MOST_FREQUENCIES, metavar="D"
    )
    graph: str = option("", "a named graph instead of a drawn one of N nodes", metavar="G")
    device: str = option("cpu", "cpu, cuda, cuda:1...; auto takes a GPU where there is one")
    providers: tuple[str, ...] = option((), "measure only these implementations", metavar="P")
    repeats: int = option(20, "largest number of measurements of each provider", low=1, high=10**6, metavar="K")
    seconds: float = option(5.0, "time after which a provider is not measured again", above=0, high=86_400, metavar="S")
    memory: bool = option(False, "also measure peak memory on the CPU, in a fresh process for each provider")
    out: Path = option(Path("benchmarks/results/bench.csv"), "the table that rows are added to", metavar="CSV")
    commit: str | None = option(None, "commit to record, for a copy of the source without its history", metavar="HASH")
