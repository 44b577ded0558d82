"""Seconds and memory of each stage on a large graph: `python -m benchmarks.large.run WORK --nodes 1000000 --out FILE.csv`.

A generated block model of ten edges and 64 features a node, string ids, in Parquet, is converted, averaged, trained on with the
default number of steps, passed over once, and embedded into a file. Every stage is a process of its own with RLIMIT_DATA set;
its peak is the largest sum of RssAnon over its process tree, read ten times a second. Mapped files do not count there: the
system drops them when memory is short.
"""

import argparse
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

from localgcl.system.files import RowFile
from localgcl.system.provenance import provenance

FIELDS = ("nodes", "edges", "features", "dim", "stage", "seconds", "peak_anon_mib", "date", "commit", "hardware")
STAGES = ("generate", "convert", "hops", "train", "pass", "embed")

CODE = {
    "hops": "graph, config = opened(); s = statistics_for(graph, config); "
    "m = Model.fresh(config, graph.num_features, s); m.method.prepare(m.prepared(graph))",
    "train": "graph, config = opened(); fit(graph, config, folder=RUN, source={'folder': GRAPH})",
    "pass": "graph = Graph.open(GRAPH); print(sum(len(z) for z in Model.load(RUN).embed_blocks(graph)))",
}
START = """
import sys
from localgcl.graph import Graph
from localgcl.methods.settings import choose_settings
from localgcl.training import Model, fit
from localgcl.training.model import statistics_for
GRAPH, RUN, DIM = sys.argv[1], sys.argv[2], int(sys.argv[3])
def opened():
    graph = Graph.open(GRAPH)
    return graph, choose_settings("local-gcl", graph, given={"dim": DIM, "device": "cpu"}).config
"""


def anonymous(root: int) -> int:
    """RssAnon of a process and all its children, in KiB."""
    total, waiting = 0, [root]
    while waiting:
        pid = waiting.pop()
        try:
            status = Path(f"/proc/{pid}/status").read_text()
            waiting += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended
        total += next((int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon:")), 0)
    return total


def measure(command: list[str], limit: int) -> tuple[float, float]:
    """Seconds, and the peak of anonymous memory in MiB."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

    started, peak = time.perf_counter(), 0
    process = subprocess.Popen(command, preexec_fn=limited, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        peak = max(peak, anonymous(process.pid))
        time.sleep(0.1)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return time.perf_counter() - started, peak / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("work", type=Path, help="folder for files, graph and run; some 3 GB a million nodes")
    parser.add_argument("--nodes", type=int, nargs="+", required=True)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--limit", type=int, default=8, help="RLIMIT_DATA in GiB")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/large.csv"))
    options = parser.parse_args()
    file = RowFile(options.out, FIELDS)
    for nodes in options.nodes:
        folder = options.work / f"{nodes}"
        files, graph, run = folder / "files", folder / "graph", folder / "run"
        sizes = ["--nodes", str(nodes), "--edges", str(10 * nodes), "--features", str(options.features)]
        python, command = [sys.executable, "-W", "ignore"], [sys.executable, "-W", "ignore", "-m", "localgcl"]
        tables = [f"{files}/edges*", "--features", f"{files}/features*", "--labels", f"{files}/labels*"]
        commands = {
            "generate": [*python, "-m", "benchmarks.large.generate", str(files), *sizes],
            "convert": [*command, "convert", *tables, "--out", str(graph), "--memory", f"{options.limit // 2}GiB"],
            **{stage: [*python, "-c", START + code, str(graph), str(run), str(options.dim)] for stage, code in CODE.items()},
            "embed": [*command, "embed", str(run), "-o", str(folder / "z.npy")],
        }
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for stage, line in commands.items():
            seconds, peak = measure(line, options.limit * 2**30)
            made = provenance()
            row = {"nodes": nodes, "edges": 10 * nodes, "features": options.features, "dim": options.dim, "stage": stage}
            row |= {"seconds": round(seconds, 1), "peak_anon_mib": round(peak)}
            file.append({**row, "date": made.date, "commit": made.commit, "hardware": made.hardware})
            print(f"{nodes:>12,} {stage:9} {seconds:8.1f} s {peak:8.0f} MiB", flush=True)
            if stage == "convert":
                shutil.rmtree(files)
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
