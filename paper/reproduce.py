"""`python -m paper NAME`: from the name of an experiment to results, tables and figures."""

import argparse
import dataclasses
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from localgcl.commands.options import add_group, read_group
from localgcl.commands.output import Result, sayer
from localgcl.config import suggestion
from localgcl.experiments.tables import Table, latex, markdown, text
from localgcl.system.devices import choose_device
from localgcl.system.files import check_writable, replacing
from localgcl.system.text import shown
from paper import lookup, plots
from paper.cells import run_all
from paper.experiments import EXPERIMENTS, GROUPS
from paper.store import Store, check_commit
from paper.studies import STUDIES, ReproduceOptions, read
from paper.tables import tables

Say = Callable[[str], None]
_MOST = 8
"""Rows that are named one by one where results are missing."""

DESCRIPTION = (
    "Repeat an experiment of the paper: run the cells that have no result yet, then print and write its tables and figures, "
    "with the paper's numbers beside ours. To measure speed and memory: python -m paper bench."
)


def names() -> list[str]:
    """Everything that can be reproduced."""
    return [*EXPERIMENTS, *GROUPS, *STUDIES]


def add_options(parser: argparse.ArgumentParser, _: list[str]) -> None:
    """The experiment's name, and the options it has in common with the others."""
    parser.add_argument("name", nargs="?", metavar="NAME", help=f"one of {', '.join(names())}; without it they are listed")
    add_group(parser, "experiment", ReproduceOptions)


def run(given: argparse.Namespace) -> Result:
    """Runs what is missing, then prints the tables and writes them as Markdown, LaTeX and figures."""
    options = read_group(given, ReproduceOptions)
    check_commit(options.commit)
    if given.name is None:
        return _list()
    if given.name not in names():
        raise ValueError(f"there is nothing called {given.name!r} to reproduce{suggestion(given.name, tuple(names()))}")
    check_writable(options.out)
    if given.name in STUDIES:
        return _study(given.name, options, sayer(given))
    return _experiments(GROUPS.get(given.name, (given.name,)), options, sayer(given))


def _list() -> Result:
    titles = {name: experiment.title for name, experiment in EXPERIMENTS.items()}
    titles |= {name: f"All of {', '.join(parts)}" for name, parts in GROUPS.items()}
    titles |= {name: study.title for name, study in STUDIES.items()}
    width = max(map(len, titles))
    for name in names():
        print(f"{name:{width}} {titles[name]}")
    return {"experiments": titles}


def _experiments(parts: Iterable[str], options: ReproduceOptions, say: Say) -> Result:
    chosen = {name: EXPERIMENTS[name] for name in parts}
    lines = [line for experiment in chosen.values() for line in experiment.lines]
    _check("graphs", options.graphs, {graph for experiment in chosen.values() for graph in experiment.columns()})
    _check("methods", options.methods, {part for line in lines for part in (line.label, line.method)})
    store, failures, started = Store(options.out), list[str](), time.monotonic()
    made: dict[str, list[Any]] = {"tables": [], "files": [], "missing": []}
    for name, whole in chosen.items():
        experiment = whole.part(options.graphs, options.methods, options.seeds)
        if not experiment.places():  # another part of the group has what was asked for
            continue
        if not options.show:
            spent = (time.monotonic() - started) / 60
            failures += run_all(
                experiment.cells(),
                store,
                device=str(choose_device(options.device)),
                jobs=1 if experiment.timed else options.jobs,
                minutes=None if options.minutes is None else options.minutes - spent,
                commit=options.commit,
                say=say,
            )
        results = store.rows()
        there = lookup.with_results(experiment, results)
        if not there.places():
            print(f"{name}: nothing of it has been run yet in {shown(options.out)}")
            continue
        shown_tables = tables(name, there, results)
        made["tables"] += shown_tables
        made["files"] += _write(shown_tables, options.out, say)
        if plots.curve(lookup.points(there, results), there, options.out / f"{name}.svg"):
            made["files"].append(options.out / f"{name}.svg")
            say(f"written: {options.out / name}.svg")
        missing = lookup.missing(experiment, results)
        made["missing"] += missing
        for line in missing[:_MOST]:
            print(f"not complete: {line}")
        if len(missing) > _MOST:
            print(f"not complete: {len(missing) - _MOST} more rows")
    if failures:
        raise ValueError(f"{len(failures)} cells failed: {failures[0]}")
    return made


def _study(name: str, options: ReproduceOptions, say: Say) -> Result:
    study, path = STUDIES[name], options.out / f"{name}.json"
    if options.show:
        kept = read(path)
    else:
        kept = study.run(path, dataclasses.replace(options, device=str(choose_device(options.device))))
    table = study.show(kept)
    files = [path, *_write([table], options.out, say)]
    if study.plot is not None and kept["rows"]:
        files.append(options.out / f"{name}.svg")
        study.plot(kept["rows"], files[-1])
        say(f"written: {options.out / name}.svg")
    return {"tables": [table], "files": files, "missing": []}


def _write(made: Iterable[Table], folder: Path, say: Say) -> list[Path]:
    """Prints the tables and writes them; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files, written = [], []
    for table in made:
        print(text(table))
        for suffix, render in ((".md", markdown), (".tex", latex)):
            files.append(folder / f"{table.name}{suffix}")
            with replacing(files[-1]) as temporary:
                temporary.write_text(render(table), encoding="utf-8")
        written.append(str(folder / table.name))
    say(f"written, as .md and .tex: {', '.join(written)}")
    return files


def _check(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    allowed = tuple(known)
    for name in given:
        if name not in allowed:
            raise ValueError(f"--{what} names {name!r}, which is not part of it{suggestion(name, allowed)}")
