"""When the baselines' losses converge: `python -m benchmarks.convergence --out FILE.csv`.

Trains each baseline on each graph of `benchmarks.development`, with what the library chooses for a graph without a recipe, but
without early stopping and for a long budget of steps. Labels and splits are dropped: all that is read is the loss. A row says
when the loss had fallen, and the most steps it took without a new lowest value until then, which patience has to exceed. Rows
are written as they come, and a repeated command goes on where it stopped. `--curves FOLDER` keeps the losses, one text file a
row. With several jobs, seconds are those of a shared machine.
"""

import argparse
import collections
import dataclasses
import gc
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.development import GRAPHS
from localgcl.graph import Graph
from localgcl.methods.settings import choose_settings
from localgcl.system.devices import choose_device
from localgcl.system.files import RowFile
from localgcl.system.provenance import provenance
from localgcl.system.workers import Workers
from localgcl.training import fit

FIRST_SEED = 1000
BUDGETS: dict[str, tuple[int, ...]] = {
    "dgi": (2000,),
    "mvgrl": (1500,),
    "gmi": (1000,),
    "grace": (1000,),
    "gca": (1000,),
    "cca-ssg": (500,),
    "sugrl": (1000,),
    "af-gcl": (1000,),
    # Their schedules of learning rate or momentum end with the budget, so each budget has a curve of its own.
    "bgrl": (300, 1000, 3000),
    "afgrl": (300, 1000),
}
"""Steps by method."""
WINDOW = 21
"""Steps of the running median."""


@dataclasses.dataclass(frozen=True)
class Convergence:
    """How a loss fell. Steps count from 0, and the loss of step t is that before the t-th update.

    Args:
        first: Loss of the initial weights.
        highest: Highest smoothed loss; above `first` if the loss rises before it falls.
        lowest: Lowest smoothed loss.
        lowest_step: Its step. The loss was still falling if this is near the end of the budget.
        step_90: First step at which the smoothed loss has fallen by 90% of the drop. The drop is from `first` to `lowest`, or
            from `highest` if the loss never fell below `first`.
        step_95: The same for 95%.
        step_99: The same for 99%.
        settled: First step whose smoothed loss is above the lowest by no more than the noise of single steps at the end. It
            comes after `step_99` where the loss leaps down at first and goes on to fall slowly.
        wait: Most steps in a row without a new lowest loss, single steps counted, until `step_99`.
    """

    first: float
    highest: float
    lowest: float
    lowest_step: int
    step_90: int
    step_95: int
    step_99: int
    settled: int
    wait: int


FIELDS = (
    *("method", "graph", "seed", "steps"),
    *(field.name for field in dataclasses.fields(Convergence)),
    *("seconds_per_step", "date", "commit", "hardware"),
)
SHOWN = ("step_90", "step_95", "step_99", "settled", "lowest_step", "wait")


