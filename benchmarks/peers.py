"""Beside the peers: what a user could take instead, in one run on one machine, scored by the same probe.

    pip install --target build/peers --no-deps -r benchmarks/peers.txt
    python -m benchmarks.peers --packages build/peers --out benchmarks/results/peers.csv
    python -m benchmarks.peers --page docs/peers.md

Each system gets the same edges and features in a process of its own, with at most 30 minutes and 20 GiB. A system that needs
more has given up on that graph. Seconds are from arrays in memory to embeddings, after a warm-up on a small graph in the same
process; memory is the peak of the process. The probe is logistic regression on 10% of the nodes, at most 10,000, scored on
validation nodes, so no test node is looked at. Rows are written as they come, and a repeated command goes on where it stopped.
"""

import argparse
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from benchmarks import defaults
from benchmarks.comparison import NAMES, listed
from benchmarks.development import GRAPHS
from benchmarks.large.accuracy import drawn
from benchmarks.large.generate import BlockModel
from benchmarks.peer_systems import SYSTEMS, Input
from localgcl.datasets import random_splits
from localgcl.evaluation import validate
from localgcl.experiments.tables import short
from localgcl.graph import Graph
from localgcl.graph.csr import features_to_scipy
from localgcl.system.files import RowFile
from localgcl.system.provenance import provenance
from paper.plots import COLOURS, MARKERS, canvas

MINUTES, GIB = 30, 20
LABELLED = 10_000
DIVISIONS = 3
FIELDS = ("graph", "system", "accuracy", "deviation", "dim", "seconds", "gib", "gave_up", "date", "commit", "hardware")
RESULTS = Path(__file__).parent / "results" / "peers.csv"
CHOICES = Path(__file__).parent / "results" / "defaults.csv"
"""The trials by which the defaults of localgcl were chosen (`benchmarks.defaults`)."""
PICTURE = "_static/peers.svg"


def blocks(nodes: int) -> Graph:
    """A block model of ten classes, 20 edges a node, 70% of them within the class."""
    return drawn(BlockModel(nodes, 10 * nodes, 64, homophily=0.7, noise=6.0))


CASES: dict[str, Callable[[], Graph]] = {
    "cora": GRAPHS["cora"],
    "pubmed": GRAPHS["pubmed"],
    "blocks-100k": lambda: blocks(100_000),
    "blocks-1m": lambda: blocks(1_000_000),
}


def pack(graph: Graph, path: Path) -> None:
    """The undirected edges and the features, as every system gets them."""
    simple = graph.symmetrized().without_loops()
    arrays = {"source": simple.rows.numpy(), "target": simple.indices.numpy().astype(np.int64)}
    if simple.x.layout == torch.sparse_csr:
        x = features_to_scipy(simple.x)
        arrays |= {"values": x.data, "columns": x.indices, "pointers": x.indptr, "shape": np.array(x.shape)}
    else:
        arrays["x"] = simple.x.numpy()
    np.savez(path, **arrays)  # type: ignore[arg-type]


def unpack(path: Path) -> Input:
    with np.load(path, allow_pickle=False) as file:
        if "x" in file:
            return Input(file["source"], file["target"], file["x"])
        x = sp.csr_array((file["values"], file["columns"], file["pointers"]), shape=tuple(file["shape"]))
        return Input(file["source"], file["target"], x)


def embed(system: str, graph: Path, out: Path) -> None:
    """What the process of a system does."""
    limit = GIB * 2**30
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    given, rng = unpack(graph), np.random.default_rng(0)
    source, target = rng.integers(300, size=(2, 1500))
    small = Input(np.r_[source, target], np.r_[target, source], rng.random((300, 20), dtype=np.float32))
    SYSTEMS[system](small, quick=True)
    started = time.perf_counter()
    z = SYSTEMS[system](given, quick=False)
    seconds = time.perf_counter() - started
    np.save(out, z.astype(np.float32))
    out.with_suffix(".json").write_text(json.dumps({"seconds": seconds}))


