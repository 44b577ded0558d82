"""docs/published.md: published results of other methods, repeated with table-published, and why two of them miss.

Results of `localgcl reproduce table-published` count first. Where a row has none, the archive is shown: results of an earlier
script in benchmarks/results/published.csv, whose rows name only the settings that differed from the defaults of their commit.
"""

import csv
import json
import statistics
from collections.abc import Sequence
from pathlib import Path

from benchmarks import ROOT
from localgcl.experiments.reproduce.experiments import EXPERIMENTS
from localgcl.experiments.reproduce.lines import Line
from localgcl.experiments.reproduce.lookup import found, scored
from localgcl.experiments.reproduce.result_cells import PUBLISHED_COLUMNS, beside_publication
from localgcl.experiments.reproduce.store import Results, short
from localgcl.experiments.reproduce.table import pipes

ARCHIVE = ROOT / "benchmarks" / "results" / "published.csv"
CAUSES = ROOT / "benchmarks" / "results" / "causes.csv"
Rows = list[dict[str, str]]

_HEAD = """# Published results, repeated

Do our versions of other methods reach the accuracy that their authors published? Each row has the settings and the evaluator
of its method's own publication, so rows do not compare with each other: evaluators differ in splits, classifiers and what they
pick on validation. {reached} of {count} rows come within a point of their publication; the others are marked as a miss.

## Accuracy beside the published one"""
_CAPTION = """Test accuracy in %, mean ± standard deviation over seeds; the note says where training was shorter than published.
Rows marked * are from the archive (see the end of the page)."""
_CAUSES = """## Why two of them miss

The released evaluators of GMI and AFGRL pick by labels where ours does not. GMI's reports the highest test accuracy along the
steps of its classifier; its two published figures for Cora are 82.7 and 83.0, for two ways of averaging neighbours, and the
released code has one of them. AFGRL's reports the epoch of pre-training that is best on validation, and longer training lowers
accuracy here. With what their own evaluators pick, AFGRL comes within a point of its publication, and GMI within a point of the
lower of its figures."""
_CAUSES_CAPTION = "Test accuracy in % by what picks the step, mean over seeds (`python -m benchmarks.causes`)."
_SOURCE = "## Where the numbers come from"


def page(results: Results, archive: Path = ARCHIVE, causes: Path = CAUSES) -> str:
    """The page in Markdown."""
    old, tried = _read(archive), _read(causes)
    experiment = EXPERIMENTS["table-published"]
    rows, used = [], []
    for line, graph in experiment.places():
        mine = scored(found(line, graph, experiment, results))
        archived = [] if mine else [row for row in old if (row["method"], row["graph"]) == (line.method, graph)]
        cell = line.cell(graph, 0, timed=False)
        evaluator = line.protocol if cell is None else cell.evaluator
        if archived:
            evaluator = _archived_evaluator(line, archived)
            used += archived
        shown = beside_publication(line, graph, evaluator, [float(row["test"]) for row in mine or archived])
        rows.append([shown[0] + "*" * bool(archived), *shown[1:]])
    scores = [row for row in rows if row[PUBLISHED_COLUMNS.index("difference")]]
    reached = sum("miss" not in row[PUBLISHED_COLUMNS.index("difference")] for row in scores)
    parts = [_HEAD.format(reached=reached, count=len(scores)), pipes(PUBLISHED_COLUMNS, rows), _CAPTION, _CAUSES]
    parts += [pipes(["method", "graph", "picked by", "at step", "test accuracy", "seeds"], _causes(tried)), _CAUSES_CAPTION]
    parts += [_SOURCE, "\n".join(_sources(used, tried))]
    return "\n\n".join(parts) + "\n"


def _archived_evaluator(line: Line, rows: Rows) -> str:
    """The evaluator as the archived settings name it."""
    probes = {json.dumps(json.loads(row["settings"]).get("probe", {}), sort_keys=True) for row in rows}
    changed = [f"{name}={json.dumps(value)}" for name, value in json.loads(max(probes)).items()]
    return " ".join([line.protocol, *changed, *["splits=random"] * line.random_splits])


def _causes(rows: Rows) -> list[list[str]]:
    """One line for each way of picking."""
    lines = []
    for key in dict.fromkeys((row["method"], row["graph"], row["picked_by"], row["steps"]) for row in rows):
        mine = [row for row in rows if (row["method"], row["graph"], row["picked_by"], row["steps"]) == key]
        at, test = (statistics.fmean(float(row[name]) for row in mine) for name in ("at", "test"))
        epochs = f" of {key[3]}" if key[3] else ""
        lines.append([*key[:3], f"{at:.0f}{epochs}", f"{test:.2f}", str(len(mine))])
    return lines


def _sources(archived: Sequence[dict[str, str]], tried: Sequence[dict[str, str]]) -> list[str]:
    said = ["- New results: `localgcl reproduce table-published`, kept in `results/results.csv`."]
    if archived:
        said.append(f"- Archive: `benchmarks/results/published.csv`; several runs shared the GPU. {_made(archived)}")
    if tried:
        said.append(f"- Why two miss: `benchmarks/results/causes.csv`. {_made(tried)}")
    return [*said, "- This page: `python -m benchmarks.pages`."]


def _made(rows: Sequence[dict[str, str]]) -> str:
    machines, commits = ", ".join(sorted({row["hardware"] for row in rows})), sorted({short(row["commit"]) for row in rows})
    days = sorted({row["date"][:10] for row in rows})
    when = " to ".join(dict.fromkeys((days[0], days[-1])))
    return f"{len(rows)} rows; {machines}; {when}; commit {', '.join(commits)}."


def _read(path: Path) -> Rows:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))
