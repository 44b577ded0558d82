"""What negatives of the whole graph buy in mini-batches: `python -m benchmarks.negatives`, then `--page docs/negatives.md`.

Local-GCL's default for a graph without a recipe trains on batches: each node repels the other nodes of its batch. Two other
ways are tried here, with everything else equal:

- streamed: at each step, one pass over all nodes sums psi under the weights of the moment, and a node repels them all;
- running: frequencies are drawn once, and the sum of psi over all nodes is a running mean of the batches' sums.

In both, gradient flows through the nodes of the batch alone, scaled up to the whole graph. Accuracy is that of a linear probe
on validation nodes, with seeds from 1000; test labels are hidden. Each way is trained for several numbers of steps, so that
rows compare at equal steps and at equal time. Rows are written as they come, and a repeated command goes on.
"""

import argparse
import dataclasses
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, cast

import torch
from torch import Tensor

from benchmarks.development import GRAPHS
from localgcl.evaluation import validate
from localgcl.experiments.search.trials import Problem, trial_seeds
from localgcl.experiments.tables import short
from localgcl.graph import Graph
from localgcl.graph.prepare import column_statistics, prepare
from localgcl.losses.local import LocalTerms, unit_rows
from localgcl.methods.base import Batch
from localgcl.methods.local_gcl import LocalGCL
from localgcl.methods.settings import choose_settings
from localgcl.nn.encoders import Inputs
from localgcl.nn.features import Draw, FeatureMap, StructuredOrthogonal
from localgcl.nn.hops import Hops
from localgcl.nn.layers import Hop
from localgcl.ops.negatives import Reduce
from localgcl.ops.passes import passes
from localgcl.system.devices import choose_device
from localgcl.system.files import RowFile
from localgcl.system.provenance import provenance
from localgcl.system.team import ALONE, Team
from localgcl.training.session import Session, Stream
from localgcl.training.steps import fit_by_steps

Way = Literal["batch", "streamed", "running"]
WAYS: tuple[Way, ...] = ("batch", "streamed", "running")
STEPS = (20, 60)
BATCHES = (512, 2048)
MOMENTUM = 0.9
FIELDS = ("graph", "way", "batch", "steps", "seed", "validation", "seconds", "clamped", "date", "commit", "hardware")


@dataclasses.dataclass(frozen=True)
class Remembered(FeatureMap):
    """SORF that keeps its last draw, for the sum over the nodes outside the batch."""

    drawn: list[Draw] = dataclasses.field(default_factory=list)

    def draw(self, *arguments: Any, **options: Any) -> Draw:
        self.drawn[:] = [StructuredOrthogonal(self.num_features, self.fixed_seed).draw(*arguments, **options)]
        return self.drawn[0]

    def build(self, *_: Any) -> Draw:
        raise NotImplementedError("draw does it")


class Whole(LocalGCL):
    """Local-GCL on batches whose nodes repel all nodes of the graph."""

    way: Way = "batch"

    def batches(self, graph: Graph, *, first: int = 0, team: Team = ALONE) -> Iterator[Batch]:
        self.whole = self.prepare(graph)
        self.running: dict[int, Tensor] = {}
        return super().batches(graph, first=first, team=team)

    def _terms(self, z: Tensor, batch: Batch, generator: torch.Generator, part: int) -> LocalTerms:
        self.map = Remembered(self.options.num_features, 0 if self.way == "running" else None)
        if self.way != "batch":
            assert batch.neighbours is not None
            batch = dataclasses.replace(batch, reduce=self._reduce(part, batch.neighbours.num_rows))
        return super()._terms(z, batch, generator, part)

    def negatives(self, z: Tensor, part: int, *, shared: bool) -> FeatureMap:  # noqa: ARG002
        return self.map

    def _reduce(self, channel: int, own: int) -> Reduce:
        """Forward: the sum over all nodes for that of the batch. Backward: the batch's share, scaled up to all nodes."""
        n = self.whole.graph.num_nodes

        def reduce(message: Tensor) -> Tensor:
            (features,) = self.map.drawn
            if message.numel() == features.width:
                return message * (n / own)
            psi, living, rows = message[:-2], message[-2:-1], message[-1:]
            psi = self._streamed(channel, features) if self.way == "streamed" else self._averaged(channel, psi * (n / own))
            return torch.cat([psi, living * (n / own), rows])

        return reduce

    @torch.no_grad()
    def _streamed(self, channel: int, features: Draw) -> Tensor:
        hop = self.whole.inputs.hops[channel]
        z, alive = unit_rows(self.output(channel, hop))
        return passes(z, features, "auto").total(z, alive.to(z.dtype))

    def output(self, channel: int, hop: Hop) -> Tensor:
        """The outputs of a channel for these rows."""
        assert isinstance(self.encoder, Hops)
        z: Tensor = self.encoder.channels[channel](Inputs(hop.first, hop.matrix, hops=(hop,)))
        return z

    def _averaged(self, channel: int, psi: Tensor) -> Tensor:
        before = self.running.get(channel)
        self.running[channel] = psi.detach() if before is None else MOMENTUM * before + (1 - MOMENTUM) * psi.detach()
        return self.running[channel]


