"""How much slower a training step gets when other processes want the same cores.

    LOCALGCL_HOME=.data python benchmarks/contention.py                     GNU OpenMP's default and ours, on Cora and PubMed
    LOCALGCL_HOME=.data python benchmarks/contention.py --spin 0 10000      these spin counts as well
    LOCALGCL_HOME=.data python benchmarks/contention.py --source OLD/src    the code of another checkout

Times steps of Local-GCL (d = 256, two threads) on idle cores and beside two busy loops. Threads of GNU OpenMP spin while they
wait for each other. On busy cores they use up the time in which the thread they wait for could run. `localgcl` therefore
limits the spinning before it loads torch (`localgcl.system.threads`).

Each setting has a process of its own, because OpenMP reads its settings when torch is loaded. The processes take turns, so that
other work on the machine hits all settings alike. Prints the median over rounds of the median step of a round, and how many
cores other processes took meanwhile. On a shared machine, --boost (Linux, root) gives the timed windows, of some seconds each,
priority over processes of other sessions.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
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
STEPS = {"cora": (15, 6), "pubmed": (4, 3)}
"""Steps of a round, idle and busy."""


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


@contextlib.contextmanager
def boosted(boost: bool) -> Iterator[None]:
    """Gives this session, with all processes of the benchmark, priority over other sessions."""
    if boost:
        Path("/proc/self/autogroup").write_text("-20")
    try:
        yield
    finally:
        if boost:
            Path("/proc/self/autogroup").write_text("0")


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


def measure(process: "subprocess.Popen[str]", loops: int, steps: int, boost: bool) -> tuple[float, float]:
    """Median seconds of a step, and the cores that other processes took meanwhile."""
    with boosted(boost), busy_loops(loops) as others:
        own = [process.pid, *others]
        started, before = time.perf_counter(), foreign_seconds(own)
        times = json.loads(answer(process, f"{steps}\n"))
        foreign = (foreign_seconds(own) - before) / (time.perf_counter() - started)
    return statistics.median(times), foreign


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--graphs", nargs="+", default=list(STEPS), choices=list(STEPS))
    parser.add_argument("--spin", nargs="*", default=[], help="further values of GOMP_SPINCOUNT")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--loops", type=int, default=2, help="busy loops")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--boost", action="store_true", help="take priority over other sessions while steps are timed")
    parser.add_argument("--source", help="src folder of the code to measure; by default the installed package")
    options = parser.parse_args()
    if options.boost:
        with contextlib.suppress(PermissionError):  # already a session of its own
            os.setsid()

    settings: dict[str, str | None] = {"OpenMP's default": DEFAULT, "ours": None}
    settings |= {f"spin {count}": count for count in options.spin}
    print(f"{'graph':8} {'setting':16} {'idle ms':>9} {'busy ms':>9} {'busy/idle':>9} {'idle/default':>12} {'foreign':>8}")
    for graph in options.graphs:
        processes = {name: start(graph, spin, options.source, options.threads) for name, spin in settings.items()}
        times: dict[tuple[str, int], list[float]] = {(name, loops): [] for name in settings for loops in (0, options.loops)}
        foreign: dict[str, list[float]] = {name: [] for name in settings}
        for _ in range(options.rounds):
            for loops, steps in zip((0, options.loops), STEPS[graph], strict=True):
                for name, process in processes.items():
                    step, others = measure(process, loops, steps, options.boost)
                    times[name, loops].append(1000 * step)
                    foreign[name].append(others)
        for process in processes.values():
            process.communicate()
        default = statistics.median(times["OpenMP's default", 0])
        for name in settings:
            idle, busy = (statistics.median(times[name, loops]) for loops in (0, options.loops))
            others = statistics.median(foreign[name])
            figures = f"{idle:9.1f} {busy:9.1f} {busy / idle:9.2f} {idle / default:12.2f} {others:8.2f}"
            print(f"{graph:8} {name:16} {figures}", flush=True)


if __name__ == "__main__":
    main()
