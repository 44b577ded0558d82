"""`localgcl inspect`: what is in a user's files, before anything is trained."""

import argparse
from pathlib import Path
from typing import Any

from localgcl.commands.options import SOURCE, add_source
from localgcl.commands.output import Result, aligned
from localgcl.datasets.source import Source
from localgcl.experiments.inspection import PATIENCE, inspect
from localgcl.system.memory import in_bytes
from localgcl.system.text import shown

DESCRIPTION = (
    "Read and check a graph before training: nodes, edges, components, degrees, labels and homophily; columns of features and "
    "how they would be encoded; the settings that would be used and why; memory and time that each method would take here. "
    "Problems are listed, with the way out of each; the first does not end the command. The edge file may be given without "
    "--edges."
)
_MOST_COLUMNS, _MOST_CLASSES = 60, 12
Found = dict[str, Any]


def add_options(parser: argparse.ArgumentParser, _: list[str]) -> None:
    """A graph, and where it would be trained."""
    add_source(parser)
    parser.add_argument("--device", default="auto", help="cpu, cuda, cuda:1...; auto takes a GPU where there is one")
    parser.add_argument(
        "--seconds",
        type=float,
        default=PATIENCE,
        metavar="S",
        help=f"time steps of methods for so long, and leave out those that come later; 0 times none (default: {PATIENCE:g})",
    )


def run(options: argparse.Namespace) -> Result:
    """Inspects and prints. Exit code 0: problems are the result."""
    given = {name: getattr(options, name) for name in SOURCE}
    named = given["dataset"]
    if given["edges"] is None and named is not None and (Path(named).suffix or Path(named).is_file()):
        given |= {"dataset": None, "edges": named}
    found = inspect(Source(**given), device=options.device, seconds=options.seconds)
    for line in lines(found):
        print(line)
    return found


def lines(found: Found) -> list[str]:
    """What `inspect` found, for people; problems last: they are what is left to do."""
    made: list[str] = []
    if "structure" in found:
        made += [
            *_structure(found),
            f"likeness of neighbours' features: {found['likeness']:.2f} (0.5 by chance)",
            *_labels(found),
        ]
    made += _columns(found)
    if "structure" in found:
        made += [*_settings(found), *_methods(found)]
    made += [f"note: {shown(note)}" for note in found["notes"]]
    if found["problems"]:
        made += ["", f"problems ({len(found['problems'])}), which stop localgcl train:"]
        made += [f"- {shown(problem)}" for problem in found["problems"]]
    return made


def _structure(found: Found) -> list[str]:
    facts, degree = found["structure"], found["structure"]["degree"]
    loops = "" if facts["self_loops"] is None else f", {facts['self_loops']:,} self-loops"
    weights = " with weights" if facts["weighted"] else ""
    parts = "components not counted"
    if facts["components"] is not None:
        share = facts["largest_component"] / facts["nodes"]
        parts = f"components {facts['components']:,}, the largest with {share:.1%} of the nodes"
    return [
        f"graph {shown(found['name'])!r}: {facts['nodes']:,} nodes, {facts['edges']:,} edges as stored{weights}{loops}",
        f"undirected: {facts['pairs']:,} pairs of neighbours; {parts}; isolated nodes {facts['isolated']:,}",
        f"neighbours of a node: {degree['min']:,} to {degree['max']:,}, median {degree['median']:g}, mean {degree['mean']:.1f}",
    ]


def _labels(found: Found) -> list[str]:
    facts = found["labels"]
    if facts is None:
        return ["labels: none"]
    largest = sorted(facts["classes"].items(), key=lambda pair: -pair[1])
    named = ", ".join(f"{shown(name)[:40]} {size:,}" for name, size in largest[:_MOST_CLASSES])
    more = f" and {len(largest) - _MOST_CLASSES:,} more" if len(largest) > _MOST_CLASSES else ""
    share = facts["labelled"] / found["structure"]["nodes"]
    made = [f"labels: {facts['labelled']:,} nodes ({share:.1%}) in {len(largest):,} classes: {named}{more}"]
    if "homophily" in facts:
        within, chance = facts["homophily"], facts["by_chance"]
        made.append(f"homophily: {within:.1%} of {facts['pairs']:,} labelled pairs are of one class ({chance:.1%} by chance)")
    return made


def _columns(found: Found) -> list[str]:
    columns = found["columns"]
    if not columns:
        return [f"features: {found['features']:,}"] if "features" in found else []
    made = sum(column["features"] for column in columns)
    needs = found["encoded"] or not all(column["plain"] or column["dropped"] for column in columns)
    how = f", {made:,} features with --encode auto" if needs else ""
    rows = [("column", "cells", "missing", "distinct", "becomes")]
    rows += [
        (shown(column["name"])[:40], column["kind"], f"{column['missing']:,}", f"{column['distinct']:,}", _becomes(column))
        for column in columns[:_MOST_COLUMNS]
    ]
    more = [f"  ... and {len(columns) - _MOST_COLUMNS:,} more columns"] if len(columns) > _MOST_COLUMNS else []
    return [
        f"features: {len(columns):,} column{'s' * (len(columns) > 1)}{how}",
        *aligned(rows, indent="  "),
        *more,
    ]


def _becomes(column: dict[str, Any]) -> str:
    if column["dropped"]:
        return "left out"
    if column["refused"]:
        return f"refused ({column['refused']}): --drop, or encode it yourself"
    return "1 feature" if column["features"] == 1 else f"{column['features']} features"


def _settings(found: Found) -> list[str]:
    reasons = "; ".join(found["reasons"])
    values = ", ".join(f"{name} {_value(value)}" for name, value in found["settings"].items())
    return [f"settings of local-gcl: {values}", f"  why: {reasons}"]


def _value(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def _methods(found: Found) -> list[str]:
    methods = found["methods"]
    rows = [("method", "dim", "steps", "memory", "time")]
    for name, cost in methods.items():
        memory = in_bytes(cost["memory_bytes"]) + ("" if cost["gpu_bytes"] is None else f" + {in_bytes(cost['gpu_bytes'])} GPU")
        batch = "" if cost["batch"] is None else f" of {cost['batch']:,} nodes"
        memory += "" if cost["fits"] else ": does not fit"
        rows.append((name, f"{cost['dim']:,}", f"{cost['steps']:,}{batch}", memory, _time(cost["seconds"])))
    room = next(iter(methods.values()))["available_bytes"]
    available = "" if room is None else f", {in_bytes(room)} available"
    how = "time: about, at most: a few steps are timed now on a sample and scaled; memory: estimated from sizes"
    late = "; not estimated: no time was left (--seconds), it does not fit, or no step can be taken on a sample"
    how += late if any(cost["seconds"] is None for cost in methods.values()) else ""
    return [
        f"what each method would take here ({found['device']}{available}):",
        *aligned(rows, indent="  "),
        f"  ({how})",
    ]


def _time(seconds: float | None) -> str:
    """About how long, in one unit."""
    if seconds is None:
        return "not estimated"
    for size, unit in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"about {seconds / size:.0f} {unit}"
    return f"about {max(1, round(seconds))} s"
