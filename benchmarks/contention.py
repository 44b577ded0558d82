"""How much slower a training step gets when other processes want the same cores.

    python benchmarks/contention.py                              the command line's default, on Cora and PubMed
    python benchmarks/contention.py --spin 0 1000 300000         other spin counts of GNU OpenMP beside it

A step of Local-GCL (d = 256, two threads) is timed in a fresh process, first on idle cores, then beside two single-threaded
loops. GNU OpenMP's threads spin while they wait for each other; where the cores are taken, they burn the time slice in which
the thread they wait for could run. `localgcl` therefore limits the spinning before torch is loaded (`localgcl.system.threads`).
Prints the median time of a step and the ratio of busy to idle.
"""

import json
import multiprocessing
import os
import statistics
import subprocess
import sys

STEP = """
import json, sys, time
import torch
from localgcl import load
from localgcl.graph.prepare import prepare
from localgcl.methods import configure, find_method
torch.set_num_threads(int(sys.argv[2]))
name, repeats = sys.argv[1], int(sys.argv[3])
graph = load(name)
config = configure("local-gcl", {"dim": 256, "device": "cpu"})
method = find_method("local-gcl")(graph.num_features, config)
batch = next(iter(method.batches(prepare(graph, config.preparation, {}))))
optimiser, generator = torch.optim.Adam(method.parameters()), torch.Generator().manual_seed(0)
times = []
for _ in range(repeats + 2):
    started = time.perf_counter()
    loss = method.loss(batch, generator)["loss"]
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    times.append(time.perf_counter() - started)
print(json.dumps(times[2:]))
"""


def busy_loop() -> None:
    """Keeps one core busy until it is killed."""
    while True:
        pass


def step_times(graph: str, environment: dict[str, str], threads: int, repeats: int) -> list[float]:
    """Seconds of each step in a fresh process, because OpenMP reads its settings when torch is loaded."""
    command = [sys.executable, "-c", STEP, graph, str(threads), str(repeats)]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_"))}
    done = subprocess.run(command, env=inherited | environment, stdout=subprocess.PIPE, text=True, check=True)
    times: list[float] = json.loads(done.stdout.splitlines()[-1])
    return times


def measure(graph: str, environment: dict[str, str], threads: int, loops: int, repeats: int) -> tuple[float, float]:
    """Median seconds of a step, idle and beside `loops` busy loops."""
    idle = statistics.median(step_times(graph, environment, threads, repeats))
    workers = [multiprocessing.Process(target=busy_loop, daemon=True) for _ in range(loops)]
    for worker in workers:
        worker.start()
    try:
        busy = statistics.median(step_times(graph, environment, threads, max(3, repeats // 3)))
    finally:
        for worker in workers:
            worker.kill()
    return idle, busy
