"""compare: trains methods on one graph with several seeds and scores all of them by one evaluator."""

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from localgcl.config import MOST_JOBS, MOST_SEEDS, WIDEST, Checked, option, suggestion
from localgcl.datasets.source import Source
from localgcl.evaluation import PRESETS
from localgcl.evaluation.presets import validating_probe
from localgcl.experiments.compare.comparison import Comparison
from localgcl.experiments.compare.contenders import (
    FIELDS,
    Contender,
    Row,
    chosen_methods,
    contenders,
    given_settings,
    reference,
    run,
)
from localgcl.experiments.compare.contest import Contest
from localgcl.experiments.sweep import Sweep, missing
from localgcl.graph import Graph
from localgcl.io.convert import as_graph
from localgcl.system.devices import choose_device
from localgcl.system.files import RowFile
from localgcl.system.provenance import provenance
from localgcl.system.text import shown
from localgcl.training.preflight import check_files


@dataclasses.dataclass(frozen=True)
class CompareOptions(Checked):
    """What is compared, and how it is scored. Other settings of the methods are an argument of `compare`."""

    methods: tuple[str, ...] = option((), "methods to compare (default: all)", metavar="M")
    seeds: int = option(3, "number of seeds of each method: 0, 1...", low=1, high=MOST_SEEDS, metavar="K")
    dim: int | None = option(
        None, "embedding dimension of all methods (default: each method's own)", low=1, high=WIDEST, metavar="D"
    )
    recipe: bool = option(True, "use the recipes of a data set; otherwise the settings for graphs without one")
    protocol: str = option("linear", "linear, sklearn, knn, kmeans...", metavar="P")
    train_share: float | None = option(
        None,
        "share of the labelled nodes to train the classifier on, in random splits (stratified below 1,000 nodes); a tenth is "
        "for validation (default: the graph's own splits, else 0.1, or 0.5 of fewer than 1,000 nodes)",
        above=0,
        high=0.89,
        metavar="S",
    )
    splits: int = option(1, "random splits for each seed, where splits are drawn", low=1, high=1000, metavar="N")
    on: Literal["test", "validation"] = option("test", "nodes to score on; validation never reads test labels")
    baselines: bool = option(True, "also score random-init and raw-features")
    device: str = option("auto", "cpu, cuda, cuda:1...; auto takes a GPU where there is one")
    jobs: int = option(
        1, "trainings at a time, a process each; times and memory then say little", low=1, high=MOST_JOBS, metavar="J"
    )
    retry: bool = option(False, "run again what failed")
    force_memory: bool = option(False, "train though it is estimated not to fit the memory")


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
    again, it computes what is missing; results of another graph or of other settings stay in the file and do not count.

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
    contest = _contest(loaded, asked)
    contest.check()
    say(repr(loaded))
    everyone = contenders(
        contest,
        names,
        given,
        seeds=asked.seeds,
        dataset=dataset if asked.recipe else None,
        baselines=asked.baselines,
        say=say,
    )
    found = {contender.key: known[contender.key] for contender in everyone if contender.key in known}
    if asked.retry:
        found = {key: row for key, row in found.items() if row["outcome"] == "ok"}
    todo = missing(everyone, found)
    say(f"results to make: {len(todo)}{_stored(file, list(found.values()))}")

    def record(contender: Contender, row: Row) -> str:
        found[contender.key] = row
        if file is not None:
            file.append(row)
        return f"{row['method']} seed {row['seed']}: {_outcome(row)}"

    Sweep(run, contest, contest.jobs).run_all(todo, record, say=say, unit="results", kept=file is not None)
    rows = [found[contender.key] for contender in everyone]
    comparison = Comparison(rows, loaded.name, reference(names), asked.protocol, contest.evaluator, asked.seeds)
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
    """How many results are stored already, for the user; empty if none are."""
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


def _contest(graph: Graph, options: CompareOptions) -> Contest:
    made = provenance(choose_device(options.device))
    return Contest(
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


def _outcome(row: Row) -> str:
    if row["outcome"] != "ok":
        return f"failed: {row['outcome']}"
    return f"{float(row['score']):.2f} ({row['steps']} steps in {float(row['seconds']):.1f} s)"
