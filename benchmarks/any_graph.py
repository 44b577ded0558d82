"""Defaults of all methods, beside each other: `python -m benchmarks.any_graph --out FILE.csv`, then `--page docs/any-graph.md`.

The second command also writes the README's table of means.

Every method trains with its defaults for a graph without a recipe, without labels. Seeds 0, 1 and 2 decide weights and random
splits: a linear probe on 10% of the labels, another 10% to choose its weight decay, the rest for testing. Results are looked at
once: a cell that is in the file is not run again.
"""

import argparse
import statistics
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import ROOT, convergence
from benchmarks.claim_figures import draw_others
from benchmarks.comparison import listed
from benchmarks.development import BENCHMARKS, GRAPHS, WITHOUT_RECIPE
from benchmarks.files import write_between
from localgcl import compare
from localgcl.experiments.compare.comparison import FIELDS, Line, Row, lines
from localgcl.experiments.tables import short
from localgcl.methods import find_method
from localgcl.recipes import length_for
from localgcl.system.files import RowFile
from paper.store import LEDGER_FIELDS

RIVALS = ("local-gcl", "grace", "cca-ssg", "bgrl", "sugrl")
TEN = (*RIVALS, "dgi", "gmi", "mvgrl", "gca", "afgrl", "af-gcl")
BASELINES = ("raw-features", "random-init")
PICTURE = "_static/any-graph.svg"
CURVES = ROOT / "benchmarks" / "results" / "convergence.csv"
"""How the baselines' losses fell (`benchmarks.convergence`)."""
START, END = "<!-- defaults: python -m benchmarks.any_graph --page docs/any-graph.md -->", "<!-- end of defaults -->"
COLUMNS = ("asked", *FIELDS)
"""asked: the dimension that all methods were told to have; 0 for each method's own default."""


def run(name: str, dim: int, out: Path, commit: str, **options: Any) -> None:
    """Compares the methods on one graph and adds their rows to `out`."""
    file = RowFile(out, COLUMNS)
    done = {(row["asked"], row["graph"]) for row in file.rows()}
    if (str(dim), name) in done:
        return
    graph = GRAPHS[name]()
    found = compare(
        graph,
        TEN if name in WITHOUT_RECIPE else RIVALS,
        dim=dim or None,
        recipe=False,
        train_share=0.1,
        seeds=3,
        out=out.with_suffix("") / f"{name}-{dim}",
        say=print,
        **options,
    )
    print(found, flush=True)
    for row in found.rows:
        file.append({**row, "asked": dim, "graph": name, "commit": row["commit"] or commit})


def enter(rows: list[Row], ledger: Path) -> int:
    """Adds each evaluation on test nodes to the ledger, once; returns how many were new."""
    file = RowFile(ledger, LEDGER_FIELDS)
    known = {tuple(row[name] for name in LEDGER_FIELDS) for row in file.rows()}
    made = [{**row, "recipe": row["key"], "protocol": "linear-10%"} for row in rows if row["outcome"] == "ok"]
    new = [row for row in made if tuple(row[name] for name in LEDGER_FIELDS) not in known]
    for row in new:
        file.append({name: row[name] for name in LEDGER_FIELDS})
    return len(new)


def page(rows: list[Row], curves: list[dict[str, str]]) -> str:
    """The page: for each graph the accuracy of Local-GCL, and what others have more or less.

    Args:
        rows: The accuracies.
        curves: How the baselines' losses fell, rows of `benchmarks.convergence`.
    """
    parts = [
        _HEAD,
        _wrapped(f"{_CHOICE} {training_lengths(curves)}"),
        _READING,
        f"![Each method's accuracy minus that of Local-GCL, graph by graph]({PICTURE})",
    ]
    for dim, title in ((0, "Each method's own dimension"), (512, "512 dimensions for all")):
        found = {name: lines(_of(rows, name, dim), "local-gcl") for name in GRAPHS if _of(rows, name, dim)}
        if found:
            parts += [f"## {title}", *_tables(found), _facts(found)]
    used = sorted({f"{row['hardware']}, {row['date'][:10]}, commit {short(row['commit'])}" for row in rows})
    return "\n\n".join([*parts, "Run on: " + "; ".join(used) + "."]) + "\n"


