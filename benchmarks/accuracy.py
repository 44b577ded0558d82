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


def measure(dataset: str, row: str, seed: int, device: str) -> dict[str, Any]:
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
        "commit": made["commit"],
        "hardware": made["gpu"] or made["processor"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rows", nargs="+", default=["sorf", "random-init", "raw-features"], choices=list(VARIANTS))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    options.results.parent.mkdir(parents=True, exist_ok=True)
    rows = list(csv.DictReader(options.results.open())) if options.results.exists() else []
    done = {(row["dataset"], row["row"], int(row["seed"])) for row in rows}
    for dataset in options.datasets:
        for name in options.rows:
            for seed in range(options.seeds):
                if (dataset, name, seed) in done:
                    continue
                row = measure(dataset, name, seed, options.device)
                with options.results.open("a", newline="") as file:
                    writer = csv.DictWriter(file, FIELDS)
                    if file.tell() == 0:
                        writer.writeheader()
                    writer.writerow(row)
    rows = list(csv.DictReader(options.results.open()))
    for dataset in options.datasets:
        for name in options.rows:
            mine = [row for row in rows if (row["dataset"], row["row"]) == (dataset, name)]
            test, validation = ([float(row[key]) for row in mine] for key in ("test", "validation"))
            seconds = statistics.median(float(row["seconds"]) for row in mine)
            deviation = statistics.stdev(test) if len(test) > 1 else 0.0
            print(
                f"{dataset:10} {name:18} test {statistics.fmean(test):6.2f} ± {deviation:.2f}   "
                f"validation {statistics.fmean(validation):6.2f}   {seconds:6.2f} s   {len(mine)} seeds"
            )


if __name__ == "__main__":
    main()
