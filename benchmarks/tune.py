"""Searches settings of Local-GCL on validation nodes only; test labels are never scored.

    python benchmarks/tune.py cora photo --trials 40 --seeds 2 --jobs 6 --device cuda

Trial 0 is the paper's printed setting where there is one; the others are drawn at random from SPACE with a fixed seed, so
the list of trials is the same for everybody. Rows go to benchmarks/results/tuning.csv as they come; a trial that is there
already is not run again. At the end the best settings of each graph are printed, by mean validation accuracy.
"""

import argparse
import csv
import json
import multiprocessing
import random
import statistics
import sys
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "tuning.csv"
FIELDS = ["dataset", "trial", "settings", "validation", "deviation", "seeds", "note", "date", "commit", "hardware"]

PAPER: dict[str, dict[str, Any]] = {
    "cora": {"layers": 2, "weight_decay": 1e-6, "dim": 2048, "num_features": 8192},
    "citeseer": {"layers": 1, "steps": 20, "learning_rate": 1e-3, "weight_decay": 1e-4, "dim": 2048, "num_features": 4096},
    "pubmed": {"dim": 1024, "num_features": 8192},
    "computers": {"dim": 1024, "num_features": 8192, "temperature": 0.8},
    "photo": {"weight_decay": 1e-6, "dim": 2048, "num_features": 8192},
    "cs": {"encoder": "mlp", "weight_decay": 1e-4, "dim": 1024, "num_features": 4096, "batch_norm": True},
    "physics": {"encoder": "mlp", "dim": 1024, "num_features": 4096, "temperature": 0.7, "batch_norm": True},
}
BASE = {"steps": 50, "learning_rate": 5e-4, "temperature": 0.5, "negatives": "sorf", "num_features": 4096}
SPACE: dict[str, list[Any]] = {
    "encoder": ["gcn", "gcn", "mlp"],
    "layers": [1, 2, 2],
    "batch_norm": [False, True],
    "self_loops": [1.0, 1.0, 0.0],
    "scaling": ["raw", "binary", "l1", "l2"],
    "dim": [512, 1024, 2048],
    "steps": [10, 20, 50, 50, 100, 200],
    "learning_rate": [5e-4, 5e-4, 1e-3],
    "weight_decay": [0.0, 1e-6, 1e-4],
    "temperature": [0.3, 0.5, 0.5, 0.8],
}


def trials(dataset: str, count: int) -> list[dict[str, Any]]:
    first = {**BASE, "dim": 512, **PAPER.get(dataset, {})}
    dice = random.Random(f"tune-{dataset}")
    drawn = [{**BASE, **{name: dice.choice(values) for name, values in SPACE.items()}} for _ in range(count - 1)]
    for settings in drawn:
        settings["num_features"] = max(4096, 4 * settings["dim"])
    return [first, *drawn]


def validate(job: tuple[str, int, dict[str, Any], int, str]) -> dict[str, Any]:
    dataset, trial, settings, seeds, device = job
    from localgcl import evaluate, load
    from localgcl.comparison import splits_of
    from localgcl.methods import configure
    from localgcl.training import fit
    from localgcl.training.environment import describe

    made = describe()
    row = {"dataset": dataset, "trial": trial, "settings": json.dumps(settings), "seeds": seeds, "note": ""}
    row |= {"date": made["date"], "commit": made["commit"], "hardware": made["gpu"] or made["processor"]}
    graph, scores = load(dataset), []
    try:
        for seed in range(seeds):
            config = configure("local-gcl", {**settings, "seed": seed, "device": device, "checkpoint_every": 0})
            z = fit(graph, config).embed(graph)
            splits = splits_of(graph, 1, seed)[:3]
            # Only the validation scores are read.
            scores.append(statistics.fmean(v for v in evaluate(z, graph, splits, device=device).validation if v is not None))
    except ValueError as error:  # a setting that cannot be trusted, such as too few features for its temperature
        row["note"] = str(error)[:100]
        return row
    row |= {"validation": round(statistics.fmean(scores), 3), "deviation": round(statistics.pstdev(scores), 3)}
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    known: list[dict[str, Any]] = list(csv.DictReader(options.results.open())) if options.results.exists() else []
    done = {(row["dataset"], int(row["trial"])) for row in known}
    jobs = [
        (dataset, trial, settings, options.seeds, options.device)
        for trial in range(options.trials)
        for dataset in options.datasets
        if (dataset, trial) not in done
        for settings in [trials(dataset, options.trials)[trial]]
    ]
    options.results.parent.mkdir(parents=True, exist_ok=True)
    with options.results.open("a", newline="") as file, multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        writer = csv.DictWriter(file, FIELDS, restval="")
        if not known:
            writer.writeheader()
        for row in pool.imap_unordered(validate, jobs):
            writer.writerow(row)
            file.flush()
            print(row["dataset"], row["trial"], row.get("validation"), row["note"][:40], file=sys.stderr, flush=True)
    rows = [row for row in csv.DictReader(options.results.open()) if row["validation"]]
    for dataset in options.datasets:
        best = sorted((row for row in rows if row["dataset"] == dataset), key=lambda row: -float(row["validation"]))
        for row in best[:5]:
            print(f"{dataset:10} {row['validation']} ± {row['deviation']}  #{row['trial']} {row['settings']}")


if __name__ == "__main__":
    main()