def training_lengths(curves: list[dict[str, str]]) -> str:
    """For which baselines the length of training was chosen by their loss, and which of them stop before its fall."""
    lengths = {method: length_for(method) for method in convergence.BUDGETS}
    by_loss = [method for method, length in lengths.items() if "steps" in length]
    by_patience = [method for method, length in lengths.items() if length and "steps" not in length]
    kept = [method for method, length in lengths.items() if not length]
    early = []
    for method, length in lengths.items():
        steps = {**find_method(method).defaults, **length}["steps"]
        curve = {row["graph"]: row for row in sorted(curves, key=lambda row: int(row["steps"])) if row["method"] == method}
        short = [graph for graph, row in curve.items() if int(row["step_90"]) > steps]
        early += [f"{method} ({steps} steps, {len(short)} of {len(curve)} graphs)"] if short else []
    said = (
        f"How long {listed(by_loss)} train was chosen by the convergence of their own loss "
        f"(`python -m benchmarks.convergence`); for {listed(by_patience)} that is so of the patience alone, and {listed(kept)} "
        f"keep a published number of steps."
    )
    return f"{said} The loss has made less than 90% of its fall at the last step of {listed(early)}." if early else said


def means_table(rows: list[Row]) -> str:
    """The README's table: means over the graphs without a recipe and over the benchmarks."""
    heads = ("mean over", "dimensions", "local-gcl", "best other", "most of the lead", "raw features")
    table = [f"| {' | '.join(heads)} |", "|---|---|---:|---|---|---:|"]
    for graphs, title in ((WITHOUT_RECIPE, ", ".join(WITHOUT_RECIPE)), (BENCHMARKS, f"{len(BENCHMARKS)} benchmarks")):
        for dim, width in ((0, "each method's own"), (512, "512 for all")):
            found = {name: lines(_of(rows, name, dim), "local-gcl") for name in graphs}
            means, lead = _means(found), _lead(found)
            other = _best_other(means)
            most = "" if lead is None else f"{lead.graph}, {lead.share:.0%}"
            numbers = f"{means['local-gcl']:.1f} | {means[other]:.1f} {other} | {most} | {means['raw-features']:.1f}"
            table.append(f"| {title} | {width} | {numbers} |")
    return "\n".join(table)


def figure(rows: list[Row], path: Path) -> None:
    """Every other method by its difference to Local-GCL, a line a graph, each with its own dimension."""
    gaps = {}
    for name in GRAPHS:
        means = {line.method: _mean(line) for line in lines(_of(rows, name, 0), "local-gcl") if line.scores}
        if means:
            gaps[name] = {method: mean - means["local-gcl"] for method, mean in means.items() if method != "local-gcl"}
    draw_others(gaps, path, "mean of each other method and baseline minus Local-GCL (the line), in points")


def _of(rows: list[Row], name: str, dim: int) -> list[Row]:
    return [row for row in rows if row["graph"] == name and row["asked"] == str(dim)]


def _tables(found: dict[str, list[Line]]) -> list[str]:
    kinds = [{name: found[name] for name in kind if name in found} for kind in (WITHOUT_RECIPE, BENCHMARKS)]
    return [part for kind in kinds if kind for part in (_table(kind), _lead_in_words(kind)) if part]


def _table(found: dict[str, list[Line]]) -> str:
    methods = list(dict.fromkeys(["local-gcl", *(line.method for made in found.values() for line in made)]))
    methods = [*(method for method in methods if method not in BASELINES), *(m for m in BASELINES if m in methods)]
    by_graph = {name: {line.method: line for line in made} for name, made in found.items()}
    rows = [f"| method | dim | {' | '.join(found)} | mean |", "|---|---:|" + "---:|" * (len(found) + 1)]
    for method in methods:
        scored = [by_graph[name].get(method) for name in found]
        means = [_mean(line) for line in scored if line is not None and line.scores]
        mean = f"{statistics.fmean(means):.1f}" if len(means) == len(found) else ""
        dims = sorted({int(row["dim"]) for line in scored if line is not None for row in line.scored})
        dims = dims if len(dims) < 3 else [dims[0], dims[-1]]
        rows.append(f"| {method} | {' to '.join(map(str, dims))} | {' | '.join(_cell(line) for line in scored)} | {mean} |")
    return "\n".join(rows)


def _cell(line: Line | None) -> str:
    if line is None or not line.scores:
        return ""
    mark = "" if line.gap is None else "▲" if line.gap.low > 0 else "▽" if line.gap.high < 0 else ""
    sign = mark and f"\N{NO-BREAK SPACE}{mark}"  # on the line of its number, on a phone too
    return f"{_mean(line):.1f}{sign}"


def _mean(line: Line) -> float:
    return statistics.fmean(line.scores.values())


