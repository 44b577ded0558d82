"""Accuracy of ways to train on a large block model: `python -m benchmarks.large.accuracy --nodes 1000000 --out FILE.csv`.

`--page docs/large.md` then writes the table between two marks of that page.

- folder: the default, on a graph folder whose rows stay on disk (`--folder GRAPH`, made by `localgcl convert`);
- batches: the same settings with the graph in memory;
- whole: the same with steps over the whole graph, all nodes negatives of each other.

A linear probe on 1% of the labels, 1% to choose its weight decay, the rest for testing: nobody tunes anything on a generated
graph. Seconds are those of training, and of embedding all nodes.
"""

import argparse
import resource
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.files import write_between
from benchmarks.large.generate import BlockModel
from localgcl.datasets import random_splits
from localgcl.evaluation import evaluate
from localgcl.experiments.tables import short
from localgcl.graph import Graph
from localgcl.methods.settings import choose_settings
from localgcl.system.devices import choose_device
from localgcl.system.files import RowFile
from localgcl.system.provenance import provenance
from localgcl.training import fit

WAYS = {"folder": "graph folder", "batches": "in memory", "whole": "in memory, whole-graph steps"}
START, END = "<!-- accuracy: python -m benchmarks.large.accuracy --page docs/large.md -->", "<!-- end of accuracy -->"
FIELDS = (
    *("nodes", "edges", "features", "dim", "way", "seed", "accuracy", "raw", "train_seconds", "embed_seconds", "peak_gib"),
    *("steps", "batch", "date", "commit", "hardware"),
)


def drawn(model: BlockModel) -> Graph:
    """The block model in memory, with both directions of every edge and rows in the order of the tables."""
    numbers = _Numbers(**vars(model))
    edges = [np.stack([batch["source"], batch["target"]]) for batch in numbers.edge_rows(range(model.edges))]
    source, target = np.concatenate(edges, axis=1)
    x = np.concatenate([np.stack(list(batch.columns[1:]), 1) for batch in numbers.feature_rows(range(model.nodes))])
    y = torch.arange(model.nodes) % model.classes
    graph = Graph.from_edges(torch.from_numpy(source), torch.from_numpy(target), x=torch.from_numpy(x), y=y, name="blocks")
    return graph.symmetrized()


class _Numbers(BlockModel):
    """The block model with numbers for names."""

    def names(self, nodes: Any) -> Any:
        return nodes


def measure(graph: Graph, way: str, dim: int, seed: int, device: str, commit: str) -> dict[str, Any]:
    """Trains, embeds and scores."""
    config = choose_settings("local-gcl", graph, given={"dim": dim, "device": device, "seed": seed}).config
    config = config.replace(batch=0, sampled=0) if way == "whole" else config
    place, made = choose_device(device), provenance(choose_device(device), commit or None)
    if place.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    started = time.perf_counter()
    model = fit(graph, config, force_memory=True)
    trained = time.perf_counter()
    z = model.embed(graph)
    embedded = time.perf_counter()
    used = (
        torch.cuda.max_memory_allocated() if place.type == "cuda" else 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    )
    splits = random_splits(graph, num=1, train=0.01, val=0.01, seed=seed)
    scores = [evaluate(table, graph, splits, seed=seed, device=device).mean for table in (z, torch.as_tensor(graph.x))]
    return {
        "nodes": graph.num_nodes,
        "edges": graph.num_edges // 2,
        "features": graph.num_features,
        "dim": dim,
        "way": way,
        "seed": seed,
        "accuracy": round(scores[0], 3),
        "raw": round(scores[1], 3),
        "train_seconds": round(trained - started, 2),
        "embed_seconds": round(embedded - trained, 2),
        "peak_gib": round(used / 2**30, 2),
        "steps": config.training.steps,
        "batch": config.training.batch,
        "date": made.date,
        "commit": made.commit,
        "hardware": made.hardware,
    }


def table(rows: list[dict[str, str]]) -> str:
    """The table of a page: a row for each size, machine and way, means over seeds."""
    lines = ["| nodes | trained on | batch | machine | seeds | accuracy | raw features | train | embed |"]
    lines += ["|---:|---|---:|---|---:|---:|---:|---:|---:|"]
    ways = list(WAYS)
    keys = {(int(row["nodes"]), row["hardware"], ways.index(row["way"]), int(row["batch"])) for row in rows}
    for nodes, hardware, way, batch in sorted(keys):
        sought = (str(nodes), hardware, ways[way], str(batch))
        mine = [row for row in rows if (row["nodes"], row["hardware"], row["way"], row["batch"]) == sought]
        accuracy, raw, train, embed = (
            statistics.fmean(float(row[name]) for row in mine) for name in ("accuracy", "raw", "train_seconds", "embed_seconds")
        )
        size = f"{batch:,}" if batch else "all"
        lines.append(
            f"| {nodes:,} | {WAYS[ways[way]]} | {size} | {hardware} | {len(mine)} | {accuracy:.1f} | {raw:.1f} | "
            f"{train:.0f} s | {embed:.0f} s |"
        )
    made = sorted({f"{row['date'][:10]}, commit {short(row['commit'])}" for row in rows})
    return "\n".join([*lines, "", f"Measured on {'; '.join(made)}."])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--homophily", type=float, default=0.3)
    parser.add_argument("--noise", type=float, default=6.0)
    parser.add_argument("--ways", nargs="+", default=["batches", "whole"], choices=list(WAYS))
    parser.add_argument("--folder", type=Path, help="graph folder of the same block model, for the way folder")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--commit", default="", help="to record, in a copy of the source without its history")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/large-accuracy.csv"))
    parser.add_argument("--page", type=Path, help="write the table into this page; train nothing")
    options = parser.parse_args()
    file = RowFile(options.out, FIELDS)
    if options.page:
        write_between(options.page, START, END, table(file.rows()))
        return
    done = {(row["nodes"], row["dim"], row["way"], row["seed"]) for row in file.rows()}
    graphs: dict[bool, Graph] = {}
    for way in options.ways:
        for seed in range(options.seeds):
            if (str(options.nodes), str(options.dim), way, str(seed)) in done:
                continue
            stored = way == "folder"
            if stored not in graphs:
                model = BlockModel(options.nodes, 10 * options.nodes, options.features, 10, options.homophily, options.noise)
                graphs[stored] = Graph.open(options.folder) if stored else drawn(model)
            row = measure(graphs[stored], way, options.dim, seed, options.device, options.commit)
            file.append(row)
            print(row, flush=True)


if __name__ == "__main__":
    main()
