"""Local-GCL beside the best other method on each graph, on shared seeds: for the README and for the summary of results."""

import dataclasses
import statistics
import textwrap
from collections.abc import Mapping, Sequence

from localgcl.experiments.statistics import Difference
from localgcl.experiments.tables import pipes
from paper.experiments import EQUAL, EXPERIMENTS, PRINTED
from paper.lookup import difference, found, scored, untrained
from paper.store import ResultRow, Results
from paper.tables import NOTES

NAMES = {"pubmed": "PubMed", "cs": "CS"}
_ROWS = {"table-main": PRINTED.label, "table-heterophily": EQUAL.label}
"""The row of Local-GCL that is ranked among the other methods, by experiment."""


@dataclasses.dataclass(frozen=True)
class Pair:
    """The results of two rows on one graph, on the seeds that both have."""

    ours: list[ResultRow]
    theirs: list[ResultRow]

    @property
    def means(self) -> tuple[float, float]:
        """Mean test accuracies, ours and theirs."""
        ours, theirs = (statistics.fmean(float(row["test"]) for row in rows) for rows in (self.ours, self.theirs))
        return ours, theirs

    @property
    def lead(self) -> float:
        """Our mean minus theirs."""
        ours, theirs = self.means
        return ours - theirs

    @property
    def gap(self) -> Difference | None:
        """The lead with its 95% interval; None where there are too few seeds."""
        return difference(self.ours, self.theirs)

    @property
    def kept_initial(self) -> int:
        """In how many of their runs early stopping kept the initial weights."""
        return sum(map(untrained, self.theirs))


def pairs(ours: Sequence[ResultRow], others: Mapping[str, Sequence[ResultRow]]) -> dict[str, Pair]:
    """Our results beside those of each other row, on the seeds that both have; rows without a common seed are left out."""
    by_seed = {row["seed"]: row for row in scored(ours)}
    found = {name: [row for row in scored(rows) if row["seed"] in by_seed] for name, rows in others.items()}
    return {name: Pair([by_seed[row["seed"]] for row in rows], rows) for name, rows in found.items() if rows}


def best_of(found: Mapping[str, Pair]) -> str:
    """The row over which our lead is the smallest: with the same seeds in all pairs, the one of the highest mean."""
    return min(found, key=lambda name: found[name].lead)


@dataclasses.dataclass(frozen=True)
class Place:
    """Where Local-GCL stands on one graph, beside each other method on the seeds that both have.

    Args:
        graph: Its name.
        ours: Mean test accuracy of Local-GCL in %.
        other: The best of the other ranked methods.
        best: Its mean.
        kept_initial: In how many runs of that method early stopping kept the initial weights.
        untrained: Mean of the untrained encoder; None where it was not run.
        gap: Ours minus the best other with its 95% interval; None where there are too few seeds.
        clear: Whether Local-GCL is above every other method by more than the 95% interval of the difference.
    """

    graph: str
    ours: float
    other: str
    best: float
    kept_initial: int
    untrained: float | None
    gap: Difference | None
    clear: bool

    @property
    def name(self) -> str:
        return NAMES.get(self.graph, self.graph.capitalize())

    @property
    def rival(self) -> str:
        """The best other method, marked where it was not trained in some runs."""
        return f"{self.other} †{self.kept_initial}" if self.kept_initial else self.other

    @property
    def leads(self) -> bool:
        return self.ours > self.best

    @property
    def behind(self) -> bool:
        """Whether the best other is ahead by more than noise."""
        return self.gap is not None and self.gap.high < 0


def places(experiment: str, results: Results) -> list[Place]:
    """A place for each graph of the experiment on which Local-GCL and at least one other method were run."""
    shown, label, standing = EXPERIMENTS[experiment], _ROWS[experiment], []
    for graph in shown.columns():
        rows = {line.label: found(line, graph, shown, results) for line in shown.lines}
        others = {line.label: rows[line.label] for line in shown.lines if line.ranked and line.label != label}
        beside = pairs(rows[label], others)
        if not beside:
            continue
        other = best_of(beside)
        ours, best = beside[other].means
        floor = pairs(rows[label], {"random-init": rows.get("random-init", [])})
        standing.append(
            Place(
                graph,
                ours,
                other,
                best,
                beside[other].kept_initial,
                floor["random-init"].means[1] if floor else None,
                beside[other].gap,
                all(pair.gap is not None and pair.gap.low > 0 for pair in beside.values()),
            )
        )
    return standing


def in_short(results: Results) -> str:
    """Who leads where, for the README."""
    standing = places("table-main", results)
    return textwrap.fill(sentence(standing), 120) if standing else "Not run yet."


def long_table(standing: Sequence[Place]) -> str:
    """Each graph with the difference and its interval."""
    rows = []
    for place in standing:
        gap = place.gap
        interval = "one seed" if gap is None else f"{gap.difference:+.2f} [{gap.low:+.2f}, {gap.high:+.2f}]"
        rows.append([place.name, f"{place.ours:.2f}", f"{place.best:.2f} {place.rival}", interval, _two(place.untrained)])
    return pipes(["graph", "local-gcl", "best other", "difference", "untrained encoder"], rows)


def explained(standing: Sequence[Place]) -> list[str]:
    """What the mark of a rival means, where there is one."""
    return [NOTES["†"]] if any(place.kept_initial for place in standing) else []


def sentence(standing: Sequence[Place]) -> str:
    """Who leads where, in words; what is within noise says so."""
    won, lost = [p for p in standing if p.leads], [p for p in standing if not p.leads]
    clear = [p.name for p in won if p.clear]
    text = f"On shared seeds, Local-GCL has the highest mean on {len(won)} of {len(standing)} graphs"
    if won:
        text += f", clearly on {listed(clear)}" if clear else ", nowhere beyond noise"
        text += " and within noise on the others" if clear and len(clear) < len(won) else ""
    by_method: dict[str, list[str]] = {}
    for place in lost:
        by_method.setdefault(place.other, []).append(place.name + " (within noise)" * (not place.behind))
    others = [
        f"{method}{'' if rank else ' leads'} on {listed(names)}" for rank, (method, names) in enumerate(by_method.items())
    ]
    return f"{text}; {listed(others)}." if others else f"{text}."


def listed(names: Sequence[str]) -> str:
    """For example "Cora, CS and Physics"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _two(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
