"""Many processes: how many runs survive kill -9 of a rank, and how much faster a step gets with more of them.

    python -m benchmarks.ranks --kills 20
    python -m benchmarks.ranks --scaling

Both train on a generated block model (`benchmarks.large.generate`), made into a graph folder in a temporary one. --kills starts
two ranks by torchrun, kills one of them at a random step, and lets torchrun start them again; a run is complete if it ended
with weights, embeddings of all nodes and no checkpoint, and equal if its weights are those of an undisturbed one, bit for bit.
--scaling trains with one and with two processes of one thread each on the same batches: seconds a step are the median over
steps, and the share of communication is the time in sums over ranks, waiting for the other rank included. Rows go to
benchmarks/results/ranks.csv; the exit code is 1 unless every run was killed in mid-training, and ended complete and equal.
"""

import argparse
import hashlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.large.generate import BlockModel, write
from localgcl.system.files import RowFile
from localgcl.system.provenance import provenance

_SIZES = ("processes", "nodes", "edges", "features", "dim", "batch", "steps", "seed")
_FOUND = ("seconds_per_step", "communication", "kills", "complete", "equal")
FIELDS = ("study", *_SIZES, *_FOUND, "date", "commit", "hardware")
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
_DISTURBED = 4  # first steps, in which kernels are compiled


def digest(folder: Path) -> str:
    return hashlib.sha256((folder / "weights.safetensors").read_bytes()).hexdigest()


def train(graph: Path, out: Path, options: argparse.Namespace) -> list[str]:
    settings = ["--dim", str(options.dim), "--batch", str(options.batch), "--steps", str(options.steps), "--threads", "1"]
    command = [*TORCHRUN, "2", "--max-restarts", "3", "-m", "localgcl", "train", str(graph), "--out", str(out), "--quiet"]
    return [*command, "--device", "cpu", "--seed", str(options.seed), "--checkpoint-every", "1", *settings]


def ranks_of(launcher: int) -> dict[int, int]:
    """The process of each rank that torchrun has started."""
    found: dict[int, int] = {}
    for pid in Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split():
        try:
            lines = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended
        found |= {int(line[5:]): int(pid) for line in lines if line.startswith(b"RANK=")}
    return found


def killed(command: list[str], out: Path, step: int, rank: int, wait: float) -> tuple[bool, int]:
    """Kills a rank `wait` seconds after the first checkpoint from `step` on: whether it lived, and how the launcher ended."""
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as launcher:
        while launcher.poll() is None and not any(
            int(path.name.split("-")[1]) >= step for path in out.glob("checkpoint-*.safetensors")
        ):
            time.sleep(0.002)
        time.sleep(wait)
        done = launcher.poll() is not None or (out / "weights.safetensors").exists()
        if not done:
            os.kill(ranks_of(launcher.pid)[rank], signal.SIGKILL)
        return not done, launcher.wait(600)


def is_complete(out: Path, nodes: int) -> bool:
    there = (out / "weights.safetensors").is_file() and not list(out.glob("checkpoint-*"))
    return there and np.load(out / "embeddings.npy", mmap_mode="r").shape[0] == nodes


def kill(graph: Path, root: Path, options: argparse.Namespace) -> dict[str, Any]:
    dice = random.Random(options.seed)
    subprocess.run(train(graph, root / "whole", options), env=ENVIRONMENT, check=True, stderr=subprocess.DEVNULL)
    whole, count, complete, equal = digest(root / "whole"), 0, 0, 0
    for index in range(options.kills):
        out = root / f"run-{index}"
        step, rank = dice.randrange(1, options.steps - 1), dice.randrange(2)
        lived, code = killed(train(graph, out, options), out, step, rank, dice.uniform(0, 0.05))
        ended = code == 0 and is_complete(out, options.nodes)
        count, complete, equal = count + lived, complete + ended, equal + (ended and digest(out) == whole)
        print(f"{index + 1}: rank {rank} at step {step}: {count} killed, {complete} complete, {equal} equal", flush=True)
    return {"processes": 2, "kills": count, "complete": complete, "equal": equal}


def scaling(graph: Path, root: Path, options: argparse.Namespace, processes: int) -> dict[str, Any]:
    out = root / f"steps-{processes}.json"
    settings = {"encoder": "hops", "layers": 1, "dim": options.dim, "batch": options.batch, "steps": options.steps}
    settings |= {"seed": options.seed, "device": "cpu", "threads": 1, "scaling": "standard"}
    command = [*TORCHRUN, str(processes), "-m", "benchmarks.ranks", "--timed", str(graph), str(out), json.dumps(settings)]
    subprocess.run(command, env=ENVIRONMENT, check=True)
    seconds, waited = json.loads(out.read_text())
    mean = statistics.median(seconds)
    return {
        "processes": processes,
        "seconds_per_step": round(mean, 5),
        "communication": round(statistics.median(waited) / mean, 3),
    }


def timed(graph: str, out: str, settings: str) -> None:
    """One rank: trains, and rank 0 stores the seconds of every step and those of its sums."""
    from localgcl.graph import Graph
    from localgcl.methods import configure
    from localgcl.training import fit
    from localgcl.training.ranks import join_ranks

    with join_ranks() as ranks:
        marks = []

        def mark(_: dict[str, Any]) -> None:
            marks.append((time.perf_counter(), ranks.traffic.seconds))

        fit(Graph.open(graph), configure("local-gcl", json.loads(settings)), team=ranks, callbacks=[mark])
        if ranks.rank == 0:
            steps = np.diff(np.array(marks), axis=0)[_DISTURBED:].T
            Path(out).write_text(json.dumps(steps.tolist()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=0, metavar="N", help="kill a rank in N runs")
    parser.add_argument("--scaling", action="store_true", help="time steps of one and of two processes")
    parser.add_argument("--timed", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/ranks.csv"))
    options = parser.parse_args()
    if options.timed:
        timed(*options.timed)
        return
    file, edges = RowFile(options.out, FIELDS), 10 * options.nodes
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        paths = write(BlockModel(options.nodes, edges, options.features, seed=options.seed), root / "files")
        tables = [str(paths["edges"][0]), "--features", str(paths["features"][0])]
        subprocess.run([sys.executable, "-m", "localgcl", "convert", *tables, "--out", str(root / "graph")], check=True)
        rows = [{"study": "scaling", **scaling(root / "graph", root, options, k)} for k in (1, 2)] if options.scaling else []
        if options.kills:
            rows.append({"study": "kills", **kill(root / "graph", root, options)})
    made = provenance()
    common = {"nodes": options.nodes, "edges": edges, "features": options.features, "dim": options.dim, "batch": options.batch}
    common |= {"steps": options.steps, "seed": options.seed}
    common |= {"date": made.date, "commit": made.commit, "hardware": made.hardware}
    for row in rows:
        file.append(dict.fromkeys(FIELDS, "") | common | row)
        print(row, flush=True)
    sys.exit(any(row["study"] == "kills" and not row["kills"] == row["equal"] == options.kills for row in rows))


if __name__ == "__main__":
    main()
