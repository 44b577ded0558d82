"""How much slower a training step gets when other processes want the same cores.

    LOCALGCL_HOME=.data python benchmarks/contention.py                     GNU OpenMP's default and ours, on Cora and PubMed
    LOCALGCL_HOME=.data python benchmarks/contention.py --spin 0 10000      these spin counts as well
    LOCALGCL_HOME=.data python benchmarks/contention.py --source OLD/src    the code of another checkout

Times steps of Local-GCL (d = 256, two threads) on idle cores and beside two busy loops. Threads of GNU OpenMP spin while they
wait for each other. On busy cores they use up the time in which the thread they wait for could run. `localgcl` therefore
limits the spinning before it loads torch (`localgcl.system.threads`).

Each setting has a process of its own, because OpenMP reads its settings when torch is loaded. The processes take turns, so that
other work on the machine hits all settings alike. A round in which other processes took more than --foreign cores does not
count; the benchmark waits and repeats it, for up to --minutes a graph. Prints the median over rounds of a round's median step.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

STEP = """
import json, sys, time
from localgcl import load
import torch
from localgcl.graph.prepare import prepare
from localgcl.methods import configure, find_method
torch.set_num_threads(int(sys.argv[2]))
graph = load(sys.argv[1])
config = configure("local-gcl", {"dim": 256, "device": "cpu", "negatives": "sorf"})
method = find_method("local-gcl")(graph.num_features, config)
prepared = prepare(graph, config.preparation, {})
batch = next(iter(method.batches(prepared))) if hasattr(method, "batches") else method.prepare(prepared)
optimiser, generator = torch.optim.Adam(method.parameters()), torch.Generator().manual_seed(0)
def step():
    started = time.perf_counter()
    loss = method.loss(batch, generator)["loss"]
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    return time.perf_counter() - started
step()
print("ready", flush=True)
for line in sys.stdin:
    step()
    print(json.dumps([step() for _ in range(int(line))]), flush=True)
"""

DEFAULT = "300000"  # GNU OpenMP's spin count where nothing is set; it must be set here, or `import localgcl` would set its own.
STEPS = {"cora": (5, 3), "pubmed": (1, 1)}
"""Steps of a round, idle and busy: few, so that a round fits between two bursts of other work."""


def start(graph: str, spin: str | None, source: str | None, threads: int) -> "subprocess.Popen[str]":
    """A process that takes training steps when it is asked to."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_"))}
    if spin is not None:
        environment["GOMP_SPINCOUNT"] = spin
    if source is not None:
        environment["PYTHONPATH"] = source
    command = [sys.executable, "-c", STEP, graph, str(threads)]
    process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    answer(process)
    return process


def answer(process: "subprocess.Popen[str]", question: str = "") -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(question)
    process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        sys.exit("a training process ended; its error is above")
    return line


def busy_loop() -> None:
    """Keeps one core busy until it is killed."""
    while True:
        pass


@contextlib.contextmanager
def busy_loops(count: int) -> Iterator[list[int]]:
    """Runs `count` busy loops and yields their process ids."""
    workers = [multiprocessing.Process(target=busy_loop, daemon=True) for _ in range(count)]
    for worker in workers:
        worker.start()
    try:
        yield [worker.pid for worker in workers if worker.pid is not None]
    finally:
        for worker in workers:
            worker.kill()
            worker.join()


def foreign_seconds(own: list[int]) -> float:
    """CPU seconds since boot of all processes but these; 0 outside Linux."""
    if sys.platform != "linux":
        return 0.0
    total = [int(number) for number in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    ticks = sum(total) - total[3] - total[4]  # all but idle and waiting for the disk
    for process in own:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks -= int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(process: "subprocess.Popen[str]", loops: int, steps: int) -> tuple[float, float]:
    """Median seconds of a step, and the cores that other processes took meanwhile."""
    with busy_loops(loops) as others:
        own = [process.pid, *others]
        started, before = time.perf_counter(), foreign_seconds(own)
        times = json.loads(answer(process, f"{steps}\n"))
        foreign = (foreign_seconds(own) - before) / (time.perf_counter() - started)
    return statistics.median(times), foreign


def measure_round(processes: "dict[str, subprocess.Popen[str]]", loops: int, steps: int, foreign: float) -> dict[str, float]:
    """Milliseconds of a step by setting, in random order; nothing if other processes took more than `foreign` cores."""
    times = {}
    for name in random.sample(list(processes), len(processes)):
        step, others = measure(processes[name], loops, steps)
        if others > foreign:
            return {}
        times[name] = 1000 * step
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--graphs", nargs="+", default=list(STEPS), choices=list(STEPS))
    parser.add_argument("--spin", nargs="*", default=[], help="further values of GOMP_SPINCOUNT")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--loops", type=int, default=2, help="busy loops")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--foreign", type=float, default=0.1, help="cores that other processes may take in a round that counts")
    parser.add_argument("--minutes", type=float, default=10, help="how long to wait for such rounds")
    parser.add_argument("--source", help="src folder of the code to measure; by default the installed package")
    options = parser.parse_args()

    settings: dict[str, str | None] = {"OpenMP's default": DEFAULT, "ours": None}
    settings |= {f"spin {count}": count for count in options.spin}
    print(f"{'graph':8} {'setting':16} {'idle ms':>9} {'busy ms':>9} {'busy/idle':>9} {'idle/default':>12}  rounds")
    for graph in options.graphs:
        processes = {name: start(graph, spin, options.source, options.threads) for name, spin in settings.items()}
        rounds: dict[int, list[dict[str, float]]] = {0: [], options.loops: []}
        until = time.monotonic() + 60 * options.minutes
        while min(map(len, rounds.values())) < options.rounds and time.monotonic() < until:
            loops = min(rounds, key=lambda loops: len(rounds[loops]))
            if times := measure_round(processes, loops, STEPS[graph][loops > 0], options.foreign):
                rounds[loops].append(times)
            else:
                time.sleep(1)
        for process in processes.values():
            process.communicate()
        if not all(rounds.values()):
            sys.exit(f"{graph}: other processes were busy for {options.minutes} minutes; repeat later or raise --foreign")
        for name in settings:
            idle, busy = (statistics.median(times[name] for times in rounds[loops]) for loops in rounds)
            share = statistics.median(times[name] / times["OpenMP's default"] for times in rounds[0])
            figures = f"{idle:9.1f} {busy:9.1f} {busy / idle:9.2f} {share:12.2f}"
            print(f"{graph:8} {name:16} {figures}  {len(rounds[0])} idle, {len(rounds[options.loops])} busy", flush=True)


if __name__ == "__main__":
    main()
