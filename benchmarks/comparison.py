"""Local-GCL beside the best other method on each graph, under equal budgets: for the README and for the summary of results."""

import dataclasses
import textwrap
from collections.abc import Sequence

from localgcl.experiments.reproduce.experiments import EQUAL, EXPERIMENTS, PRINTED
from localgcl.experiments.reproduce.lookup import difference, found, means, scored
from localgcl.experiments.reproduce.statistics import Paired
from localgcl.experiments.reproduce.store import Results
from localgcl.experiments.reproduce.table import pipes

NAMES = {"pubmed": "PubMed", "cs": "CS"}
_ROWS = {"table-main": PRINTED.label, "table-heterophily": EQUAL.label}
"""The row of Local-GCL that had no larger budget than the other methods, by experiment."""


@dataclasses.dataclass(frozen=True)
class Place:
    """Where Local-GCL stands on one graph.

    Args:
        graph: Its name.
        ours: Mean test accuracy of Local-GCL in %.
        other: The other method of the highest mean, among those of equal budget.
        best: That mean.
        untrained: Mean of the untrained encoder; None where it was not run.
        gap: Ours minus the best other, paired; None where there are fewer than two pairs.
        clear: Whether Local-GCL is above every other method by more than the 95% intervals of paired differences.
    """

    graph: str
    ours: float
    other: str
    best: float
    untrained: float | None
    gap: Paired | None
    clear: bool

    @property
    def name(self) -> str:
        return NAMES.get(self.graph, self.graph.capitalize())

    @property
    def leads(self) -> bool:
        return self.ours > self.best


def places(experiment: str, results: Results) -> list[Place]:
    """A place for each graph of the experiment on which Local-GCL and at least one other method were run."""
    shown, label, standing = EXPERIMENTS[experiment], _ROWS[experiment], []
    for graph in shown.columns():
        rows = {line.label: found(line, graph, shown, results) for line in shown.lines}
        known = means(graph, shown, results)
        ours = known.pop(label, None)
        if ours is None or not known:
            continue
        other = max(known, key=lambda name: known[name])
        gaps = {name: difference(rows[label], rows[name]) for name in known}
        floor = [float(row["test"]) for row in scored(rows.get("random-init", []))]
        standing.append(
            Place(
                graph,
                ours,
                other,
                known[other],
                sum(floor) / len(floor) if floor else None,
                gaps[other],
                all(gap is not None and gap.low > 0 for gap in gaps.values()),
            )
        )
    return standing


def short_table(results: Results) -> str:
    """The README's table, and the sentence on what it shows."""
    standing = places("table-main", results)
    whole = str.maketrans("-", "\N{NON-BREAKING HYPHEN}")  # names stay on one line where columns are narrow
    rows = [[p.name, f"{p.ours:.1f}", f"{p.best:.1f} {p.other.translate(whole)}", _one(p.untrained)] for p in standing]
    table = pipes(["graph", "ours", "best other", "untrained"], rows)
    return f"{table}\n\n{textwrap.fill(sentence(standing), 120)}" if standing else "Not run yet."


def long_table(results: Results) -> str:
    """All ten graphs with the paired difference and its interval."""
    rows = []
    for place in (*places("table-main", results), *places("table-heterophily", results)):
        gap = place.gap
        interval = "one pair" if gap is None else f"{gap.difference:+.2f} [{gap.low:+.2f}, {gap.high:+.2f}]"
        rows.append([place.name, f"{place.ours:.2f}", f"{place.best:.2f} {place.other}", interval, _two(place.untrained)])
    return pipes(["graph", "local-gcl", "best other", "difference", "untrained encoder"], rows)


def sentence(standing: Sequence[Place]) -> str:
    """Who leads where, in words; a lead of Local-GCL within noise is not called clear."""
    won, lost = [p for p in standing if p.leads], [p for p in standing if not p.leads]
    clear = [p.name for p in won if p.clear]
    text = f"Local-GCL has the highest mean on {len(won)} of {len(standing)} graphs"
    if won:
        text += f", clearly on {listed(clear)}" if clear else ", nowhere beyond noise"
        text += " and within noise on the others" if clear and len(clear) < len(won) else ""
    by_method: dict[str, list[str]] = {}
    for place in lost:
        by_method.setdefault(place.other, []).append(place.name)
    others = [
        f"{method}{'' if rank else ' leads'} on {listed(names)}" for rank, (method, names) in enumerate(by_method.items())
    ]
    return f"{text}; {listed(others)}." if others else f"{text}."


def listed(names: Sequence[str]) -> str:
    """For example "Cora, CS and Physics"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _one(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _two(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
