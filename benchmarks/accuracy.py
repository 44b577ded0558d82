"""Test accuracy of recipes over seeds, variants side by side: the last step, after settings were picked on validation.

    python benchmarks/accuracy.py cora --seeds 20 --rows sorf exact rff orf random-init raw-features --device cuda

Seed s sets the initial weights, the random features and, where the graph brings no splits, the split. Rows go to
benchmarks/results/accuracy.csv as they come, with the recipe they used; a row that is there already is not run again.
"""

import argparse
import csv
import json
import statistics
import time
from pathlib import Path
from typing import Any

from localgcl import evaluate, load
from localgcl.comparison import splits_of, untrained
from localgcl.methods import configure
from localgcl.preparation import column_statistics, prepare
from localgcl.recipes import recipe
from localgcl.training import fit
from localgcl.training.environment import describe

RESULTS = Path(__file__).parent / "results" / "accuracy.csv"
README = Path(__file__).parent.parent / "README.md"
START, END = "<!-- accuracy: benchmarks/accuracy.py --write-readme -->", "<!-- end -->"
VARIANTS: dict[str, dict[str, Any]] = {
    "sorf": {"negatives": "sorf"},
    "exact": {"negatives": "exact"},
    "rff": {"negatives": "rff"},
    "orf": {"negatives": "orf"},
    "positive": {"negatives": "positive"},
    "self-in-neighbours": {"negatives": "sorf", "include_self": True},
    "printed-law": {"negatives": "sorf", "frequency_law": "printed"},
    "random-init": {},
    "raw-features": {},
}
FIELDS = ["dataset", "row", "seed", "test", "validation", "seconds", "settings", "date", "commit", "hardware"]


def measure(dataset: str, row: str, seed: int, device: str, commit: str | None) -> dict[str, Any]:
    settings = recipe("local-gcl", dataset)
    if settings is None:
        raise SystemExit(f"there is no recipe for {dataset}")
    graph = load(dataset)
    settings = {**settings, **VARIANTS[row]}
    config = configure("local-gcl", {**settings, "seed": seed, "device": device, "log_every": 10})
    started = time.perf_counter()
    if row == "raw-features":
        z: Any = prepare(graph, config.preparation, column_statistics(graph, config.preparation.scaling)).x
    else:
        z = fit(graph, untrained(config) if row == "random-init" else config).embed(graph)
    seconds = time.perf_counter() - started
    scores = evaluate(z, graph, splits_of(graph, 1, seed), seed=seed, device=device)
    made = describe()
    return {
        "dataset": dataset,
        "row": row,
        "seed": seed,
        "test": round(scores.mean, 3),
        "validation": round(statistics.fmean(value for value in scores.validation if value is not None), 3),
        "seconds": round(seconds, 2),
        "settings": json.dumps(settings, sort_keys=True),
        "date": made["date"],
        "commit": commit or made["commit"],
        "hardware": made["gpu"] or made["processor"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="*")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rows", nargs="+", default=["sorf", "random-init", "raw-features"], choices=list(VARIANTS))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--commit", help="to record, where the tree was copied to another machine without its history")
    parser.add_argument("--write-readme", action="store_true", help="put the table of all results into README.md")
    options = parser.parse_args()
    options.results.parent.mkdir(parents=True, exist_ok=True)
    rows = list(csv.DictReader(options.results.open())) if options.results.exists() else []
    done = {(row["dataset"], row["row"], int(row["seed"])) for row in rows}
    for dataset in options.datasets:
        for name in options.rows:
            for seed in range(options.seeds):
                if (dataset, name, seed) in done:
                    continue
                row = measure(dataset, name, seed, options.device, options.commit)
                with options.results.open("a", newline="") as file:
                    writer = csv.DictWriter(file, FIELDS)
                    if file.tell() == 0:
                        writer.writeheader()
                    writer.writerow(row)
    lines = table(list(csv.DictReader(options.results.open())))
    print("\n".join(lines))
    if options.write_readme:
        before, rest = README.read_text().split(START)
        README.write_text(before + START + "\n" + "\n".join(lines) + "\n" + END + rest.split(END)[1])


def table(rows: list[dict[str, str]]) -> list[str]:
    """Markdown: one line a graph and variant."""
    lines = [
        "| graph | variant | test accuracy in % | validation | seeds | training | hardware |",
        "|---|---|---|---|---|---|---|",
    ]
    for dataset, name in dict.fromkeys((row["dataset"], row["row"]) for row in rows):
        mine = [row for row in rows if (row["dataset"], row["row"]) == (dataset, name)]
        test, validation = ([float(row[key]) for row in mine] for key in ("test", "validation"))
        deviation = statistics.stdev(test) if len(test) > 1 else 0.0
        lines.append(
            f"| {dataset} | {name} | {statistics.fmean(test):.2f} ± {deviation:.2f} | {statistics.fmean(validation):.2f} "
            f"| {len(mine)} | {statistics.median(float(row['seconds']) for row in mine):.1f} s | {mine[0]['hardware']} |"
        )
    return lines


if __name__ == "__main__":
    main()
