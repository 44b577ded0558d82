"""The studies that are no table of trained cells: facts about graphs and settings, theorems, block models, memory.

A study measures rows of plain values, which are kept in one JSON file with date, commit and hardware, and shown as a table and
a plot. Running it again measures it again, but for a long one, which goes on where it was stopped.
"""

import argparse
import dataclasses
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from localgcl.datasets import load
from localgcl.datasets.source import Source
from localgcl.experiments.reproduce import block_models, facts, kernel_error, memory, theorem_error, theorem_features
from localgcl.experiments.reproduce.experiments import HETEROPHILY, MAIN, arxiv
from localgcl.experiments.reproduce.store import short
from localgcl.experiments.reproduce.table import Table
from localgcl.graph import Graph
from localgcl.graph.prepare import column_statistics, prepare
from localgcl.methods import configure
from localgcl.recipes import settings_for
from localgcl.system.files import replacing
from localgcl.system.provenance import describe
from localgcl.training import Model, RunFolder, fit

Row = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Study:
    """What can be measured.

    Args:
        title: One line.
        measure: Gets the options of the command line and gives rows.
        table: Shows rows.
        plot: Draws them.
        on_device: Whether it runs on the device that was asked for; else it runs on the CPU.
        resumes: Whether rows are kept as they come, and not measured again: `measure` is also given those there are.
    """

    title: str
    measure: Callable[..., Iterable[Row]]
    table: Callable[[Sequence[Row]], Table]
    plot: Callable[[Sequence[Row], Path], None] | None = None
    on_device: bool = False
    resumes: bool = False

    def run(self, path: Path, options: argparse.Namespace) -> dict[str, Any]:
        """Measures, and keeps the rows in `path`."""
        made = describe()
        hardware = made["gpu"] if self.on_device and options.device != "cpu" else made["processor"]
        kept: dict[str, Any] = {"date": made["date"], "commit": options.commit or made["commit"], "hardware": hardware}
        if not self.resumes:
            return _write(path, {**kept, "rows": list(self.measure(options))})
        rows = _before(path, kept)
        for row in self.measure(options, tuple(rows)):
            rows.append(row)
            _write(path, {**kept, "rows": rows})
        return {**kept, "rows": rows}

    def show(self, kept: dict[str, Any]) -> Table:
        """The table, with where its rows come from."""
        table = self.table(kept["rows"])
        commit = short(kept["commit"] or "") or "unknown"
        return dataclasses.replace(table, caption=f"{table.caption} {kept['hardware']}; {kept['date'][:10]}; commit {commit}.")


def _before(path: Path, kept: dict[str, Any]) -> list[Row]:
    """Rows that were measured earlier, by the same code on the same hardware."""
    if not path.exists():
        return []
    before = read(path)
    for what in ("commit", "hardware"):
        if before[what] != kept[what]:
            raise ValueError(
                f"{path} was measured with {what} {before[what]}, and now it is {kept[what]}; "
                "remove the file to measure all of it again, or give --out another folder"
            )
    rows: list[Row] = before["rows"]
    return rows


def _write(path: Path, kept: dict[str, Any]) -> dict[str, Any]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(kept, indent=1) + "\n")
    return kept


def read(path: Path) -> dict[str, Any]:
    """What a study has measured."""
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there; run the study first, without --show")
    kept: dict[str, Any] = json.loads(path.read_text())
    return kept


def _theorem_error(options: argparse.Namespace) -> list[Row]:
    return theorem_error.measure(theorem_error.default_graphs(options.graphs))


def _theorem_features(options: argparse.Namespace) -> list[Row]:  # noqa: ARG001
    return theorem_features.measure()


def _block_models(options: argparse.Namespace) -> list[Row]:
    return block_models.measure(seeds=range(options.seeds or 3))


def _memory(options: argparse.Namespace, known: Sequence[Row]) -> Iterable[Row]:
    methods, graphs = options.methods or memory.METHODS, options.graphs or memory.GRAPHS
    return memory.measure(methods, graphs, known=known, device=options.device)


def _kernel_error(options: argparse.Namespace) -> list[Row]:
    """The embeddings of a run folder on its own graph, or of a graph's recipe, trained here."""
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
    (name,) = options.graphs or ["cora"]
    graph = load(name)
    settings = settings_for("local-gcl", graph, name).values
    return _surrogate(fit(graph, configure("local-gcl", {**settings, "device": options.device})), graph, name)


def _surrogate(model: Model, graph: Graph, name: str) -> list[Row]:
    config = model.config
    prepared = prepare(graph, config.preparation, column_statistics(graph, config.preparation.scaling))
    rows = kernel_error.measure(model.embed(graph), prepared, temperature=config.options.temperature)
    return [{**row, "graph": name} for row in rows]


def _datasets(options: argparse.Namespace) -> list[Row]:
    graphs = options.graphs or (*MAIN, *HETEROPHILY, arxiv())
    return [dataclasses.asdict(facts.datasets_table({name: load(name) for name in graphs}))]


def _hyperparameters(options: argparse.Namespace) -> list[Row]:  # noqa: ARG001
    return [dataclasses.asdict(facts.hyperparameters_table())]


def _as_kept(rows: Sequence[Row]) -> Table:
    """A study whose only row is its table."""
    return Table(**rows[0])


STUDIES: dict[str, Study] = {
    "table-datasets": Study("The graphs, counted", _datasets, _as_kept),
    "table-hyperparameters": Study("Local-GCL's settings, printed and in recipes", _hyperparameters, _as_kept),
    "theorem-error": Study(
        "Theorem 1: error and norm of the eigen-solution", _theorem_error, theorem_error.table, theorem_error.plot
    ),
    "theorem-features": Study(
        "Theorem 2: the kernel's estimate", _theorem_features, theorem_features.table, theorem_features.plot
    ),
    "kernel-error": Study(
        "The surrogate loss beside the exact one", _kernel_error, kernel_error.table, kernel_error.plot, on_device=True
    ),
    "block-models": Study("Homophily and heterophily on block models", _block_models, block_models.table, block_models.plot),
    "table-memory": Study("Out of memory at 16 GiB?", _memory, memory.table, on_device=True, resumes=True),
}
