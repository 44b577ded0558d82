"""Candidates for the defaults, on validation nodes: `python -m benchmarks.defaults CANDIDATES.toml --out FILE.csv`.

A candidate is a table of settings in a TOML file, with `method` among them (local-gcl when left out); `chosen = true` starts
from what the library chooses for a graph without a recipe. With `--edges-alone` graphs lose their features, and a candidate may
have `columns`, the number of structural ones. Each is trained on every graph of `benchmarks.development`, without labels, and
scored by a linear probe on 10% of the labels, on validation nodes alone. Seeds and splits start at 1000: tests use those from
0. Rows are written as they come, and a repeated command goes on where it stopped.
"""

import argparse
import collections
import gc
import json
import statistics
import time
import tomllib
from concurrent.futures import as_completed
from pathlib import Path
from typing import Any

import torch

from benchmarks.development import GRAPHS, LARGE, edges_alone
from localgcl.datasets import random_splits
from localgcl.evaluation import validate
from localgcl.methods import configure
from localgcl.methods.settings import choose_settings
from localgcl.system.devices import choose_device
from localgcl.system.files import RowFile
from localgcl.system.provenance import provenance
from localgcl.system.workers import Workers
from localgcl.training import fit

FIRST_SEED = 1000
FIELDS = ("candidate", "graph", "seed", "validation", "dim", "seconds", "settings", "date", "commit", "hardware")


def score(
    name: str, candidate: dict[str, Any], graph: str, seed: int, splits: int, device: str, commit: str, alone: bool = False
) -> dict[str, Any]:
    """Trains one candidate on one graph, without its features if `alone`, and returns its row."""
    loaded = edges_alone(graph, candidate.get("columns")) if alone else (GRAPHS | LARGE)[graph]().with_splits([])
    settings = {key: value for key, value in candidate.items() if key not in ("method", "chosen", "columns")}
    given = {**settings, "seed": seed, "device": device, "log_every": 1000}
    method = candidate.get("method", "local-gcl")
    config = choose_settings(method, loaded, given=given).config if candidate.get("chosen") else configure(method, given)
    started = time.perf_counter()
    z = fit(loaded, config).embed(loaded)
    seconds = time.perf_counter() - started
    divisions = random_splits(loaded, num=splits, seed=FIRST_SEED)
    found = validate(z, loaded, divisions, device=device, seed=seed)
    made = provenance(choose_device(device))
    gc.collect()
    if device.startswith("cuda"):
        torch.cuda.empty_cache()
    return {
        "candidate": name,
        "graph": graph,
        "seed": seed,
        "validation": round(found.mean, 3),
        "dim": z.shape[1],
        "seconds": round(seconds, 3),
        "settings": json.dumps(candidate, sort_keys=True),
        "date": made.date,
        "commit": commit or made.commit,
        "hardware": made.device,
    }


def summary(rows: list[dict[str, str]]) -> str:
    """A line for each candidate: its mean distance below the best candidate of each graph, and its accuracy on each."""
    table: dict[str, dict[str, list[float]]] = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in rows:
        table[row["candidate"]][row["graph"]].append(float(row["validation"]))
    graphs = [graph for graph in GRAPHS | LARGE if any(graph in scores for scores in table.values())]
    means = {name: {graph: statistics.fmean(values) for graph, values in scores.items()} for name, scores in table.items()}
    best = {graph: max(scores[graph] for scores in means.values() if graph in scores) for graph in graphs}
    complete = sorted(
        (statistics.fmean(best[graph] - scores[graph] for graph in graphs), name)
        for name, scores in means.items()
        if set(scores) == set(graphs)
    )
    lines = ["regret  " + " ".join(f"{graph[:8]:>8}" for graph in graphs)]
    lines += [
        f"{regret:6.2f}  " + " ".join(f"{means[name][graph]:8.1f}" for graph in graphs) + f"  {name}"
        for regret, name in complete
    ]
    partial = sorted(set(means) - {name for _, name in complete})
    return "\n".join([*lines, *(f"incomplete: {name} ({len(means[name])} of {len(graphs)} graphs)" for name in partial)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("candidates", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS))
    parser.add_argument("--edges-alone", action="store_true", help="take the features away")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--commit", default="", help="to record, in a copy of the source without its history")
    options = parser.parse_args()
    candidates = tomllib.loads(options.candidates.read_text())
    file, started = RowFile(options.out, FIELDS), time.monotonic()
    done = {(row["candidate"], row["graph"], int(row["seed"])) for row in file.rows()}
    cells = [
        (name, graph, seed)
        for seed in range(FIRST_SEED, FIRST_SEED + options.seeds)
        for graph in options.graphs
        for name in candidates
        if (name, graph, seed) not in done
    ]
    with Workers(options.jobs) as workers:
        waiting = iter(cells)
        running = {}
        for cell in waiting:
            name, graph, seed = cell
            running[
                workers.submit(
                    score,
                    name,
                    candidates[name],
                    graph,
                    seed,
                    options.splits,
                    options.device,
                    options.commit,
                    options.edges_alone,
                )
            ] = cell
            if len(running) < options.jobs:
                continue
            finished = next(as_completed(running))
            file.append(finished.result())
            del running[finished]
            if time.monotonic() - started > 60 * options.minutes:
                break
        for finished in as_completed(running):
            file.append(finished.result())
    print(summary(file.rows()))


if __name__ == "__main__":
    main()
