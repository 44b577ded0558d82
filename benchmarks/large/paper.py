"""A hundred million and a billion nodes on paper: `python -m benchmarks.large.paper --page docs/billion.md`.

Costs are lines in the number of nodes, fitted to the rows of `benchmarks.large.run` (1 to 10 million nodes, ten edges and 64
features a node). What a stage needs on disk and on the wire follows from the formats. Nothing here was run at these sizes.
"""

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.large.run import FIELDS
from localgcl.datasets import sbm
from localgcl.methods.settings import choose_settings
from localgcl.nn.hops import parse_channel
from localgcl.nn.memory import encoder_stacks
from localgcl.system.files import RowFile
from paper.plots import COLOURS, MARKERS, canvas

STAGES = {"convert": "convert", "hops": "rows of the channels", "train": "train", "embed": "embed and write"}
SHARED = ("hops", "embed")  # rows are shared out among ranks
MILLION = 10**6
SIZES = (100 * MILLION, 1000 * MILLION)
FEATURES, DIM, EDGES, ID_BYTES = 64, 128, 10, 8
READS = 500_000  # a second, of a good disk
PICTURE = "_static/billion.svg"
Row = dict[str, str]


@dataclasses.dataclass(frozen=True)
class Line:
    """y = start + slope x, by least squares, and how far off it is at the largest x when fitted to the others."""

    start: float
    slope: float
    error: float

    def at(self, x: float) -> float:
        return self.start + self.slope * x

    @classmethod
    def fitted(cls, points: Sequence[tuple[float, float]]) -> "Line":
        points = sorted(points)
        slope, start = _least_squares(points)
        before, offset = _least_squares(points[:-1])
        x, y = points[-1]
        return cls(start, slope, (offset + before * x) / y - 1)


