"""`localgcl reproduce`: its options, and what each name of an experiment calls."""

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path

from localgcl.atomic import replacing
from localgcl.config import suggestion
from localgcl.datasets.source import Source
from localgcl.devices import choose_device
from localgcl.reproduce import layouts, page, plots
from localgcl.reproduce.experiments import EXPERIMENTS, GROUPS
from localgcl.reproduce.running import run_all
from localgcl.reproduce.store import Store
from localgcl.reproduce.studies import STUDIES, read
from localgcl.reproduce.table import Table, latex, markdown, text
from localgcl.training import RunFolder

OUT, DOCS, README = Path("results"), Path("docs"), Path("README.md")


def names() -> list[str]:
    """Everything that can be reproduced."""
    return [*EXPERIMENTS, *GROUPS, *STUDIES]


def add_options(parser: argparse.ArgumentParser) -> None:
    """The command line of `localgcl reproduce`."""
    parser.add_argument("name", nargs="?", metavar="NAME", help=f"{', '.join(names())}; or page: write docs/results.md")
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


def reproduce(options: argparse.Namespace, say: Callable[[str], None]) -> None:
    """Runs what is missing, then prints the tables and writes them as Markdown, LaTeX and plots."""
    if options.name is None:
        for name in EXPERIMENTS:
            say(f"{name:22} {EXPERIMENTS[name].title}")
        for name, study in STUDIES.items():
            say(f"{name:22} {study.title}")
        return
    if options.name == "page":
        for path in page.write(Store(options.out), DOCS, README):
            say(f"{path}")
        return
    if options.jobs < 1:
        raise ValueError(f"jobs is {options.jobs}; it must be at least 1")
    if options.name in STUDIES:
        _study(options, say)
    else:
        _experiments(options, say)


def _experiments(options: argparse.Namespace, say: Callable[[str], None]) -> None:
    if options.name not in (*EXPERIMENTS, *GROUPS):
        raise ValueError(f"there is no experiment {options.name!r}{suggestion(options.name, tuple(names()))}")
    store, failures = Store(options.out), []
    chosen = GROUPS.get(options.name, (options.name,))
    for name in chosen:
        experiment = EXPERIMENTS[name]
        _check("graphs", options.graphs, experiment.columns())
        _check("methods", options.methods, {part for line in experiment.lines for part in (line.label, line.method)})
        if not options.show:
            failures += run_all(
                experiment.cells(options.graphs, options.methods, options.seeds),
                store,
                device=str(choose_device(options.device)),
                jobs=1 if experiment.timed else options.jobs,
                minutes=options.minutes,
                commit=options.commit,
                say=say,
            )
        results = store.rows()
        _write(layouts.tables(name, experiment, results), options.out, say)
        drawn = layouts.points(experiment, results) if experiment.layout == "curve" else []
        if drawn:
            path = options.out / f"{name}.svg"
            if experiment.timed:
                plots.scale(drawn, path)
            else:
                plots.sensitivity(drawn, path, option="dim" if experiment.axis == "d" else "num_features")
            say(f"{path}")
        for line in layouts.missing(experiment, results):
            say(f"not complete: {line}")
    if failures:
        raise ValueError(f"{len(failures)} cells failed: {failures[0]}")


def _study(options: argparse.Namespace, say: Callable[[str], None]) -> None:
    study, path = STUDIES[options.name], options.out / f"{options.name}.json"
    if options.run is not None:
        options.source = Source(**RunFolder.open(options.run).source)
    options.device = str(choose_device(options.device))
    kept = read(path) if options.show else study.run(path, options)
    _write([study.show(kept)], options.out, say)
    if study.plot is not None and kept["rows"]:
        picture = options.out / f"{options.name}.svg"
        study.plot(kept["rows"], picture)
        say(f"{picture}")


def _write(tables: Iterable[Table], folder: Path, say: Callable[[str], None]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for table in tables:
        say(text(table))
        for suffix, render in ((".md", markdown), (".tex", latex)):
            with replacing(folder / f"{table.name}{suffix}") as temporary:
                temporary.write_text(render(table), encoding="utf-8")


def _check(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    allowed = tuple(known)
    for name in given:
        if name not in allowed:
            raise ValueError(f"--{what} names {name!r}, which this experiment has not{suggestion(name, allowed)}")