def converged(curve: Sequence[float] | NDArray[np.float64]) -> Convergence:
    """Where a loss curve, of one value a step, has fallen to its lowest level."""
    losses = np.asarray(curve, dtype=np.float64)
    if losses.ndim != 1 or len(losses) == 0 or not np.isfinite(losses).all():
        raise ValueError(f"a curve of shape {losses.shape} is given; it must be a list of at least one finite loss")
    smooth = smoothed(losses)
    lowest_step, highest_step = int(smooth.argmin()), int(smooth.argmax())
    first, highest, lowest = float(losses[0]), float(smooth[highest_step]), float(smooth[lowest_step])
    # The drop from the peak would count the way back to the first loss as progress. It is all there is where the loss never
    # came below its first value.
    top, since = (first, 0) if lowest < first else (highest, highest_step)
    end = slice(-max(1, len(losses) // 4), None)
    noise = float(np.median(np.abs(losses - smooth)[end])) * 1.48  # the deviation, if it is normal

    def reached(level: float) -> int:
        below = np.flatnonzero(smooth[since:] <= level)
        return since + int(below[0]) if len(below) else lowest_step

    step_90, step_95, step_99 = (reached(top - share * (top - lowest)) for share in (0.90, 0.95, 0.99))
    settled, wait = reached(lowest + noise), longest_wait(losses[: step_99 + 1])
    return Convergence(first, highest, lowest, lowest_step, step_90, step_95, step_99, settled, wait)


def smoothed(losses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Running median, centred, over `WINDOW` steps or a fifth of a short curve; windows are cut off at both ends.

    So steps are exact to half a window, and a loss that falls within the first steps has fallen at step 0.
    """
    half = min(WINDOW, len(losses) // 5) // 2
    return np.array([np.median(losses[max(0, step - half) : step + half + 1]) for step in range(len(losses))])


def longest_wait(losses: NDArray[np.float64]) -> int:
    """Most steps in a row without a new lowest loss. Patience stops training on the way unless it is larger."""
    best = np.minimum.accumulate(losses)
    lower = np.flatnonzero(np.r_[True, best[1:] < best[:-1]])
    return int(np.diff(np.r_[lower, len(losses)]).max()) - 1


def stopped(curve: Sequence[float] | NDArray[np.float64], patience: int) -> int:
    """How many steps of this curve the training loop would take with this patience."""
    best, best_step = np.inf, 0
    for step, loss in enumerate(curve):
        if loss < best:
            best, best_step = loss, step
        if step - best_step >= patience:
            return step + 1
    return len(curve)


def without_labels(graph: Graph) -> Graph:
    return graph.derived(y=None, splits=())


def train(method: str, graph: Graph, seed: int, steps: int, device: str) -> tuple[NDArray[np.float64], float]:
    """The loss of each step, with the method's defaults but no early stopping; and the seconds that a step takes."""
    given: dict[str, Any] = {"steps": steps, "patience": 0, "keep": "last", "seed": seed, "device": device}
    usual = choose_settings(method, graph).config.training
    given |= {"warmup": usual.warmup * steps // usual.steps, "log_every": 1, "checkpoint_every": 0}
    history = fit(graph, choose_settings(method, graph, given=given).config).history
    seconds = np.diff([row["seconds"] for row in history])
    # The median: the first steps compile kernels, and some steps also measure the embeddings' rank.
    return np.array([row["loss"] for row in history]), float(np.median(seconds)) if len(seconds) else 0.0


def measure(cell: tuple[str, str, int, int], options: argparse.Namespace, deadline: float) -> None:
    """Trains one cell and adds its row to the file; does nothing after the deadline."""
    if time.time() > deadline:
        return
    method, graph, seed, steps = cell
    losses, seconds = train(method, without_labels(GRAPHS[graph]()), seed, steps, options.device)
    made = provenance(choose_device(options.device), options.commit)
    found = {name: f"{value:.6g}" for name, value in vars(converged(losses)).items()}
    row = {"method": method, "graph": graph, "seed": seed, "steps": len(losses), **found, "seconds_per_step": f"{seconds:.3g}"}
    row |= {"date": made.date, "commit": made.commit, "hardware": made.hardware}
    if options.curves is not None:
        options.curves.mkdir(parents=True, exist_ok=True)
        np.savetxt(options.curves / f"{method}-{graph}-{seed}-{steps}.txt", losses, fmt="%.6g")
    RowFile(options.out, FIELDS).append(row)
    print(" ".join(f"{name}={row[name]}" for name in ("method", "graph", "steps", *SHOWN, "seconds_per_step")), flush=True)
    gc.collect()
    if options.device.startswith("cuda"):
        torch.cuda.empty_cache()


def summary(rows: list[dict[str, str]]) -> str:
    """A line for each method and budget: medians and maxima, and how much of the longest budget's drop a shorter one reached.

    A drop can exceed the longest budget's, and be below 0 if the loss never fell below its first value.
    """
    groups: dict[tuple[str, int], list[dict[str, str]]] = collections.defaultdict(list)
    longest: dict[tuple[str, str, str], dict[str, str]] = {}
    for row in sorted(rows, key=lambda row: int(row["steps"])):
        groups[row["method"], int(row["steps"])].append(row)
        longest[row["method"], row["graph"], row["seed"]] = row
    names = (*SHOWN, "seconds_per_step")
    lines = [
        "median / maximum over runs",
        "method   steps runs" + "".join(f"{name:>18}" for name in names) + "  last to settle",
    ]
    for (method, steps), group in sorted(groups.items()):
        values = {name: [float(row[name]) for row in group] for name in names}
        cells = "".join(f"{f'{statistics.median(found):.4g} / {max(found):.4g}':>18}" for found in values.values())
        last = max(group, key=lambda row: max(int(row["step_99"]), int(row["settled"])))["graph"]
        shares = [_share(row, longest[method, row["graph"], row["seed"]]) for row in group]
        lines.append(f"{method:8} {steps:5} {len(group):4}{cells}  {last}")
        if any(share != 1 for share in shares):
            lines[-1] += f"; {statistics.median(shares):.3f} of the longest budget's drop, least {min(shares):.3f}"
    return "\n".join(lines)


def _share(row: dict[str, str], longest: dict[str, str]) -> float:
    """How far the loss fell, as a share of how far it fell with the longest budget; 1 if it did not fall there either."""
    drop, most = (float(of["first"]) - float(of["lowest"]) for of in (row, longest))
    return drop / most if most > 0 else 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--methods", nargs="+", default=list(BUDGETS), choices=list(BUDGETS))
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS), choices=list(GRAPHS))
    parser.add_argument("--steps", type=int, nargs="+", help="budgets for all methods, instead of each method's own")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e9, help="start no training after so many")
    parser.add_argument("--curves", type=Path, help="folder for the losses of every step")
    parser.add_argument("--commit", default="", help="to record, in a copy of the source without its history")
    options = parser.parse_args()
    deadline = time.time() + 60 * options.minutes
    done = {tuple(row[name] for name in ("method", "graph", "seed", "steps")) for row in RowFile(options.out, FIELDS).rows()}
    cells = [
        (method, graph, seed, steps)
        for seed in range(FIRST_SEED, FIRST_SEED + options.seeds)
        for graph in options.graphs
        for method in options.methods
        for steps in options.steps or BUDGETS[method]
        if (method, graph, str(seed), str(steps)) not in done
    ]
    failed = 0
    with Workers(options.jobs) as workers:
        for cell, task in [(cell, workers.submit(measure, cell, options, deadline)) for cell in cells]:
            if (error := task.exception()) is not None:  # a graph too large for a method must not cost the others their rows
                failed += 1
                print(f"{cell} failed: {error!r}", file=sys.stderr)
    print(summary(RowFile(options.out, FIELDS).rows()))
    sys.exit(int(failed > 0))


if __name__ == "__main__":
    main()