def measure(name: str, way: Way, batch: int, steps: int, seed: int, device: str, commit: str) -> dict[str, Any]:
    """Trains and validates once."""
    graph = GRAPHS[name]()
    problem = Problem.of(graph, "local-gcl", seeds=seed + 1, splits=3, redraws=0, protocol="linear", device=device)
    given = {"batch": batch, "steps": steps, "seed": problem.seeds[seed], "device": device, "fourier": 0}
    config = choose_settings("local-gcl", problem.graph, given={**given, "log_every": steps}).config
    place, made = choose_device(device), provenance(choose_device(device), commit or None)
    prepared = prepare(problem.graph, config.preparation, column_statistics(problem.graph, config.preparation.scaling)).to(
        place
    )
    torch.manual_seed(problem.seeds[seed])
    method = Whole(prepared.num_features, config)
    method.way = way
    method.to(place)
    started = time.perf_counter()
    session = Session(torch.Generator(place).manual_seed(problem.seeds[seed]))
    rows = fit_by_steps(method, Stream(method, prepared), session)
    seconds = time.perf_counter() - started
    method.eval()
    with torch.no_grad():
        z = method.embed(method.prepare(prepared)).cpu()
    scored = validate(z, problem.graph, problem.splits[seed], protocol="linear", device=device, seed=problem.seeds[seed])
    told = {"graph": name, "way": way, "batch": batch, "steps": steps, "seed": problem.seeds[seed]}
    what = {"validation": round(scored.mean, 4), "seconds": round(seconds, 3), "clamped": rows[-1]["clamped"]}
    return {**told, **what, "date": made.date, "commit": made.commit, "hardware": made.hardware}


Cell = dict[tuple[Way, str], dict[str, str]]
"""The rows of one graph, batch size and number of steps, by way and seed."""


def page(rows: list[dict[str, str]]) -> str:
    """The three ways side by side, and each beside the negatives of the batch."""
    cells: dict[tuple[str, int, int], Cell] = {}
    for row in rows:
        key = row["graph"], int(row["steps"]), int(row["batch"])
        cells.setdefault(key, {})[cast(Way, row["way"]), row["seed"]] = row
    table = ["| graph | steps | batch | seeds | of the batch | streamed | running |", "|---|---:|---:|---:|---|---|---|"]
    for (graph, steps, batch), cell in sorted(cells.items()):
        found = [_found(cell, way) for way in WAYS]
        table.append(f"| {graph} | {steps} | {batch:,} | {len(found[0])} | {' | '.join(_told(way) for way in found)} |")
    beside = ["| graph | steps | streamed | its time | running | its time |", "|---|---:|---:|---:|---:|---:|"]
    for graph, steps in sorted({key[:2] for key in cells}):
        here = [cell for key, cell in cells.items() if key[:2] == (graph, steps)]
        beside.append(f"| {graph} | {steps} | {' | '.join(_beside(here, way) for way in WAYS[1:])} |")
    hardware, commits, days = (
        sorted({convert(row[name]) for row in rows})
        for name, convert in (("hardware", str), ("commit", short), ("date", lambda date: date[:10]))
    )
    made = f"{' and '.join(hardware)}; {', '.join(days)}; commit {', '.join(commits)}"
    return PAGE.format(table="\n".join(table), beside="\n".join(beside), made=made)


