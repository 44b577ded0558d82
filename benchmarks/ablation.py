"""What each lever of the recipes buys: `python -m benchmarks.ablation --out FILE.csv`, then `--page docs/levers.md`.

Every row changes one option of a recipe of Local-GCL back to its plain value and is scored on validation nodes, with the seeds
and divisions of the searches; test labels are hidden. Rows are written as they come, and a repeated command goes on.
"""

import argparse
import json
import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.claim_figures import draw_others
from localgcl.datasets import load
from localgcl.experiments.search.trials import Problem, trial_seeds
from localgcl.experiments.search.trials import run as validated
from localgcl.experiments.statistics import paired
from localgcl.experiments.tables import short
from localgcl.recipes import recipe
from localgcl.system.devices import choose_device
from localgcl.system.files import RowFile
from localgcl.system.provenance import provenance
from localgcl.system.workers import Workers

GRAPHS = ("cora", "citeseer", "pubmed", "computers", "photo", "cs", "physics", "actor")
CITATIONS = GRAPHS[:3]
PLAIN: dict[str, Any] = {
    "dropout": 0.0,
    "masked": 0.0,
    "head": 0,
    "layer_norm": False,
    "batch_norm": False,
    "activate_last": False,
    "include_self": False,
    "positives": "mean",
    "layers": 1,
    "weight_decay": 0.0,
}
"""The plain value of each lever."""
FIELDS = ("graph", "lever", "seed", "validation", "settings", "seconds", "note", "date", "commit", "hardware")
WHOLE = "recipe"
PICTURE = "_static/levers.svg"
NAMES = {
    "dropout": "without dropout",
    "masked": "without masked positives",
    "head": "without the head",
    "layer_norm": "without layer norm",
    "batch_norm": "without batch norm",
    "activate_last": "last layer not activated",
    "include_self": "a node is not its own neighbour",
    "positives": "plain mean of the positives",
    "layers": "one layer in each channel",
    "weight_decay": "without weight decay",
    "linear hops": "linear channels over hops",
    "one encoder": "the recipe of one encoder",
}


