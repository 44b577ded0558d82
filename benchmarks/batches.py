"""Mini-batches against the whole graph: `python -m benchmarks.batches --out FILE.csv`, then `--page docs/mini-batches.md`.

Trains Local-GCL four times for each seed: with a GCN, by its recipe for one encoder (local-gcl-single.toml), and with channels
over hops, by the defaults for graphs without a recipe; each on the whole graph, and on mini-batches for as many steps.
Accuracy is that of the linear probe on validation nodes; `--test` scores test nodes instead. Seconds and memory are those of
training and embedding: on a GPU the peak that torch has allocated, on a CPU the growth of the process. Rows are written as they
come, and a repeated command goes on where it stopped.
"""

import argparse
import statistics
from pathlib import Path
from typing import Any

import torch

from localgcl.datasets import load, random_splits
from localgcl.evaluation import evaluate, validate
from localgcl.experiments.tables import short
from localgcl.graph import Graph
from localgcl.methods import configure
from localgcl.methods.settings import choose_settings
from localgcl.recipes import recipes
from localgcl.system.devices import choose_device
from localgcl.system.files import RowFile
from localgcl.system.memory import measured
from localgcl.system.provenance import now, provenance
from localgcl.training import fit

RESULTS = Path(__file__).parent / "results" / "batches.csv"
FIRST_SEED = 1000
BARS = {"pubmed": 0.5, "computers": 0.5, "arxiv-structure": 1.0}
"""How many points mini-batches may lose."""
FIELDS = (
    *("graph", "encoder", "channels", "batch", "sampled", "steps", "dim", "nodes", "seed", "accuracy", "seconds", "peak_mib"),
    *("date", "commit", "hardware"),
)


ENCODERS = ("gcn", "hops")
KIND = ("graph", "encoder", "channels", "steps", "dim", "hardware")
"""What two rows must have in common to be compared. A kind with one form is shown only if no other machine has both."""


def settings_of(name: str, encoder: str, graph: Graph, given: dict[str, Any]) -> dict[str, Any]:
    """Hops: what `localgcl train` chooses for a graph without a recipe. GCN: the recipe of one encoder, if there is one."""
    if encoder == "hops":
        return {**choose_settings("local-gcl", graph).values, **given}
    return {"encoder": "gcn", **recipes("local-gcl-single").get(name, {}), **given}


def sizes_of(encoder: str, settings: dict[str, Any], batch: int, sampled: int) -> tuple[int, int]:
    """Size of a mini-batch and neighbours drawn for each node: for hops the default's, for a GCN as asked."""
    return (settings["batch"], settings["sampled"]) if encoder == "hops" else (batch, sampled)


def run(graph: Graph, settings: dict[str, Any], seed: int, device: str, nodes: str) -> dict[str, Any]:
    """Trains, embeds and scores once."""
    config = configure("local-gcl", {**settings, "seed": seed, "device": device, "log_every": 10, "checkpoint_every": 0})
    z, cost = measured(lambda: fit(graph, config).embed(graph), choose_device(device))
    score = evaluate if nodes == "test" else validate
    scores = score(z, graph, (graph.splits or random_splits(graph, num=1, seed=seed))[:1], device=device, seed=seed)
    peak = "" if cost.peak is None else round(cost.peak / 2**20)
    return {"accuracy": round(scores.mean, 3), "seconds": round(cost.seconds, 2), "peak_mib": peak}


