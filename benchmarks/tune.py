"""Searches settings of Local-GCL on validation nodes only: test scores are neither read, printed nor written.

    python benchmarks/tune.py cora photo --seeds 3 --jobs 2 --device cuda

Starts from the paper's printed settings (or, for graphs it prints none for, from its defaults) and changes one option at
a time, keeping a change when the mean validation accuracy rises. Rows go to benchmarks/results/tuning.csv as they come; a
trial that is there already is not run again. At the end the best settings of each graph are printed.
"""

import argparse
import csv
import fcntl
import json
import multiprocessing
import statistics
import sys
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "tuning.csv"
FIELDS = ["dataset", "settings", "validation", "deviation", "seeds", "note", "date", "commit", "hardware"]

PAPER: dict[str, dict[str, Any]] = {
    "cora": {"layers": 2, "weight_decay": 1e-6, "dim": 2048, "num_features": 8192},
    "citeseer": {"layers": 1, "steps": 20, "learning_rate": 1e-3, "weight_decay": 1e-4, "dim": 2048, "num_features": 4096},
    "pubmed": {"dim": 1024, "num_features": 8192},
    "computers": {"dim": 1024, "num_features": 8192, "temperature": 0.8},
    "photo": {"weight_decay": 1e-6, "dim": 2048, "num_features": 8192},
    "cs": {"encoder": "mlp", "weight_decay": 1e-4, "dim": 1024, "num_features": 4096, "batch_norm": True},
    "physics": {"encoder": "mlp", "dim": 1024, "num_features": 4096, "temperature": 0.7, "batch_norm": True},
}
BASE: dict[str, Any] = {
    "encoder": "gcn",
    "layers": 2,
    "batch_norm": False,
    "self_loops": 1.0,
    "scaling": "raw",
    "dim": 1024,
    "steps": 50,
    "learning_rate": 5e-4,
    "weight_decay": 0.0,
    "temperature": 0.5,
    "include_self": False,
    "negatives": "sorf",
    "num_features": 8192,
}
CHANGES: list[tuple[str, list[Any]]] = [
    ("batch_norm", [False, True]),
    ("scaling", ["raw", "binary", "l1", "l2"]),
    ("self_loops", [1.0, 0.0]),
    ("encoder", ["gcn", "mlp"]),
    ("steps", [10, 20, 50, 100, 200]),
    ("layers", [1, 2]),
    ("temperature", [0.3, 0.5, 0.8]),
    ("dim", [1024, 2048]),
    ("include_self", [False, True]),
]


def validate(dataset: str, settings: dict[str, Any], seeds: int, device: str, commit: str | None) -> dict[str, Any]:
    """One trial: the row for results/tuning.csv."""
    from localgcl import evaluate, load
    from localgcl.comparison import splits_of
    from localgcl.methods import configure
    from localgcl.training import fit
    from localgcl.training.environment import describe

    made = describe()
    row = {"dataset": dataset, "settings": json.dumps(settings, sort_keys=True), "seeds": seeds, "note": ""}
    row |= {"date": made["date"], "commit": commit or made["commit"], "hardware": made["gpu"] or made["processor"]}
    graph, scores = load(dataset), []
    try:
        for seed in range(seeds):
            config = configure("local-gcl", {**settings, "seed": seed, "device": device, "log_every": 10})
            z = fit(graph, config).embed(graph)
            result = evaluate(z, graph, splits_of(graph, 1, seed)[:3], device=device)
            scores.append(statistics.fmean(value for value in result.validation if value is not None))
    except ValueError as error:  # a setting that cannot be trusted, such as too few features for its temperature
        row["note"] = str(error)[:100]
        return row
    return row | {"validation": round(statistics.fmean(scores), 3), "deviation": round(statistics.pstdev(scores), 3)}


def search(job: tuple[str, int, str, Path, str | None]) -> None:
    """One option at a time, each kept where validation says so."""
    dataset, seeds, device, results, commit = job
    known = {row["settings"]: row for row in read(results) if row["dataset"] == dataset}

    def score(settings: dict[str, Any]) -> float:
        key = json.dumps(settings, sort_keys=True)
        if key not in known:
            known[key] = {name: str(value) for name, value in validate(dataset, settings, seeds, device, commit).items()}
            append(results, known[key])
        print(dataset, known[key].get("validation"), key, file=sys.stderr, flush=True)
        return float(known[key].get("validation") or 0)

    best = {**BASE, **PAPER.get(dataset, {})}
    best_score = score(best)
    for name, values in CHANGES:
        for value in values:
            if value != best[name]:
                trial = {**best, name: value}
                if (trial_score := score(trial)) > best_score:
                    best, best_score = trial, trial_score


def read(results: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(results.open())) if results.exists() else []


def append(results: Path, row: dict[str, Any]) -> None:
    """One line, written whole under a lock: several searches share the file."""
    with results.open("a", newline="") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        writer = csv.DictWriter(file, FIELDS, restval="")
        if file.tell() == 0:
            writer.writeheader()
        writer.writerow(row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--commit", help="to record, where the tree was copied to another machine without its history")
    options = parser.parse_args()
    options.results.parent.mkdir(parents=True, exist_ok=True)
    jobs = [(dataset, options.seeds, options.device, options.results, options.commit) for dataset in options.datasets]
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        pool.map(search, jobs, chunksize=1)
    for dataset in options.datasets:
        rows = [row for row in read(options.results) if row["dataset"] == dataset and row["validation"]]
        for row in sorted(rows, key=lambda row: -float(row["validation"]))[:3]:
            print(f"{dataset:10} {row['validation']} ± {row['deviation']} {row['settings']}")


if __name__ == "__main__":
    main()
