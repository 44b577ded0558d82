"""Peak memory of whole runs beside the estimate that `localgcl train` prints before it starts.

    python -m benchmarks.memory_check                       all cases; minutes to an hour, by the machine
    python -m benchmarks.memory_check --cases local others  some of them: local, million, others
    python -m benchmarks.memory_check --device cuda         also what the GPU's allocator counts

A case is a graph of the stochastic block model, saved as NPY files, and the settings of one method. A process of its own does
what `localgcl train` does: it reads the graph, estimates, trains a few steps into a run folder, embeds and saves. Its peak
(VmHWM, which Linux keeps for each process) includes the interpreter, reading and symmetrising. Rows are added to `--out`. The
ratio is estimate by measurement; the exit code is 1 if one is out of the bounds below.
"""

import argparse
import csv
import dataclasses
import itertools
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch

from localgcl.datasets import sbm
from localgcl.methods import METHODS
from localgcl.system.devices import choose_device
from localgcl.system.provenance import provenance

BOUNDS = {"local-gcl": (0.8, 1.6)}
OTHER_BOUNDS = (0.7, 2.0)
FIELDS = (
    *("method", "settings", "nodes", "edges", "features", "estimated_gib", "measured_gib", "ratio"),
    *("gpu_estimated_gib", "gpu_measured_gib", "gpu_ratio", "hardware", "torch", "date", "commit"),
)
STEPS = 3

TRAIN = """
import json, sys
from pathlib import Path
import numpy as np
import torch
from localgcl.io.files import read_graph
from localgcl.methods.settings import choose_settings
from localgcl.system.devices import choose_device
from localgcl.training import fit
from localgcl.training.memory import reading_memory
from localgcl.training.preflight import preflight
folder, method, given = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
graph = read_graph(folder / "edges.npy", features=folder / "features.npy")
config = choose_settings(method, graph, given=given).config
reading = reading_memory(graph.num_nodes, graph.num_edges, graph.num_features)
needs = preflight(graph, config, choose_device(config.training.device), force=True, reading=reading)
model = fit(graph, config, folder=folder / "run", force_memory=True)
np.save(folder / "embeddings.npy", model.embed(graph).numpy())
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
card = torch.cuda.max_memory_reserved() if torch.cuda.is_initialized() else 0
print(json.dumps({"need": needs.host, "peak": 1024 * int(peak.split()[1]), "card_need": needs.card, "card_peak": card}))
"""


@dataclasses.dataclass(frozen=True)
class Case:
    """A graph's sizes and a method's settings."""

    method: str
    nodes: int
    degree: int = 10
    features: int = 64
    settings: tuple[tuple[str, Any], ...] = ()


def cases(names: list[str]) -> list[Case]:
    """The cases of these groups."""
    plain: dict[str, Any] = {"encoder": "gcn", "negatives": "sorf"}
    groups = {
        "local": [
            *(_local(nodes, encoder="gcn", negatives="exact") for nodes in (10_000, 20_000)),
            *(_local(nodes, encoder=kind, negatives="sorf") for nodes in (10_000, 100_000) for kind in ("gcn", "mlp", "hops")),
            _local(50_000, encoder="gcn", negatives="rff"),
            _local(50_000, **plain, dim=1024),
            _local(100_000, **plain, dim=64, degree=60, features=16),
            _local(50_000, **plain, dim=64, features=1000, scaling="l2"),
            _local(50_000, **plain, layers=4, hidden=512, batch_norm=True, dropout=0.2),
            _local(100_000, encoder="hops", negatives="sorf", batch=2048),
            _local(50_000, encoder="mlp", negatives="sorf", batch=2048, features=500),
            Case("local-gcl", 50_000),  # all settings chosen from the graph
        ],
        "million": [
            _local(1_000_000, **plain, dim=128, num_features=512),
            _local(1_000_000, encoder="mlp", negatives="sorf", dim=128, num_features=512),
            Case("local-gcl", 1_000_000),
        ],
        "others": [
            Case(name, nodes)
            for name, nodes in itertools.product([name for name in METHODS if name != "local-gcl"], (10_000, 30_000))
            if (name, nodes) != ("mvgrl", 30_000)  # its diffusion takes half an hour
        ],
    }
    return [case for name in names for case in groups[name]]


def _local(nodes: int, degree: int = 10, features: int = 64, **settings: Any) -> Case:
    return Case("local-gcl", nodes, degree, features, tuple({"dim": 256, **settings}.items()))


def save_graph(case: Case, folder: Path) -> int:
    """Writes edges and features; returns the number of stored edges."""
    graph = sbm(case.nodes, mean_degree=case.degree, features=case.features, splits=0)
    np.save(folder / "edges.npy", np.stack([graph.rows.numpy(), graph.indices.numpy()]))
    np.save(folder / "features.npy", graph.x.numpy())
    return graph.num_edges


def check(case: Case, device: torch.device) -> dict[str, Any]:
    """One row: estimate, measurement and ratio."""
    given = {"steps": STEPS, "checkpoint_every": 2, "warmup": 0, "patience": 0, "device": str(device), **dict(case.settings)}
    with tempfile.TemporaryDirectory() as name:
        edges = save_graph(case, Path(name))
        command = [sys.executable, "-W", "ignore", "-c", TRAIN, name, case.method, json.dumps(given)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found, made = json.loads(done.stdout.splitlines()[-1]), provenance(device)
    row: dict[str, Any] = {
        "method": case.method,
        "settings": json.dumps(dict(case.settings)),
        "nodes": case.nodes,
        "edges": edges,
        "features": case.features,
        "hardware": made.hardware,
        "torch": made.packages["torch"],
        "date": made.date,
        "commit": made.commit,
        **_compared("", found["need"], found["peak"]),
    }
    return row | (_compared("gpu_", found["card_need"], found["card_peak"]) if found["card_peak"] else {})


def _compared(kind: str, need: int, peak: int) -> dict[str, float]:
    return {
        f"{kind}estimated_gib": round(need / 2**30, 3),
        f"{kind}measured_gib": round(peak / 2**30, 3),
        f"{kind}ratio": round(need / peak, 3),
    }


def append(row: dict[str, Any], path: Path) -> None:
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=["local", "million", "others"], choices=["local", "million", "others"])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), help="only these methods")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/memory.csv"))
    options = parser.parse_args()
    device = choose_device(options.device)
    chosen = [case for case in cases(options.cases) if case.method in options.methods]
    outside = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for case, row in zip(chosen, pool.map(lambda case: check(case, device), chosen), strict=True):
            low, high = BOUNDS.get(case.method, OTHER_BOUNDS)
            within = all(low <= row[key] <= high for key in ("ratio", "gpu_ratio") if key in row)
            outside += not within
            append(row, options.out)
            gpu = f"   GPU {row['gpu_estimated_gib']:.2f} / {row['gpu_measured_gib']:.2f}" if "gpu_ratio" in row else ""
            sizes = f"{case.nodes:9,} nodes {row['edges']:10,} edges"
            shown = f"{row['estimated_gib']:6.2f} / {row['measured_gib']:.2f} GiB = {row['ratio']:.2f}"
            print(f"{case.method:12} {sizes}  {shown}{gpu}  {row['settings']}{'' if within else '  OUTSIDE'}", flush=True)
    sys.exit(outside > 0)


if __name__ == "__main__":
    main()
