"""`localgcl reproduce`: from the name of an experiment to results, tables and figures."""

import argparse
import dataclasses
import time
from collections.abc import Iterable
from pathlib import Path

from localgcl.commands.options import add_group, read_group
from localgcl.config import suggestion
from localgcl.experiments.reproduce import lookup, plots
from localgcl.experiments.reproduce.experiments import EXPERIMENTS, GROUPS
from localgcl.experiments.reproduce.options import ReproduceOptions
from localgcl.experiments.reproduce.origin import check_commit
from localgcl.experiments.reproduce.result_tables import tables
from localgcl.experiments.reproduce.running import run_all
from localgcl.experiments.reproduce.store import Store
from localgcl.experiments.reproduce.studies import STUDIES, read
from localgcl.experiments.reproduce.table import Table, latex, markdown, text
from localgcl.system.devices import choose_device
from localgcl.system.files import replacing

DESCRIPTION = (
    "Repeat an experiment of the paper: run the cells that have no result yet, then print and write its tables and figures, "
    "with the paper's numbers beside ours."
)


def names() -> list[str]:
    """Everything that can be reproduced."""
    return [*EXPERIMENTS, *GROUPS, *STUDIES]


def add_options(parser: argparse.ArgumentParser, _: list[str]) -> None:
    """The experiment's name, and the options it has in common with the others."""
    parser.add_argument("name", nargs="?", metavar="NAME", help=f"one of {', '.join(names())}; without it they are listed")
    add_group(parser, "experiment", ReproduceOptions)


def run(given: argparse.Namespace) -> None:
    """Runs what is missing, then prints the tables and writes them as Markdown, LaTeX and figures."""
    options = read_group(given, ReproduceOptions)
    check_commit(options.commit)
    if given.name is None:
        _list()
    elif given.name in STUDIES:
        _study(given.name, options)
    elif given.name in names():
        _experiments(GROUPS.get(given.name, (given.name,)), options)
    else:
        raise ValueError(f"there is nothing called {given.name!r} to reproduce{suggestion(given.name, tuple(names()))}")


def _list() -> None:
    titles = {name: experiment.title for name, experiment in EXPERIMENTS.items()}
    titles |= {name: f"All of {', '.join(parts)}" for name, parts in GROUPS.items()}
    titles |= {name: study.title for name, study in STUDIES.items()}
    width = max(map(len, titles))
    for name in names():
        print(f"{name:{width}} {titles[name]}")


def _experiments(parts: Iterable[str], options: ReproduceOptions) -> None:
    chosen = {name: EXPERIMENTS[name] for name in parts}
    lines = [line for experiment in chosen.values() for line in experiment.lines]
    _check("graphs", options.graphs, {graph for experiment in chosen.values() for graph in experiment.columns()})
    _check("methods", options.methods, {part for line in lines for part in (line.label, line.method)})
    store, failures, started = Store(options.out), list[str](), time.monotonic()
    for name, experiment in chosen.items():
        if not options.show:
            spent = (time.monotonic() - started) / 60
            failures += run_all(
                experiment.cells(options.graphs, options.methods, options.seeds),
                store,
                device=str(choose_device(options.device)),
                jobs=1 if experiment.timed else options.jobs,
                minutes=None if options.minutes is None else options.minutes - spent,
                commit=options.commit,
                say=print,
            )
        results = store.rows()
        _write(tables(name, experiment, results), options.out)
        if plots.curve(lookup.points(experiment, results), experiment, options.out / f"{name}.svg"):
            print(f"written: {options.out / name}.svg")
        for line in lookup.missing(experiment, results):
            print(f"not complete: {line}")
    if failures:
        raise ValueError(f"{len(failures)} cells failed: {failures[0]}")


def _study(name: str, options: ReproduceOptions) -> None:
    study, path = STUDIES[name], options.out / f"{name}.json"
    if options.show:
        kept = read(path)
    else:
        kept = study.run(path, dataclasses.replace(options, device=str(choose_device(options.device))))
    _write([study.show(kept)], options.out)
    if study.plot is not None and kept["rows"]:
        study.plot(kept["rows"], options.out / f"{name}.svg")
        print(f"written: {options.out / name}.svg")


def _write(shown: Iterable[Table], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for table in shown:
        print(text(table))
        for suffix, render in ((".md", markdown), (".tex", latex)):
            with replacing(folder / f"{table.name}{suffix}") as temporary:
                temporary.write_text(render(table), encoding="utf-8")
        written.append(str(folder / table.name))
    print(f"written, as .md and .tex: {', '.join(written)}")


def _check(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    allowed = tuple(known)
    for name in given:
        if name not in allowed:
            raise ValueError(f"--{what} names {name!r}, which is not part of it{suggestion(name, allowed)}")
