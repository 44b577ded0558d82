"""The options of `python -m paper`."""

import dataclasses
from pathlib import Path

from localgcl.config import MOST_JOBS, MOST_SEEDS, Checked, option


@dataclasses.dataclass(frozen=True)
class ReproduceOptions(Checked):
    """What to run of an experiment, and where."""

    graphs: tuple[str, ...] = option((), "only these graphs", metavar="G")
    methods: tuple[str, ...] = option((), "only these rows, by method or label", metavar="M")
    seeds: int | None = option(
        None, "at most so many seeds a cell; by default as many as the experiment has", low=1, high=MOST_SEEDS, metavar="N"
    )
    device: str = option("auto", "cpu, cuda, cuda:1...; auto takes a GPU where there is one")
    jobs: int = option(1, "cells at a time; timed cells always run alone", low=1, high=MOST_JOBS, metavar="J")
    run: Path | None = option(None, "kernel-error: a run folder whose graph and embeddings to use", metavar="RUN")
    minutes: float | None = option(
        None, "start no cell after so many minutes; repeat the command to go on", low=0, high=10**6, metavar="T"
    )
    show: bool = option(False, "run nothing; show the results there are")
    out: Path = option(
        Path("results"), "folder of results, tables and figures; nothing is written outside of it", metavar="DIR"
    )
    commit: str | None = option(None, "commit to record, only in a copy of the source without .git", metavar="HASH")
