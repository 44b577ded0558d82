"""What the defaults cost from files to embeddings: `python -m benchmarks.default_cost --out FILE.csv`.

Each graph is written to files, and `localgcl train` runs on them in a process of its own: reading, training and writing count.
Beside the defaults run the settings of a GCN: two layers, 50 steps over the whole graph.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.development import GRAPHS
from localgcl.graph.csr import features_to_scipy
from localgcl.system.files import RowFile
from localgcl.system.provenance import provenance

SETTINGS = {"hops": [], "gcn": ["--encoder", "gcn"]}
FIELDS = ("graph", "defaults", "seconds", "peak_mib", "date", "commit", "hardware")


def write(name: str, folder: Path) -> list[str]:
    """The graph as an edge list and sparse features; returns the arguments that read it."""
    graph = GRAPHS[name]()
    edges, features = folder / f"{name}-edges.npy", folder / f"{name}-features.npz"
    np.save(edges, np.stack([graph.rows.numpy(), graph.indices.numpy()], axis=1))
    sp.save_npz(features, sp.csr_matrix(features_to_scipy(graph.x)))
    return ["--edges", str(edges), "--features", str(features)]


def measure(files: list[str], extra: list[str], folder: Path) -> tuple[float, float]:
    """Seconds, and peak MiB of the process."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "localgcl", "train", *files, *extra, "--device", "cpu", "--out", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{' '.join(command)} ended with {status}")
    return time.perf_counter() - started, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--graphs", nargs="+", default=["cora", "pubmed", "physics", "flickr"])
    options = parser.parse_args()
    file = RowFile(options.out, FIELDS)
    with tempfile.TemporaryDirectory() as folder:
        for name in options.graphs:
            files = write(name, Path(folder))
            for defaults, extra in SETTINGS.items():
                measure(
                    files, [*extra, "--steps", "1"], Path(folder) / f"warm-{name}-{defaults}"
                )  # compiled kernels are cached
                seconds, peak = measure(files, extra, Path(folder) / f"{name}-{defaults}")
                made = provenance()
                row = {"graph": name, "defaults": defaults, "seconds": round(seconds, 2), "peak_mib": round(peak)}
                file.append({**row, "date": made.date, "commit": made.commit, "hardware": made.hardware})
                print(f"{name:10} {defaults:5} {seconds:7.1f} s {peak:7.0f} MiB", flush=True)


if __name__ == "__main__":
    main()
