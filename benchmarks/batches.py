"""Mini-batches against the whole graph: `python -m benchmarks.batches --out benchmarks/results/batches.csv`.

Trains Local-GCL with a GCN twice for each seed, with the settings of its recipe for one encoder (local-gcl-single.toml): on the
whole graph, and on mini-batches of the same number of steps. Accuracy is that of the linear probe on validation nodes; `--test`
scores test nodes instead. Seconds and memory are those of training and embedding: on a GPU the peak that torch has allocated,
on a CPU the growth of the process. Rows are written as they come, and a repeated command goes on where it stopped.
"""

import argparse
import statistics
from pathlib import Path
from typing import Any

import torch

from localgcl.datasets import load
from localgcl.datasets.splits import splits_of
from localgcl.evaluation import evaluate, validate
from localgcl.graph import Graph
from localgcl.methods import configure
from localgcl.recipes import recipes
from localgcl.system.devices import choose_device
from localgcl.system.peak import measured
from localgcl.system.provenance import now, provenance
from localgcl.system.store import RowFile
from localgcl.training import fit

FIRST_SEED = 1000
BARS = {"pubmed": 0.5, "computers": 0.5, "arxiv-structure": 1.0}
"""How many points mini-batches may lose."""
FIELDS = (
    *("graph", "batch", "sampled", "steps", "dim", "nodes", "seed", "accuracy", "seconds", "peak_mib"),
    *("date", "commit", "hardware"),
)


def settings_of(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """The recipe of one encoder, a GCN, with the settings that were given; the defaults of a GCN where there is none."""
    return {"encoder": "gcn", **recipes("local-gcl-single").get(name, {}), **given}


def run(graph: Graph, settings: dict[str, Any], seed: int, device: str, nodes: str) -> dict[str, Any]:
    """Trains, embeds and scores once."""
    config = configure("local-gcl", {**settings, "seed": seed, "device": device, "log_every": 10, "checkpoint_every": 0})
    z, cost = measured(lambda: fit(graph, config).embed(graph), choose_device(device))
    score = evaluate if nodes == "test" else validate
    scores = score(z, graph, splits_of(graph, 1, seed)[:1], device=device, seed=seed)
    peak = "" if cost.peak is None else round(cost.peak / 2**20)
    return {"accuracy": round(scores.mean, 3), "seconds": round(cost.seconds, 2), "peak_mib": peak}


def key(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in ("graph", "batch", "sampled", "steps", "dim", "nodes", "seed", "hardware"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--graphs", nargs="+", default=list(BARS))
    parser.add_argument("--batch", type=int, default=2048)
    parser.add_argument("--sampled", type=int, default=10)
    parser.add_argument("--steps", type=int, help="of both forms (default: the recipe's)")
    parser.add_argument("--dim", type=int, help="of both forms (default: the recipe's)")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--test", action="store_true", help="score test nodes")
    parser.add_argument("--commit", help="to record, in a copy of the source without its history")
    options = parser.parse_args()
    given = {name: value for name in ("steps", "dim") if (value := getattr(options, name)) is not None}
    file, nodes = RowFile(options.out, FIELDS), "test" if options.test else "validation"
    made = provenance(choose_device(options.device), options.commit)
    done = {key(row): row for row in file.rows()}
    for name in options.graphs:
        graph, found = load(name), dict[int, list[float]]()
        settings = settings_of(name, given)
        config = configure("local-gcl", settings)
        same = {"steps": config.training.steps, "dim": config.encoder.dim, "nodes": nodes}
        # The first training also compiles kernels, which is not counted.
        if not options.test and choose_device(options.device).type == "cuda":
            fit(graph, configure("local-gcl", {**settings, "steps": 2, "device": options.device}))
            torch.cuda.empty_cache()
        for seed in range(FIRST_SEED, FIRST_SEED + options.seeds):
            for batch, sampled in ((0, 0), (options.batch, options.sampled)):
                row: dict[str, Any] = {"graph": name, "batch": batch, "sampled": sampled, **same, "seed": seed}
                row |= {"hardware": made.hardware, "commit": made.commit}
                if key(row) not in done:
                    row |= {"date": now()} | run(
                        graph, {**settings, "batch": batch, "sampled": sampled}, seed, options.device, nodes
                    )
                    file.append(row)
                    done[key(row)] = {field: str(value) for field, value in row.items()}
                row = done[key(row)]
                found.setdefault(batch, []).append(float(row["accuracy"]))
                print(
                    f"{name:16} batch {batch:6} seed {seed}: {float(row['accuracy']):.2f} {nodes}, "
                    f"{row['seconds']} s, {row['peak_mib']} MiB",
                    flush=True,
                )
        print(summary(name, found[0], found[options.batch]), flush=True)


def summary(name: str, whole: list[float], batches: list[float]) -> str:
    """One line: the mean difference over seeds beside what is allowed."""
    differences = [part - all_ for part, all_ in zip(batches, whole, strict=True)]
    mean = statistics.fmean(differences)
    error = statistics.stdev(differences) / len(differences) ** 0.5 if len(differences) > 1 else 0.0
    bar = BARS.get(name)
    verdict = "" if bar is None else f"; at least -{bar} wanted: {'within' if mean >= -bar else 'OUTSIDE'}"
    return f"{name}: mini-batches {mean:+.2f} points (standard error {error:.2f}, {len(differences)} seeds){verdict}"


if __name__ == "__main__":
    main()
