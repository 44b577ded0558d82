"""`localgcl reproduce`: its options, and what each name of an experiment calls."""

import argparse
import time
from collections.abc import Iterable
from pathlib import Path

from localgcl.config import suggestion
from localgcl.experiments.reproduce import layouts, page, plots
from localgcl.experiments.reproduce.experiments import EXPERIMENTS, GROUPS
from localgcl.experiments.reproduce.running import run_all
from localgcl.experiments.reproduce.store import Store
from localgcl.experiments.reproduce.studies import STUDIES, read
from localgcl.experiments.reproduce.table import Table, latex, markdown, text
from localgcl.system.devices import choose_device
from localgcl.system.files import replacing

OUT, DOCS, README = Path("results"), Path("docs"), Path("README.md")


def names() -> list[str]:
    """Everything that can be reproduced, and the pages made from it."""
    return [*EXPERIMENTS, *GROUPS, *STUDIES, "page"]


DESCRIPTION = (
    "Run an experiment of the paper again: what has a result is not run again, what has none is run, then tables and plots "
    "are printed and written, with the paper's numbers beside ours."
)


def add_options(parser: argparse.ArgumentParser, _: list[str]) -> None:
    """What to run, and where results are kept."""
    parser.add_argument("name", nargs="?", metavar="NAME", help=f"what to run; left out, all are listed: {', '.join(names())}")
    parser.add_argument("--graphs", nargs="+", default=[], metavar="G", help="only these graphs")
    parser.add_argument("--methods", nargs="+", default=[], metavar="M", help="only these rows, by method or label")
    parser.add_argument("--seeds", type=int, metavar="N", help="at most so many seeds a cell (default: the experiment's)")
    parser.add_argument("--device", default="auto", help="cpu, cuda, auto (default: auto)")
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="J", help="cells at once (default: 1; timed cells always run alone)"
    )
    parser.add_argument("--run", metavar="RUN", help="kernel-error: a run folder whose graph and embeddings to take")
    parser.add_argument("--minutes", type=float, metavar="T", help="start no cell after so long; call again to go on")
    parser.add_argument("--show", action="store_true", help="run nothing; show what is there")
    parser.add_argument("--out", type=Path, default=OUT, metavar="DIR", help=f"where results are kept (default: {OUT})")
    parser.add_argument("--commit", help="to record, where the tree was copied without its history")


def run(options: argparse.Namespace) -> None:
    """Runs what is missing, then prints the tables and writes them as Markdown, LaTeX and plots."""
    if options.name is None:
        titles = {name: experiment.title for name, experiment in EXPERIMENTS.items()}
        titles |= {name: f"All of {', '.join(parts)}" for name, parts in GROUPS.items()}
        titles |= {name: study.title for name, study in STUDIES.items()}
        titles["page"] = f"The pages of results and claims in {DOCS}, and the table of {README}, from all of these"
        for name in names():
            print(f"{name:22} {titles[name]}")
        return
    if options.name not in names():
        raise ValueError(f"there is nothing called {options.name!r} to reproduce{suggestion(options.name, tuple(names()))}")
    for option, value in {"jobs": options.jobs, "seeds": options.seeds}.items():
        if value is not None and value < 1:
            raise ValueError(f"{option} is {value}; it must be at least 1")
    if options.name == "page":
        for path in page.write(Store(options.out), DOCS, README):
            print(f"written: {path}")
    elif options.name in STUDIES:
        _study(options)
    else:
        _experiments(options)


def _experiments(options: argparse.Namespace) -> None:
    chosen = {name: EXPERIMENTS[name] for name in GROUPS.get(options.name, (options.name,))}
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
        _write(layouts.tables(name, experiment, results), options.out)
        drawn = layouts.points(experiment, results) if experiment.layout == "curve" else []
        if drawn:
            path = options.out / f"{name}.svg"
            if experiment.timed:
                plots.scale(drawn, path)
            else:
                plots.sensitivity(drawn, path, option="dim" if experiment.axis == "d" else "num_features")
            print(f"written: {path}")
        for line in layouts.missing(experiment, results):
            print(f"not complete: {line}")
    if failures:
        raise ValueError(f"{len(failures)} cells failed: {failures[0]}")


def _study(options: argparse.Namespace) -> None:
    study, path = STUDIES[options.name], options.out / f"{options.name}.json"
    if options.show:
        kept = read(path)
    else:
        options.device = str(choose_device(options.device))
        kept = study.run(path, options)
    _write([study.show(kept)], options.out)
    if study.plot is not None and kept["rows"]:
        picture = options.out / f"{options.name}.svg"
        study.plot(kept["rows"], picture)
        print(f"written: {picture}")


def _write(tables: Iterable[Table], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for table in tables:
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