def _facts(found: dict[str, list[Line]]) -> str:
    better, below = [], []
    for name, made in found.items():
        ours = next(line for line in made if line.method == "local-gcl")
        for line in made:
            if line.gap is not None and line.gap.low > 0 and line.method not in BASELINES:
                better.append(f"{line.method} on {name}")
            if line.method == "raw-features" and _mean(line) > _mean(ours):
                below.append(name)
    return (
        f"Clearly better than Local-GCL: {', '.join(better) or 'no method on any graph'}. "
        f"Raw features are ahead on: {', '.join(below) or 'no graph'}."
        f"{_ahead(found)}"
    )


def _ahead(found: dict[str, list[Line]]) -> str:
    """A sentence on methods whose mean over the benchmarks is above Local-GCL's; empty where there is none."""
    graphs = {name: found[name] for name in BENCHMARKS if name in found}
    means = _means(graphs)
    above = sorted(method for method in means if means[method] > means["local-gcl"])
    return f" Higher mean over the {len(graphs)} benchmarks: {', '.join(above)}." if above else ""


def _means(found: dict[str, list[Line]]) -> dict[str, float]:
    """Mean over the graphs of each method that was scored on all of them."""
    scores = {name: {line.method: _mean(line) for line in made if line.scores} for name, made in found.items()}
    everywhere = set.intersection(*(set(by_method) for by_method in scores.values())) if scores else set[str]()
    return {method: statistics.fmean(by_method[method] for by_method in scores.values()) for method in everywhere}


class Lead(NamedTuple):
    """By how much the mean of Local-GCL over some graphs is above that of the best other method, and where that comes from."""

    other: str
    graph: str
    """The graph on which Local-GCL is furthest ahead of it."""
    share: float
    """That graph's part of the lead; above 1 where Local-GCL is behind on others."""
    without: float
    """The lead in points over the remaining graphs."""


def _lead(found: dict[str, list[Line]]) -> Lead | None:
    """None where Local-GCL does not lead, or there is one graph alone."""
    means = _means(found)
    others = set(means) - {"local-gcl", *BASELINES}
    if len(found) < 2 or not others or means["local-gcl"] <= means[other := _best_other(means)]:
        return None
    gaps = {}
    for name, made in found.items():
        scores = {line.method: _mean(line) for line in made if line.scores}
        gaps[name] = scores["local-gcl"] - scores[other]
    most = max(gaps, key=gaps.__getitem__)
    total = sum(gaps.values())
    return Lead(other, most, gaps[most] / total, (total - gaps[most]) / (len(gaps) - 1))


def _best_other(means: dict[str, float]) -> str:
    return max(set(means) - {"local-gcl", *BASELINES}, key=means.__getitem__)


def _lead_in_words(found: dict[str, list[Line]]) -> str:
    lead = _lead(found)
    if lead is None:
        return ""
    return (
        f"Of the lead of Local-GCL's mean over that of {lead.other}, {lead.share:.0%} is {lead.graph}; over the other graphs "
        f"the difference is {lead.without:+.1f} points."
    )


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 128, break_on_hyphens=False, break_long_words=False)


_HEAD = """# Any graph, no labels

What you get without setting anything. Every method trains with its defaults for graphs without a recipe."""
_CHOICE = (
    "The defaults of Local-GCL were chosen on validation nodes of these graphs, with other seeds and splits (`python -m "
    "benchmarks.defaults`), so the tables do not show how it fares on a graph that played no part in the choice."
)
_READING = """\
Mean accuracy in % over three seeds of a linear probe that trains on 10% of the labels. ▲ marks a method that is better than
Local-GCL by more than the 95% interval of the differences paired by seed, ▽ one that is worse by more. Test nodes of each graph
were looked at once for each table. `python -m benchmarks.any_graph` makes this page."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/any-graph.csv"))
    parser.add_argument("--graphs", nargs="+", default=[*WITHOUT_RECIPE, *BENCHMARKS])
    parser.add_argument("--dims", nargs="+", type=int, default=[0, 512])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--commit", default="", help="to record, in a copy of the source without its history")
    parser.add_argument(
        "--page", type=Path, help="write the page from the rows in --out and enter them into the ledger; train nothing"
    )
    options = parser.parse_args()
    if options.page:
        rows = RowFile(options.out, COLUMNS).rows()
        options.page.write_text(page(rows, RowFile(CURVES, convergence.FIELDS).rows()), encoding="utf-8")
        figure(rows, options.page.parent / PICTURE)
        write_between(ROOT / "README.md", START, END, means_table(rows))
        print(f"{enter(rows, Path('results/ledger.csv'))} new entries in results/ledger.csv")
        return
    for name in options.graphs:
        for dim in options.dims:
            run(name, dim, options.out, options.commit, device=options.device, jobs=options.jobs)


if __name__ == "__main__":
    main()