def measure(system: str, graph: Path, out: Path, packages: str) -> dict[str, Any]:
    """Seconds and GiB of a system, or why it gave up."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(part for part in (os.environ.get("PYTHONPATH"), packages) if part),
    }
    command = [sys.executable, "-m", "benchmarks.peers", "--embed", system, str(graph), str(out)]
    with (out.parent / "errors.txt").open("w+") as errors:
        process = subprocess.Popen(command, env=environment, stdout=errors, stderr=errors)
        signal.signal(signal.SIGALRM, lambda *_: process.kill())
        signal.setitimer(signal.ITIMER_REAL, MINUTES * 60)
        _, status, usage = os.wait4(process.pid, 0)
        left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
        errors.seek(0)
        said = errors.read()
    gib = round(usage.ru_maxrss / 2**20, 2)
    if status == 0:
        told = json.loads(out.with_suffix(".json").read_text())
        return {"seconds": round(told["seconds"], 2), "gib": gib, "gave_up": ""}
    if left == 0:
        return {"seconds": "", "gib": gib, "gave_up": f"after {MINUTES} minutes"}
    if any(word in said for word in ("allocate memory", "MemoryError", "bad_alloc", "OutOfMemory", "DefaultCPUAllocator")):
        return {"seconds": "", "gib": gib, "gave_up": f"out of {GIB} GiB"}
    raise RuntimeError(f"{system} failed: {said[-2000:]}")


def score(z: np.ndarray[Any, Any], graph: Graph) -> dict[str, Any]:
    """Accuracy of a linear probe on 10% of the nodes, at most 10,000, on as many validation nodes, over three divisions."""
    share = min(0.1, LABELLED / graph.num_nodes)
    divisions = random_splits(graph, num=DIVISIONS, train=share, val=share, seed=defaults.FIRST_SEED)
    found = [validate(z, graph, [division], seed=defaults.FIRST_SEED).mean for division in divisions]
    return {"accuracy": round(statistics.fmean(found), 2), "deviation": round(statistics.stdev(found), 2), "dim": z.shape[1]}


def page(rows: list[dict[str, str]], choices: list[dict[str, str]]) -> str:
    """The page in Markdown; `choices` are the trials by which the defaults of localgcl were chosen."""
    graphs = list(dict.fromkeys(row["graph"] for row in rows))
    cells = {(row["system"], row["graph"]): row for row in rows}
    lines = [f"| | {' | '.join(graphs)} |", "|---|" + "---|" * len(graphs)]
    lines += [f"| {system} | {' | '.join(_cell(cells.get((system, graph))) for graph in graphs)} |" for system in SYSTEMS]
    made = sorted({f"{row['hardware']}, commit {short(row['commit'])}, {row['date'][:10]}" for row in rows})
    tuned = _tuned([graph for graph in graphs if any(trial["graph"] == graph for trial in choices)])
    return PAGE.format(table="\n".join(lines), made="; ".join(made), picture=PICTURE, tuned=tuned)


def _tuned(graphs: list[str]) -> str:
    """On which graphs of the page the defaults of localgcl were chosen, a line of its list; empty where on none."""
    if not graphs:
        return ""
    names = listed([NAMES.get(graph, graph.capitalize()) for graph in graphs])
    last = defaults.FIRST_SEED + DIVISIONS - 1
    said = (
        f"- The defaults of localgcl were chosen on validation nodes, those of {names} among them, of splits from seed "
        f"{defaults.FIRST_SEED} on (`python -m benchmarks.defaults`). The accuracies here are on validation nodes of splits "
        f"{defaults.FIRST_SEED} to {last}, so on {names} they favour localgcl. No other system's settings were chosen here."
    )
    return textwrap.fill(said, 125, subsequent_indent="  ", break_on_hyphens=False) + "\n"


def figure(rows: list[dict[str, str]], path: Path) -> None:
    """Accuracy by seconds, a panel a graph; raw features, which take no time, are a line."""
    graphs = list(dict.fromkeys(row["graph"] for row in rows))
    with canvas(path, 1, len(graphs), (2.3, 2.7)) as (whole, panels):
        for axes, graph in zip(panels, graphs, strict=True):
            for place, system in enumerate(SYSTEMS):
                found = [row for row in rows if (row["graph"], row["system"]) == (graph, system) and not row["gave_up"]]
                for row in found:
                    seconds, accuracy = float(row["seconds"]), float(row["accuracy"])
                    if system == "raw features":
                        axes.axhline(accuracy, color=COLOURS[9], linestyle="--", linewidth=1)
                    else:
                        axes.plot([seconds], [accuracy], MARKERS[place], color=COLOURS[place])
            axes.set(title=graph, xscale="log", xlim=(0.01, 60 * MINUTES), xlabel="seconds")
            axes.grid(visible=True, alpha=0.3)
        panels[0].set_ylabel("accuracy in %")
        shown = [
            panels[0].plot([], [], MARKERS[place], color=COLOURS[place], label=system)[0]
            for place, system in enumerate(SYSTEMS)
            if system != "raw features"
        ]
        shown += panels[0].plot([], [], "--", color=COLOURS[9], linewidth=1, label="raw features")
        whole.legend(handles=shown, loc="outside lower center", ncols=4, frameon=False)


def _cell(row: dict[str, str] | None) -> str:
    if row is None:
        return "not run"
    if row["gave_up"]:
        return f"gave up: {row['gave_up']}"
    return f"{float(row['accuracy']):.1f}, {row['dim']} dim, {float(row['seconds']):.1f} s, {float(row['gib']):.1f} GiB"


PAGE = """# Beside other libraries

