"""compare: trains methods on one graph with several seeds and scores all of them by one evaluator."""

import functools
import itertools
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any

from localgcl.config import suggestion
from localgcl.datasets.source import Source
from localgcl.evaluation import PRESETS
from localgcl.evaluation.presets import validating_probe
from localgcl.experiments.compare.cells import FIELDS, Cell, Row, keep_problem, run, run_kept
from localgcl.experiments.compare.comparison import Comparison
from localgcl.experiments.compare.options import CompareOptions
from localgcl.experiments.compare.plan import cells, chosen_methods, given_settings, reference
from localgcl.experiments.compare.problem import Problem
from localgcl.graph import Graph
from localgcl.io.convert import as_graph
from localgcl.system.devices import choose_device
from localgcl.system.provenance import provenance
from localgcl.system.store import RowFile
from localgcl.system.text import shown
from localgcl.system.workers import Workers
from localgcl.training.preflight import check_files


def compare(
    graph: Any,
    methods: Sequence[str] = (),
    *,
    settings: Mapping[str, Any] | None = None,
    out: str | os.PathLike[str] | None = None,
    say: Callable[[str], None] = lambda _: None,
    **options: Any,
) -> Comparison:
    """Trains methods on a graph with several seeds, without labels, and scores all of them by one evaluator.

    The untrained encoder (random-init) and the features themselves (raw-features) are scored beside them. A seed decides the
    initial weights, all that is drawn in training, and the splits where they are drawn: the same ones for all methods. A
    method that cannot be trained on the graph, for example for want of memory, gets a line that says why.

    With `out`, each result is added to compare.csv in that folder as it comes, and the table is written beside it. Called
    again, results that are there are not computed again; those of another graph or of other settings stay in the file and
    do not count.

    Args:
        graph: The name of a data set, a `Source` (your own files), a `Graph` with labels, or anything that `as_graph` takes.
        methods: Names of `localgcl methods`; by default all.
        settings: Options by name, for all methods, or for one as "METHOD.NAME". Others come from the recipe of a data set
            that is named, or are chosen from the graph's statistics.
        out: Folder of compare.csv and of the table; by default nothing is written.
        say: Takes each line of progress, for example `print`.
        **options: Fields of `CompareOptions`: seeds, dim, recipe, protocol, train_share, splits, on, baselines, device, jobs,
            retry, force_memory.

    Example:
        >>> import localgcl as lg
        >>> found = lg.compare(lg.sbm(100), ["local-gcl", "grace"], seeds=2, dim=8, settings={"steps": 2}, protocol="knn")
        >>> {line.method: len(line.scores) for line in sorted(found.lines, key=lambda line: line.method)}
        {'grace': 2, 'local-gcl': 2, 'random-init': 2, 'raw-features': 2}
    """
    asked = CompareOptions(methods=tuple(methods), **options)
    names = chosen_methods(asked.methods)
    given = given_settings({**({} if asked.dim is None else {"dim": asked.dim}), **(settings or {})}, names)
    _check_protocol(asked)
    file = None if out is None else RowFile(Path(out) / "compare.csv", FIELDS)
    known = {} if file is None else _known(file)
    loaded, dataset = _read(graph, asked.force_memory)
    problem = _problem(loaded, asked)
    problem.check()
    say(repr(loaded))
    everything = cells(
        problem,
        names,
        given,
        seeds=asked.seeds,
        dataset=dataset if asked.recipe else None,
        baselines=asked.baselines,
        say=say,
    )
    found = {cell.place: known[cell.place] for cell in everything if cell.place in known}
    if asked.retry:
        found = {place: row for place, row in found.items() if row["outcome"] == "ok"}
    todo = [cell for cell in everything if cell.place not in found]
    say(f"results to make: {len(todo)}{_stored(file, list(found.values()))}")
    started, ended = time.monotonic(), 0
    try:
        for ended, (cell, row) in enumerate(_results(problem, todo), start=1):
            found[cell.place] = row
            if file is not None:
                file.append(row)
            say(f"[{ended}/{len(todo)}, {time.monotonic() - started:.0f} s] {row['method']} seed {row['seed']}: {_told(row)}")
    except KeyboardInterrupt as interrupt:
        kept = "; results are kept, repeat the command to go on" if file is not None else ""
        raise KeyboardInterrupt(f"stopped after {ended} of {len(todo)} results{kept}") from interrupt
    rows = [found[cell.place] for cell in everything]
    comparison = Comparison(rows, loaded.name, reference(names), asked.protocol, problem.evaluator, asked.seeds)
    if out is not None:
        comparison.write(out)
    return comparison


def _check_protocol(options: CompareOptions) -> None:
    if options.on == "validation":
        validating_probe(options.protocol, {})
    if options.protocol not in PRESETS:
        raise ValueError(f"unknown protocol {options.protocol!r:.100}{suggestion(options.protocol, PRESETS)}")


def _known(file: RowFile) -> dict[tuple[str, int], Row]:
    """The newest row of each key and seed."""
    return {(row["key"], int(row["seed"])): row for row in file.rows()}


def _stored(file: RowFile | None, rows: Sequence[Row]) -> str:
    """What there is already, for the user."""
    if file is None or not rows:
        return ""
    failed = sum(row["outcome"] != "ok" for row in rows)
    again = f", of which {failed} failed (--retry runs them again)" if failed else ""
    return f"; in {shown(file.path)} already: {len(rows)}{again}"


def _read(graph: Any, force_memory: bool) -> tuple[Graph, str | None]:
    """The graph, and the data set whose recipes are used."""
    source = Source(graph) if isinstance(graph, str) else graph
    if not isinstance(source, Source):
        return as_graph(source), None
    if source.edges is not None:
        check_files(source.edges, source.features, force=force_memory)
    return source.read(), source.dataset


def _problem(graph: Graph, options: CompareOptions) -> Problem:
    made = provenance(choose_device(options.device))
    return Problem(
        graph.to("cpu"),
        options.protocol,
        options.train_share,
        options.splits,
        options.on,
        options.device,
        options.force_memory,
        options.jobs,
        {"version": made.packages["localgcl"], "commit": made.commit, "hardware": made.hardware},
    )


def _results(problem: Problem, todo: Sequence[Cell]) -> Iterator[tuple[Cell, Row]]:
    """Cells as they finish. With one job they run in this process."""
    alone, jobs = problem.jobs == 1, problem.jobs
    attempt = functools.partial(run, problem) if alone else run_kept
    running: dict[Future[Row], Cell] = {}
    waiting = iter(todo)
    with Workers(jobs, initial=None if alone else (keep_problem, (problem,))) as workers:
        while True:
            running |= {workers.submit(attempt, cell): cell for cell in itertools.islice(waiting, jobs - len(running))}
            if not running:
                return
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(done), done.result()


def _told(row: Row) -> str:
    if row["outcome"] != "ok":
        return f"failed: {row['outcome']}"
    return f"{float(row['score']):.2f} ({row['steps']} steps in {float(row['seconds']):.1f} s)"