def variants(graph: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The recipe, and the recipe with one lever taken out."""
    chosen = recipe("local-gcl", graph) or {}
    yield WHOLE, chosen
    for lever, plain in PLAIN.items():
        if chosen.get(lever, plain) != plain:
            yield lever, {**chosen, lever: plain}
    if chosen.get("encoder") == "hops":
        hops = ("X", "SX", "S2X", "BX", "B2X")
        if any(name not in hops for name in chosen["channels"]):
            yield "linear hops", {**chosen, "channels": hops, "layers": 1}
        yield "one encoder", recipe("local-gcl-single", graph) or {}


def measure(graph: str, lever: str, seed: int, device: str, commit: str) -> dict[str, Any]:
    """Validation accuracy of one seed."""
    loaded = load(graph)
    divisions = {"splits": 0, "redraws": 6} if graph in CITATIONS else {"splits": 3, "redraws": 0}
    problem = Problem.of(loaded, "local-gcl", seeds=seed + 1, protocol="linear", device=device, **divisions)
    one = Problem(problem.graph, problem.seeds[seed:], problem.splits[seed:], "local-gcl", "linear", device)
    settings = dict(variants(graph))[lever]
    result, made = validated(one, settings), provenance(choose_device(device), commit or None)
    return {
        "graph": graph,
        "lever": lever,
        "seed": problem.seeds[seed],
        "validation": result.validation,
        "settings": json.dumps(settings, sort_keys=True),
        "seconds": result.seconds,
        "note": result.note,
        "date": made.date,
        "commit": made.commit,
        "hardware": made.hardware,
    }


def page(rows: list[dict[str, str]]) -> str:
    """A table for each graph: mean validation accuracy, and the paired difference from the recipe."""
    lines = [
        "# What each lever buys",
        "",
        "Every row takes one lever out of a recipe of Local-GCL. Accuracy is that of a linear probe on validation nodes, with",
        "the seeds and splits of the searches; test labels are hidden. The recipe was picked among many on these nodes, so",
        "its own row is a little too high. Linear channels are X, SX, S²X, BX and B²X. Intervals are 95%, over seeds.",
        "",
        f"![What each change to the recipe costs on each graph, in points; the costliest by name]({PICTURE})",
    ]
    tables, costly = list[str](), list[str]()
    for graph in (name for name in GRAPHS if any(row["graph"] == name for row in rows)):
        scores = _scores(rows, graph)
        if WHOLE not in scores:
            continue
        tables += ["", f"## {graph}", "", "| settings | validation | seeds | difference |", "|---|---:|---:|---:|"]
        tables += [_row(lever, scores[lever], scores[WHOLE]) for lever in scores]
        gaps = {lever: paired(scores[lever], scores[WHOLE]) for lever in scores if lever != WHOLE}
        costly += [f"- {graph}: {NAMES[lever]}, {gap.difference:+.1f}" for lever, gap in gaps.items() if gap.high < 0]
    lines += ["", "Beyond noise, these cost accuracy:" if costly else "No change costs accuracy beyond noise.", "", *costly]
    lines += [*tables, "", f"`python -m benchmarks.ablation`; {_made(rows)}.", ""]
    return "\n".join(lines)


def figure(rows: list[dict[str, str]], path: Path) -> None:
    """What each change to the recipe costs, a line a graph."""
    lost = {}
    for graph in GRAPHS:
        scores = _scores(rows, graph)
        if WHOLE in scores and len(scores) > 1:
            gaps = {lever: paired(scores[lever], scores[WHOLE]).difference for lever in scores if lever != WHOLE}
            lost[graph] = {NAMES[lever]: -gap for lever, gap in gaps.items()}
    draw_others(lost, path, "points that a change to the recipe costs", margin=0.65)


def _scores(rows: list[dict[str, str]], graph: str) -> dict[str, dict[int, float]]:
    """Accuracy by lever and seed, the recipe first."""
    found: dict[str, dict[int, float]] = {lever: {} for lever in (WHOLE, *NAMES)}
    for row in rows:
        if row["graph"] == graph and row["validation"]:
            found[row["lever"]][int(row["seed"])] = float(row["validation"])
    return {lever: scores for lever, scores in found.items() if scores}


def _row(lever: str, scores: Mapping[int, float], whole: Mapping[int, float]) -> str:
    mean = f"{statistics.fmean(scores.values()):.2f} | {len(scores)}"
    if lever == WHOLE:
        return f"| the recipe | {mean} | |"
    gap = paired(scores, whole)
    return f"| {NAMES[lever]} | {mean} | {gap.difference:+.2f} [{gap.low:+.2f}, {gap.high:+.2f}] |"


def _made(rows: list[dict[str, str]]) -> str:
    days, commits = {row["date"][:10] for row in rows}, {short(row["commit"]) for row in rows}
    machines = {row["hardware"] for row in rows}
    return f"{' and '.join(sorted(machines))}; {', '.join(sorted(days))}; commit {', '.join(sorted(commits))}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/ablation.csv"))
    parser.add_argument("--graphs", nargs="+", default=GRAPHS, choices=GRAPHS)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--commit", default="", help="to record, in a copy of the source without its history")
    parser.add_argument("--page", type=Path, help="write the page from the rows in --out; train nothing")
    options = parser.parse_args()
    file = RowFile(options.out, FIELDS)
    if options.page:
        options.page.write_text(page(file.rows()), encoding="utf-8")
        figure(file.rows(), options.page.parent / PICTURE)
        return
    done = {(row["graph"], row["lever"], row["seed"]) for row in file.rows()}
    todo = [
        (graph, lever, seed)
        for seed in range(options.seeds)
        for graph in options.graphs
        for lever, _ in variants(graph)
        if (graph, lever, str(trial_seeds(seed + 1)[seed])) not in done
    ]
    print(f"{len(todo)} cells", flush=True)
    with Workers(options.jobs) as workers:
        tasks = [workers.submit(_store, options.out, *cell, options.device, options.commit) for cell in todo]
        for task in tasks:
            task.result()


def _store(out: Path, graph: str, lever: str, seed: int, device: str, commit: str) -> None:
    """Measures a cell and adds its row."""
    row = measure(graph, lever, seed, device, commit)
    RowFile(out, FIELDS).append(row)
    print(graph, lever, row["seed"], row["validation"], row["note"], flush=True)


if __name__ == "__main__":
    main()