def _least_squares(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    x, y = np.array(points).T
    slope, start = np.polyfit(x, y, 1, w=1 / y)  # relative errors count alike
    return float(slope), float(start)


def lines(rows: Sequence[Row], column: str) -> dict[str, Line]:
    """Seconds, or MiB, of each stage by the number of nodes; of repeated rows the last counts."""
    kept = {(row["stage"], int(row["nodes"])): float(row[column]) for row in rows}
    return {stage: Line.fitted([(nodes, value) for (name, nodes), value in kept.items() if name == stage]) for stage in STAGES}


def disk(nodes: int) -> dict[str, float]:
    """Bytes of the files of a graph folder with its channels, and of the embeddings."""
    config = choose_settings("local-gcl", sbm(1000, features=FEATURES), given={"dim": DIM}).config
    names = map(parse_channel, config.encoder.channels)
    files = {(name.matrix, power) for name in names for power in range(1, name.power + 1)}
    scaled = config.preparation.scaling != "raw"
    return {
        "edges, in both directions": nodes * (8 + 2 * EDGES * 4),
        "features": nodes * FEATURES * 4,
        f"ids, at {ID_BYTES} bytes each": nodes * ID_BYTES,
        f"rows of {len(files) + scaled} channels": (len(files) + scaled) * nodes * FEATURES * 4,
        f"embeddings of {DIM} numbers, float16": nodes * DIM * 2,
    }


def traffic() -> tuple[int, int]:
    """Bytes that a rank hands over to be summed in a step: for negatives, forward and backward, and of gradients."""
    config = choose_settings("local-gcl", sbm(200_000, features=FEATURES), given={"dim": DIM}).config
    stacks = encoder_stacks(FEATURES, config.encoder)
    frequencies = config.options.num_features
    weights = sum((stack[0] + 1) * stack[-1] for stack in stacks)
    return len(stacks) * (4 * frequencies + 2) * 4, weights * 4


def figure(rows: Sequence[Row], path: Path) -> None:
    """Seconds of each stage by the number of nodes: measured points, and the lines drawn through them."""
    fitted = lines(rows, "seconds")
    with canvas(path, 1, 1, (6.0, 3.4)) as (_, (axes,)):
        for place, (stage, name) in enumerate(STAGES.items()):
            kept = {int(row["nodes"]): float(row["seconds"]) for row in rows if row["stage"] == stage}
            reached = [*sorted(kept), *SIZES]
            axes.plot(list(kept), list(kept.values()), MARKERS[place], color=COLOURS[place], label=name)
            axes.plot(reached, [fitted[stage].at(nodes) for nodes in reached], "--", color=COLOURS[place], linewidth=1)
        axes.axvspan(max(kept), SIZES[-1], color="black", alpha=0.06)
        axes.text(0.97, 0.06, "not run", color="dimgray", transform=axes.transAxes, horizontalalignment="right")
        axes.set(xscale="log", yscale="log", xlabel="nodes", ylabel="seconds, two cores")
        axes.legend(frameon=False)
        axes.grid(visible=True, alpha=0.3)


def page(rows: Sequence[Row]) -> str:
    """What these sizes would take."""
    seconds, memory = lines(rows, "seconds"), lines(rows, "peak_anon_mib")
    sizes = sorted({int(row["nodes"]) for row in rows})
    negatives, gradients = traffic()
    told = [
        "# A billion nodes, on paper",
        "",
        f"Costs of each stage were measured at {_millions(sizes[:-1])} and {_millions(sizes[-1:])} million nodes, with {EDGES} "
        f"edges and {FEATURES} features a node, on two cores ([Large graphs](large.md)). This page draws lines through them.",
        "**Nothing on it was run at 100 million nodes or more.**",
        "",
        "## Time and memory",
        "",
        f"![Seconds of each stage: measured up to 10 million nodes, lines beyond]({PICTURE})",
        "",
        "| stage | s per million nodes | 100 million | 1 billion | memory at 1 billion | line off at 10 million |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for stage, name in STAGES.items():
        line, held = seconds[stage], memory[stage]
        times = " | ".join(f"{line.at(size) / 3600:.1f} h" for size in SIZES)
        gib = held.at(SIZES[-1]) / 1024
        told.append(f"| {name} | {line.slope * MILLION:.1f} | {times} | {gib:,.0f} GiB | {100 * line.error:+.0f}% |")
    told += [
        "",
        "Times are those of one machine with two cores and a local disk. The last column fits the line to the smaller graphs "
        "and compares it with 10 million nodes.",
        "",
        "## Many machines",
        "",
        "Ranks share the rows of the channels and the embedding, each its range; `convert` runs on one machine. Training has "
        "the same number of steps at every size, so its time hardly grows. If ranks of two cores scaled perfectly, and a "
        "shared file system kept up:",
        "",
        "| ranks | 100 million | 1 billion |",
        "|---:|---:|---:|",
    ]
    for ranks in (1, 8, 64):
        cells = [f"{_hours(seconds, size, ranks):.1f} h" for size in SIZES]
        told.append(f"| {ranks} | {' | '.join(cells)} |")
    told += [
        "",
        f"In a step each rank hands over {negatives / 1024:,.0f} KiB for negatives and {gradients / 1024:,.0f} KiB of "
        "gradients to be summed. Neither grows with the graph.",
        "",
        "## Disk",
        "",
        "| files | 100 million | 1 billion |",
        "|---|---:|---:|",
    ]
    small, large = (disk(size) for size in SIZES)
    told += [f"| {name} | {small[name] / 1e9:,.0f} GB | {large[name] / 1e9:,.0f} GB |" for name in small]
    told += [
        f"| together | {sum(small.values()) / 1e9:,.0f} GB | {sum(large.values()) / 1e9:,.0f} GB |",
        "",
        "`convert` needs more while it sorts, and checks the free space before.",
        "",
        "## What was not checked",
        "",
        "- Sizes above 10 million nodes, in any stage.",
        "- `convert` above the memory that it is given: it spills to disk then, and takes longer than the line says.",
        "- The memory of training and embedding is a few numbers a node, in every rank of a machine.",
        "- A shared file system. Files were on a local disk, and most of them in the page cache.",
        f"- Features larger than memory. Averaging reads rows of neighbours at random: at a billion nodes "
        f"{2 * EDGES} billion reads of {4 * FEATURES} bytes for each power of a channel. A disk of {READS:,} such reads a "
        f"second takes {2 * EDGES * 1e9 / READS / 3600:.0f} h for that, where the line above has all of it in memory.",
        "- More than two ranks on more than one machine; speed on many cores.",
        "",
        f"`python -m benchmarks.large.paper`, from rows of {rows[-1]['date'][:10]}, {rows[-1]['hardware']}.",
        "",
    ]
    return "\n".join(told)


def _hours(seconds: dict[str, Line], nodes: int, ranks: int) -> float:
    return sum(line.at(nodes) / (ranks if stage in SHARED else 1) for stage, line in seconds.items()) / 3600


def _millions(sizes: Sequence[int]) -> str:
    return ", ".join(str(size // MILLION) for size in sizes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=Path, default=Path("benchmarks/results/large.csv"))
    parser.add_argument("--page", type=Path, default=Path("docs/billion.md"))
    options = parser.parse_args()
    rows = RowFile(options.rows, FIELDS).rows()
    options.page.write_text(page(rows), encoding="utf-8")
    figure(rows, options.page.parent / PICTURE)


if __name__ == "__main__":
    main()
