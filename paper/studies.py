"""Studies: experiments that are no table of trained cells, such as the theorems and the memory table.

A study measures rows of plain values. They are kept in one JSON file with date, commit and hardware, and shown as a table and
a plot. A second run measures everything again, except for a study that resumes.
"""

import dataclasses
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from localgcl.config import MOST_JOBS, MOST_SEEDS, Checked, option
from localgcl.datasets import load
from localgcl.datasets.source import Source
from localgcl.experiments.tables import Table, short
from localgcl.graph import Graph
from localgcl.graph.prepare import column_statistics, prepare
from localgcl.methods.settings import choose_settings
from localgcl.system.files import replacing
from localgcl.system.provenance import provenance
from localgcl.training import Model, RunFolder, fit
from paper import (
    block_models,
    kernel_error,
    memory,
    theorem_error,
    theorem_features,
)
from paper.experiments import HETEROPHILY, MAIN
from paper.inputs import count_graphs, graph_table, list_settings, settings_table
from paper.lines import arxiv
from paper.store import StudyRow


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


@dataclasses.dataclass(frozen=True)
class Study:
    """What can be measured.

    Args:
        title: One line.
        measure: From the options of the command to rows.
        table: From rows to a table.
        plot: Draws rows into a file.
        on_device: Whether it runs on the device that was asked for; else it runs on the CPU.
        resumes: Whether rows are kept as they come and not measured again: `measure` is also given the rows there are.
    """

    title: str
    measure: Callable[..., Iterable[StudyRow]]
    table: Callable[[Sequence[StudyRow]], Table]
    plot: Callable[[Sequence[StudyRow], Path], None] | None = None
    on_device: bool = False
    resumes: bool = False

    def run(self, path: Path, options: ReproduceOptions) -> dict[str, Any]:
        """Measures, and keeps the rows in `path`."""
        made = provenance(options.device if self.on_device else "cpu", options.commit)
        kept: dict[str, Any] = {"date": made.date, "commit": made.commit, "hardware": made.hardware}
        if not self.resumes:
            return _write(path, {**kept, "rows": list(self.measure(options))})
        rows = _before(path, kept)
        for row in self.measure(options, tuple(rows)):
            rows.append(row)
            _write(path, {**kept, "rows": rows})
        return {**kept, "rows": rows}

    def show(self, kept: dict[str, Any]) -> Table:
        """The table, with where its rows come from."""
        commit = short(kept["commit"] or "") or "unknown"
        source = f"{kept['hardware']}; {kept['date'][:10]}; commit {commit}."
        return dataclasses.replace(self.table(kept["rows"]), source=source)


def _before(path: Path, kept: dict[str, Any]) -> list[StudyRow]:
    """Rows that an earlier run measured; ValueError where code or hardware were others."""
    if not path.exists():
        return []
    before = read(path)
    for what in ("commit", "hardware"):
        if before[what] != kept[what]:
            raise ValueError(
                f"{path} was measured with {what} {before[what]}, and now it is {kept[what]}; "
                "remove the file to measure all of it again, or give --out another folder"
            )
    rows: list[StudyRow] = before["rows"]
    return rows


def _write(path: Path, kept: dict[str, Any]) -> dict[str, Any]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(kept, indent=1) + "\n")
    return kept


def read(path: Path) -> dict[str, Any]:
    """What a study has measured: date, commit, hardware and rows."""
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there; run the study first, without --show")
    kept: dict[str, Any] = json.loads(path.read_text())
    return kept


def _theorem_error(options: ReproduceOptions) -> list[StudyRow]:
    return theorem_error.measure(theorem_error.default_graphs(options.graphs))


def _theorem_features(options: ReproduceOptions) -> list[StudyRow]:  # noqa: ARG001
    return theorem_features.measure()


def _block_models(options: ReproduceOptions) -> list[StudyRow]:
    return block_models.measure(seeds=range(options.seeds or 3))


def _memory(options: ReproduceOptions, known: Sequence[StudyRow]) -> Iterable[StudyRow]:
    methods, graphs = options.methods or memory.METHODS, options.graphs or memory.GRAPHS
    return memory.measure(methods, graphs, known=known, device=options.device)


def _kernel_error(options: ReproduceOptions) -> list[StudyRow]:
    """Rows for the embeddings of a run folder, or of a graph's recipe, which is trained first."""
    if options.run is not None:
        run = RunFolder.open(options.run)
        if run.config.method != "local-gcl":
            raise ValueError(f"{run.path} was trained with {run.config.method}; kernel-error is about the loss of local-gcl")
        if not run.source:
            raise ValueError(f"{run.path} does not say which graph it was trained on; name one with --graphs instead")
        source = Source(**run.source)
        return _surrogate(Model.load(run), source.read(), source.name)
    if len(options.graphs) > 1:
        raise ValueError(f"kernel-error is about one graph, not {len(options.graphs)}; run it for each, with its own --out")
    (name,) = options.graphs or ("cora",)
    graph = load(name)
    chosen = choose_settings("local-gcl", graph, dataset=name, given={"device": options.device})
    return _surrogate(fit(graph, chosen.config), graph, name)


def _surrogate(model: Model, graph: Graph, name: str) -> list[StudyRow]:
    config = model.config
    prepared = prepare(graph, config.preparation, column_statistics(graph, config.preparation.scaling))
    rows = kernel_error.measure(model.embed(graph), prepared, temperature=config.options.temperature)
    return [{**row, "graph": name} for row in rows]


def _datasets(options: ReproduceOptions) -> list[StudyRow]:
    return count_graphs({name: load(name) for name in options.graphs or (*MAIN, *HETEROPHILY, arxiv())})


def _hyperparameters(options: ReproduceOptions) -> list[StudyRow]:  # noqa: ARG001
    return list_settings()


STUDIES: dict[str, Study] = {
    "table-datasets": Study("Sizes of the graphs", _datasets, graph_table),
    "table-hyperparameters": Study("Local-GCL's settings, printed and in the recipes", _hyperparameters, settings_table),
    "theorem-error": Study(
        "Theorem 1: error and norm of the eigen-solution", _theorem_error, theorem_error.table, theorem_error.plot
    ),
    "theorem-features": Study(
        "Theorem 2: error of the random features", _theorem_features, theorem_features.table, theorem_features.plot
    ),
    "kernel-error": Study(
        "The kernelised loss beside the exact one", _kernel_error, kernel_error.table, kernel_error.plot, on_device=True
    ),
    "block-models": Study("Homophily and heterophily on block models", _block_models, block_models.table, block_models.plot),
    "table-memory": Study("Out of memory at 16 GiB?", _memory, memory.table, on_device=True, resumes=True),
}
