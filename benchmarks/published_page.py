"""docs/published.md: published results of other methods, repeated with table-published, and why two methods miss."""

import csv
import statistics
from pathlib import Path

from benchmarks import ROOT
from localgcl.experiments.tables import pipes, short
from paper.experiments import EXPERIMENTS
from paper.plots import COLOURS, canvas
from paper.store import Results
from paper.tables import PUBLISHED_COLUMNS, tables

CAUSES = ROOT / "benchmarks" / "results" / "causes.csv"
Rows = list[dict[str, str]]

_HEAD = """# Published results, repeated

Do our versions of other methods reach the accuracy that their authors published? Each row has the settings and the evaluator
of its method's own publication, so rows do not compare with each other: evaluators differ in splits, classifiers and what they
pick on validation. {reached} of {count} rows come within a point of their publication; the others are marked as a miss.

## Accuracy beside the published one"""
_CAPTION = "Test accuracy in %, mean ± standard deviation over seeds; the note says where training was shorter than published."
_FEW = "{count} of {rows} rows have one seed, because GPU time did not suffice for five: there a point may be noise."
_CAUSES = """## Why GMI and AFGRL miss

The released evaluators of GMI and AFGRL pick by labels where ours does not. GMI's reports the highest test accuracy along the
steps of its classifier; its two published figures for Cora are 82.7 and 83.0, for two ways of averaging neighbours, and the
released code has one of them. AFGRL's reports the epoch of pre-training that is best on validation. With what their own
evaluators pick, AFGRL (one seed) comes within a point of its publication, and GMI (two seeds) within a point of the lower of
its figures. We have not looked into the other misses."""
_CAUSES_CAPTION = "Test accuracy in % by what picks the step, mean over seeds."
_SOURCE = """## Where the numbers come from

- Accuracies (`python -m paper table-published`, kept in `results/results.csv`): {results}
- Why GMI and AFGRL miss (`python -m benchmarks.causes`, kept in `benchmarks/results/causes.csv`): {causes}
- This page: `python -m benchmarks.pages`."""


def figure(results: Results, path: Path) -> bool:
    """Our accuracy minus the published one, a line for each row of the table; False where nothing was run."""
    (table,) = tables("table-published", EXPERIMENTS["table-published"], results)
    at = PUBLISHED_COLUMNS.index("difference")
    gaps = [(f"{row[0]}, {row[1]}", float(row[at].split()[0])) for row in table.rows if row[at]]
    if not gaps:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    with canvas(path, 1, 1, (6.0, 0.6 + 0.2 * len(gaps))) as (_, (axes,)):
        for place, (_, gap) in enumerate(gaps):
            missed = gap < -1
            axes.plot([0, gap], [place, place], color=COLOURS[1] if missed else COLOURS[0], linewidth=2)
            axes.plot([gap], [place], "s" if missed else "o", color=COLOURS[1] if missed else COLOURS[0])
        axes.axvline(0, color="black", linewidth=0.8)
        axes.axvline(-1, color="black", linewidth=0.8, linestyle=":")
        axes.set_yticks(range(len(gaps)), labels=[name for name, _ in gaps])
        axes.set_ylim(len(gaps) - 0.4, -0.6)
        axes.set_xlabel("ours minus published, in points; squares miss by more than one")
        axes.grid(visible=True, axis="x", alpha=0.3)
    return True


def page(results: Results, causes: Path = CAUSES, picture: str = "") -> str:
    """The page in Markdown; `picture` is the path of its figure, relative to the page."""
    tried, name = _read(causes), "table-published"
    (table,) = tables(name, EXPERIMENTS[name], results)
    gaps, seeds = ([row[PUBLISHED_COLUMNS.index(column)] for row in table.rows] for column in ("difference", "seeds"))
    count, reached = sum(map(bool, gaps)), sum("miss" not in gap for gap in gaps if gap)
    few = [_FEW.format(count=seeds.count("1"), rows=len(seeds))] if "1" in seeds else []
    shown = [f"![Our accuracy minus the published one, row by row]({picture})"] if picture else []
    parts = [
        _HEAD.format(reached=reached, count=count),
        *shown,
        pipes(table.columns, table.rows),
        " ".join([_CAPTION, *few]),
        _CAUSES,
    ]
    parts += [pipes(["method", "graph", "picked by", "at step", "test accuracy", "seeds"], _causes(tried)), _CAUSES_CAPTION]
    return "\n\n".join([*parts, _SOURCE.format(results=table.source, causes=_made(tried))]) + "\n"


def _causes(rows: Rows) -> list[list[str]]:
    """One line for each way of picking."""
    lines = []
    for key in dict.fromkeys((row["method"], row["graph"], row["picked_by"], row["steps"]) for row in rows):
        mine = [row for row in rows if (row["method"], row["graph"], row["picked_by"], row["steps"]) == key]
        at, test = (statistics.fmean(float(row[name]) for row in mine) for name in ("at", "test"))
        epochs = f" of {key[3]}" if key[3] else ""
        lines.append([*key[:3], f"{at:.0f}{epochs}", f"{test:.2f}", str(len(mine))])
    return lines


def _made(rows: Rows) -> str:
    machines, commits = ", ".join(sorted({row["hardware"] for row in rows})), sorted({short(row["commit"]) for row in rows})
    days = sorted({row["date"][:10] for row in rows})
    when = " to ".join(dict.fromkeys((days[0], days[-1])))
    return f"{len(rows)} rows; {machines}; {when}; commit {', '.join(commits)}."


def _read(path: Path) -> Rows:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))