def key(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(
        str(row[name])
        for name in ("graph", "encoder", "channels", "batch", "sampled", "steps", "dim", "nodes", "seed", "hardware")
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, help="write the page from the rows in --out; train nothing")
    parser.add_argument("--graphs", nargs="+", default=list(BARS))
    parser.add_argument("--encoders", nargs="+", default=list(ENCODERS), choices=ENCODERS)
    parser.add_argument("--batch", type=int, default=2048, help="of a GCN")
    parser.add_argument("--sampled", type=int, default=10, help="of a GCN")
    parser.add_argument("--steps", type=int, help="of all forms (default: the recipe's)")
    parser.add_argument("--dim", type=int, help="of all forms (default: the recipe's)")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--test", action="store_true", help="score test nodes")
    parser.add_argument("--commit", help="to record, in a copy of the source without its history")
    options = parser.parse_args()
    if options.page:
        options.page.write_text(page(RowFile(options.out, FIELDS).rows()), encoding="utf-8")
        return
    for name in options.graphs:
        graph = load(name)
        for encoder in options.encoders:
            compare(name, encoder, graph, options)


def compare(name: str, encoder: str, graph: Graph, options: argparse.Namespace) -> None:
    """Measures what is missing of one encoder on one graph, and prints a line for each run and one for all."""
    device, nodes = choose_device(options.device), "test" if options.test else "validation"
    given = {field: value for field in ("steps", "dim") if (value := getattr(options, field)) is not None}
    settings = settings_of(name, encoder, graph, given)
    small = sizes_of(encoder, settings, options.batch, options.sampled)
    config = configure("local-gcl", settings)
    file, made = RowFile(options.out, FIELDS), provenance(device, options.commit)
    done = {key(row): row for row in file.rows()}
    same: dict[str, Any] = {
        "graph": name,
        "encoder": encoder,
        "channels": " ".join(config.encoder.channels) if encoder == "hops" else "",
        "steps": config.training.steps,
        "dim": config.encoder.dim,
        "nodes": nodes,
    }
    same |= {"hardware": made.hardware, "commit": made.commit}
    found: dict[int, list[float]] = {0: [], small[0]: []}
    forms, seeds = ((0, 0), small), range(FIRST_SEED, FIRST_SEED + options.seeds)
    todo = [{**same, "batch": batch, "sampled": sampled, "seed": seed} for seed in seeds for batch, sampled in forms]
    if device.type == "cuda" and any(key(row) not in done for row in todo):
        for batch, sampled in forms:  # kernels are compiled before anything is timed
            short = {"steps": 2, "batch": batch, "sampled": sampled, "device": options.device}
            fit(graph, configure("local-gcl", {**settings, **short})).embed(graph)
        torch.cuda.empty_cache()
    for row in todo:
        if key(row) not in done:
            changed = {"batch": row["batch"], "sampled": row["sampled"]}
            row |= {"date": now()} | run(graph, {**settings, **changed}, row["seed"], options.device, nodes)
            file.append(row)
            done[key(row)] = {field: str(value) for field, value in row.items()}
        stored = done[key(row)]
        found[row["batch"]].append(float(stored["accuracy"]))
        print(
            f"{name:16} {encoder:4} batch {row['batch']:6} seed {row['seed']}: {float(stored['accuracy']):.2f} {nodes}, "
            f"{stored['seconds']} s, {stored['peak_mib']} MiB",
            flush=True,
        )
    print(summary(f"{name}, {encoder}", BARS.get(name), *found.values()), flush=True)


def summary(name: str, bar: float | None, whole: list[float], batches: list[float]) -> str:
    """One line: the mean difference over seeds beside what is allowed."""
    differences = [part - all_ for part, all_ in zip(batches, whole, strict=True)]
    mean = statistics.fmean(differences)
    error = statistics.stdev(differences) / len(differences) ** 0.5 if len(differences) > 1 else 0.0
    verdict = "" if bar is None else f"; at least -{bar} wanted: {'within' if mean >= -bar else 'OUTSIDE'}"
    return f"{name}: mini-batches {mean:+.2f} points (standard error {error:.2f}, {len(differences)} seeds){verdict}"


def page(rows: list[dict[str, str]]) -> str:
    """The page: for each graph, encoder and machine, mini-batches beside the whole graph."""
    lines = ["| graph | encoder | steps | dim | machine | form | seeds | accuracy | difference | seconds | memory |"]
    lines += ["|---|---|---:|---:|---|---|---:|---:|---:|---:|---:|"]
    kinds: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in rows:
        kinds.setdefault(tuple(row[name] for name in KIND), []).append(row)
    whole = {kind for kind, mine in kinds.items() if len({row["batch"] for row in mine}) > 1}
    for kind, mine in kinds.items():
        if kind in whole or not any(other[:3] == kind[:3] for other in whole):
            lines += _forms(kind, mine)
    made = sorted({f"{row['hardware']}, commit {short(row['commit'])}, {row['date'][:10]}" for row in rows})
    return PAGE.format(table="\n".join(lines), made="; ".join(made))


def _forms(kind: tuple[str, ...], rows: list[dict[str, str]]) -> list[str]:
    """The whole graph, then mini-batches with the mean difference over the seeds that both have."""
    name, encoder, channels, steps, dim, hardware = kind
    same = f"| {name} | {encoder} {channels}".rstrip() + f" | {steps} | {dim} | {hardware} |"
    by_form = {0: {row["seed"]: row for row in rows if row["batch"] == "0"}}
    by_form[1] = {row["seed"]: row for row in rows if int(row["batch"]) > 0}
    lines = []
    for form, found in by_form.items():
        if not found:
            lines.append(f"{same} mini-batches | 0 | not run | | | |")
            continue
        first = next(iter(found.values()))
        sizes = f"{int(first['batch']):,} nodes, {first['sampled']} neighbours" if form else "whole graph"
        both = [
            float(row["accuracy"]) - float(by_form[0][seed]["accuracy"]) for seed, row in found.items() if seed in by_form[0]
        ]
        gap = f"{statistics.fmean(both):+.2f}" if form and both else ""
        means = {
            field: statistics.fmean(float(row[field]) for row in found.values())
            for field in ("accuracy", "seconds", "peak_mib")
        }
        lines.append(
            f"{same} {sizes} | {len(found)} | {means['accuracy']:.2f} | {gap} | "
            f"{means['seconds']:.1f} | {means['peak_mib'] / 1024:.2f} GiB |"
        )
    return lines


PAGE = """# Mini-batches against the whole graph

Local-GCL trained twice with the same encoder, settings and number of steps: once on the whole graph at each step, once on
mini-batches. *gcn* has its recipe for one encoder; *hops* has the defaults that graphs without a recipe had when it was
measured, so the two do not compare in accuracy. The names after *hops* are its channels. Accuracy in % is
that of a linear probe on validation nodes. Seconds and peak memory are those of training and embedding.

{table}

A mini-batch has its nodes and their neighbours: all of them, or as many as the table says, drawn anew at each step. Nodes
repel the other nodes of their batch. `python -m benchmarks.batches` measures this, and makes this page: {made}.
"""


if __name__ == "__main__":
    main()