What you could take instead of `localgcl`, on the same machine and with the same probe. A cell has the accuracy in %, the
embedding's dimension, the seconds from arrays in memory to embeddings, and the peak memory of the process.

![Accuracy by seconds on each graph; a system that gave up is left out]({picture})

{table}

- Every system ran in a process of its own, with at most 30 minutes and 20 GiB. GRACE has the settings that its authors publish
  for Cora, DGI those of PyTorch Geometric's example, node2vec those of its paper, and localgcl its defaults. FastRP is written
  out in `benchmarks/peer_systems.py`.
{tuned}- Accuracy is that of logistic regression on 10% of the nodes, at most 10,000, on as many validation nodes, over three
  random splits. FastRP, node2vec and *edges alone* do not look at features; raw features do not look at edges.
- `blocks-100k` and `blocks-1m` are generated block models: ten classes, 20 edges a node, noisy features.
- PyGCL 0.1.2 imports dgl, torch-sparse and torch-scatter without declaring them. GRACE calls nothing in them, so empty
  modules stand in for them.
- node2vec on `blocks-1m` shared the machine with other work.
- Measured by `python -m benchmarks.peers` on {made}.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", default="build/peers", help="folder of the other systems' packages")
    parser.add_argument("--graphs", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--systems", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS))
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, help="write the table to this page and measure nothing")
    parser.add_argument("--embed", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.embed:
        embed(options.embed[0], *map(Path, options.embed[1:]))
        return
    file = RowFile(options.out, FIELDS)
    if options.page:
        options.page.write_text(page(file.rows(), RowFile(CHOICES, defaults.FIELDS).rows()))
        figure(file.rows(), options.page.parent / PICTURE)
        return
    done = {(row["graph"], row["system"]) for row in file.rows()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case in options.graphs:
            systems = [system for system in options.systems if (case, system) not in done]
            if not systems:
                continue
            graph, packed, out = CASES[case](), folder / f"{case}.npz", folder / "z.npy"
            pack(graph, packed)
            for system in systems:
                row = measure(system, packed, out, str(Path(options.packages).resolve()))
                row |= {"accuracy": "", "deviation": "", "dim": ""} if row["gave_up"] else score(np.load(out), graph)
                made = provenance()
                row |= {"graph": case, "system": system, "date": made.date, "commit": made.commit, "hardware": made.hardware}
                file.append(row)
                print(json.dumps({key: row[key] for key in FIELDS[:8]}), flush=True)


if __name__ == "__main__":
    main()