def _found(cell: Cell, way: Way) -> list[dict[str, str]]:
    return [row for (its, _), row in cell.items() if its == way]


def _told(rows: list[dict[str, str]]) -> str:
    accuracy, seconds = (statistics.fmean(float(row[name]) for row in rows) for name in ("validation", "seconds"))
    return f"{accuracy:.1f}, {seconds:.0f} s"


def _beside(cells: list[Cell], way: Way) -> str:
    """Mean difference from negatives of the batch, paired by seed and batch size, and the median ratio of times."""
    of_batch = [(cell, seed, row) for cell in cells for (its, seed), row in cell.items() if its == "batch"]
    pairs = [(cell[way, seed], row) for cell, seed, row in of_batch if (way, seed) in cell]
    gap = statistics.fmean(float(one["validation"]) - float(other["validation"]) for one, other in pairs)
    ratio = statistics.median(float(one["seconds"]) / float(other["seconds"]) for one, other in pairs)
    return f"{gap:+.2f} | {ratio:.1f} x"


PAGE = """# Negatives of the whole graph in mini-batches

In a mini-batch, a node repels the other nodes of the batch. Random features would let it repel all nodes of the graph: it needs
the sum of psi over all nodes, nothing else. Two ways give that sum, with everything else equal:

- **streamed**: before each step, one pass over all nodes computes the sum with the weights of the moment;
- **running**: the sum is a running mean over the batches (momentum {momentum}), with one draw of frequencies.

In both, gradient flows through the nodes of the batch. The encoder is the default for graphs without a recipe: linear channels
over hops. Accuracy in % is that of a linear probe on validation nodes.

**Whole-graph negatives buy nothing here**, so `localgcl` does not offer them on one machine. Streamed, they are level with
those of the batch or a little below, and take longer. The running sum is cheap, but it lags behind the weights and costs up
to several points. After 60 steps on flickr it is ahead, but there 20 steps, the default, are better than 60.

Difference in points from the negatives of the batch, and time as a multiple of theirs:

{beside}

Accuracy and training time of each way. For a comparison at equal time: 60 steps on batches of 512 with the negatives of the
batch take about as long as 20 streamed ones (on flickr longer), and give more on every graph but flickr.

{table}

`python -m benchmarks.negatives`; {made}.
""".replace("{momentum}", str(MOMENTUM))


def main(run: Callable[..., dict[str, Any]] = measure) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/negatives.csv"))
    parser.add_argument("--graphs", nargs="+", default=["pubmed", "computers", "dblp", "flickr"], choices=list(GRAPHS))
    parser.add_argument("--steps", nargs="+", type=int, default=list(STEPS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--commit", default="", help="to record, in a copy of the source without its history")
    parser.add_argument("--page", type=Path, help="write the page from the rows in --out; train nothing")
    options = parser.parse_args()
    file = RowFile(options.out, FIELDS)
    if options.page:
        options.page.write_text(page(file.rows()), encoding="utf-8")
        return
    done = {tuple(row[name] for name in FIELDS[:5]) for row in file.rows()}
    run(options.graphs[0], "streamed", BATCHES[0], 1, 0, options.device, options.commit)  # a warm-up: kernels are compiled
    for seed in range(options.seeds):
        for graph in options.graphs:
            for steps in options.steps:
                for batch in BATCHES:
                    for way in WAYS:
                        if (graph, way, str(batch), str(steps), str(trial_seeds(seed + 1)[seed])) not in done:
                            row = run(graph, way, batch, steps, seed, options.device, options.commit)
                            file.append(row)
                            print(graph, way, batch, steps, row["validation"], row["seconds"], flush=True)


if __name__ == "__main__":
    main()
