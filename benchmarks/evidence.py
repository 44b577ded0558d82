"""What was measured about each claim of the paper: sentences and small tables made from stored numbers."""

import dataclasses
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.comparison import Pair, best_of, pairs
from localgcl.experiments.tables import pipes
from localgcl.methods import METHODS
from paper import memory
from paper.bench.table import BenchRow, hardware, newest
from paper.experiments import CITATIONS, EQUAL, EXPERIMENTS, MAIN, OURS, PRINTED
from paper.lookup import found, scored
from paper.store import ResultRow, Results

AUGMENTING = tuple(name for name, kind in METHODS.items() if kind.augments)
NOT_RUN = "Not run yet."


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What was measured: results by recipe and seed, the rows of each study, and times of the library's parts."""

    results: Results
    studies: Mapping[str, Sequence[Mapping[str, Any]]]
    times: Sequence[BenchRow] = ()

    def values(self, experiment: str, label: str, graph: str, quantity: str = "test", value: int | None = None) -> list[float]:
        """One number a seed; none where nothing was run."""
        return [float(row[quantity]) for row in self.rows(experiment, label, graph, value) if row[quantity]]

    def rows(self, experiment: str, label: str, graph: str, value: int | None = None) -> list[ResultRow]:
        """The results of a line that have a score, by seed."""
        tried = EXPERIMENTS[experiment]
        lines = [line for line in tried.lines if line.label == label and line.value == value]
        return [row for line in lines for row in scored(found(line, graph, tried, self.results))]

    def mean(self, experiment: str, label: str, graph: str, quantity: str = "test", value: int | None = None) -> float | None:
        values = self.values(experiment, label, graph, quantity, value)
        return statistics.fmean(values) if values else None

    def text(self, experiment: str, label: str, graph: str, quantity: str = "test", value: int | None = None) -> str:
        mean = self.mean(experiment, label, graph, quantity, value)
        if quantity == "peak_mib":
            return "not measured" if mean is None else f"{mean:.0f}"
        return "not run" if mean is None else f"{mean:.2f}"

    def pairs(self, experiment: str, label: str, names: Sequence[str], graph: str) -> dict[str, Pair]:
        """The line `label` beside each other line, on the seeds that both have."""
        return pairs(self.rows(experiment, label, graph), {name: self.rows(experiment, name, graph) for name in names})

    def beside_best(self, experiment: str, label: str, names: Sequence[str], graph: str) -> list[str]:
        """Two cells: our mean, and that of the best of `names` with its name, marked where it kept its initial weights."""
        found = self.pairs(experiment, label, names, graph)
        if not found:
            return [self.text(experiment, label, graph), "not run"]
        best = best_of(found)
        (ours, theirs), kept = found[best].means, found[best].kept_initial
        return [f"{ours:.2f}", f"{theirs:.2f} {best}{f' †{kept}' if kept else ''}"]


def _with_table(said: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return f"{said}\n\n{pipes(columns, rows)}"


def _best_augmenting(evidence: Evidence) -> str:
    rows = [[graph, *evidence.beside_best("table-main", PRINTED.label, AUGMENTING, graph)] for graph in MAIN]
    said = f"test accuracy with printed settings, beside the best of {len(AUGMENTING)} augmenting methods, on shared seeds."
    found = [pair for graph in MAIN for pair in evidence.pairs("table-main", PRINTED.label, AUGMENTING, graph).values()]
    gaps = [(pair.gap, pair) for pair in found if pair.gap is not None]
    if gaps:
        ahead, behind = sum(gap.low > 0 for gap, _ in gaps), sum(gap.high < 0 for gap, _ in gaps)
        idle = sum(pair.kept_initial > len(pair.theirs) / 2 for _, pair in gaps)
        said += (
            f" Of {len(gaps)} pairs of a graph and such a method local-gcl is ahead in {ahead} and behind in {behind} beyond "
            f"noise. In {idle} pairs the other method kept its initial weights in most runs."
        )
    return _with_table(f"{said}{_fresh_splits(evidence)}", ["graph", "local-gcl", "best augmenting"], rows)


def _wins(evidence: Evidence) -> str:
    names = [line.label for line in EXPERIMENTS["table-main"].lines if not line.label.startswith("local-gcl")]
    texts = []
    for label in (PRINTED.label, OURS.label):
        beside = {graph: found for graph in MAIN if (found := evidence.pairs("table-main", label, names, graph))}
        won = [graph for graph, found in beside.items() if all(pair.lead > 0 for pair in found.values())]
        texts.append(f"*{label}* has the highest mean on {len(won)} of {len(beside)} graphs ({', '.join(won) or 'none'})")
    missing = sum(evidence.mean("table-main", name, graph) is None for name in names for graph in MAIN)
    cells = f" {missing} cells of other methods have not been run." if missing else ""
    return f"on shared seeds, {'; '.join(texts)}.{cells}{_fresh_splits(evidence)}"


def _fresh_splits(evidence: Evidence) -> str:
    """A sentence on splits of the citation graphs on which no setting was chosen; empty where none was run."""
    others = [line.label for line in EXPERIMENTS["table-splits"].lines if line.ranked]
    texts = []
    for graph in CITATIONS:
        found = evidence.pairs("table-splits", OURS.label, others, graph)
        if found:
            best = best_of(found)
            (ours, theirs), gap = found[best].means, found[best].gap
            interval = "" if gap is None else f" ({gap.difference:+.2f} [{gap.low:+.2f}, {gap.high:+.2f}], {gap.n} seeds)"
            texts.append(f"{ours:.2f} beside {theirs:.2f} of {best} on {graph}{interval}")
    return f" On fresh splits, on which no setting was chosen, *{OURS.label}* has {'; '.join(texts)}." if texts else ""


def _heterophily(evidence: Evidence) -> str:
    experiment = "table-heterophily"
    others = [line.label for line in EXPERIMENTS[experiment].lines if line.ranked and line.label != EQUAL.label]
    rows = [
        [
            graph,
            evidence.text(experiment, OURS.label, graph),
            *evidence.beside_best(experiment, EQUAL.label, others, graph),
            evidence.text(experiment, "random-init", graph),
        ]
        for graph in EXPERIMENTS["table-heterophily"].columns()
    ]
    columns = ["graph", "local-gcl, searched", "local-gcl, equal budget", "best other", "untrained encoder"]
    return _with_table("test accuracy in %.", columns, rows)


def _along(experiment: str, labels: Sequence[str], values: Sequence[int], axis: str) -> Callable[[Evidence], str]:
    def text(evidence: Evidence) -> str:
        rows = [
            [label, graph, *(evidence.text(experiment, label, graph, value=value) for value in values)]
            for label in labels
            for graph in EXPERIMENTS[experiment].columns()
        ]
        columns = ["method", "graph", *(f"{axis} = {value}" for value in values)]
        return _with_table(f"test accuracy in % by {axis}.", columns, rows)

    return text


def _maps(evidence: Evidence) -> str:
    names = ("exact", "rff", "orf", "sorf")
    graphs = EXPERIMENTS["table-feature-maps"].columns()
    rows = [[graph, *(evidence.text("table-feature-maps", name, graph) for name in names)] for graph in graphs]
    said = "test accuracy in % by negative term."
    losses = [row for row in evidence.studies.get("kernel-error", ()) if row["D"] == 8192]
    if losses:
        values = ", ".join(f"{row['map']} {row['difference']:+.4f} (cosine {row['gradient_cosine']:.2f})" for row in losses)
        said += (
            f" Kernelised minus exact loss on trained embeddings of {losses[0]['graph']} at D = 8192, and the cosine of their "
            f"gradients: {values}."
        )
    return _with_table(said, ["graph", *names], rows)


def _map_costs(evidence: Evidence) -> str:
    rows = []
    for graph in EXPERIMENTS["table-feature-maps"].columns():
        seconds = [evidence.mean("table-feature-maps", name, graph, "seconds") for name in ("rff", "sorf")]
        rows.append([graph, *("not run" if each is None else f"{each:.2f} s" for each in seconds)])
    said = "mean training time over seeds, with this library's kernels."
    return _with_table(said, ["graph", "rff", "sorf"], rows) + _map_times(evidence.times)


def _map_times(times: Sequence[BenchRow]) -> str:
    """Times of both maps at the largest size of each benchmark and machine, ours and in plain PyTorch; empty without any."""
    places: dict[tuple[str, str], dict[tuple[int, int, int], dict[str, float]]] = {}
    for row in newest(times):
        if row["benchmark"] in _OF_MAPS and row["p50_ms"]:
            size = int(row["N"]), int(row["d"]), int(row["D"])
            found = places.setdefault((row["benchmark"], hardware(row)), {}).setdefault(size, {})
            found[row["provider"]] = float(row["p50_ms"])
    rows = []
    for (benchmark, machine), sizes in places.items():
        both = {size: found for size, found in sizes.items() if {"ours", "ours-rff"} <= set(found)}
        if both:
            size = max(both)
            numbers = [f"{both[size][name]:.3g}" if name in both[size] else "" for name in _MAP_PROVIDERS]
            rows.append([_OF_MAPS[benchmark], machine, *(f"{each:,}" for each in size), *numbers])
    columns = ["what", "machine", "N", "d", "D", "sorf", "rff", "plain sorf", "plain rff"]
    said = "Median times in ms at the largest size measured, ours and in plain PyTorch ([more](speed.md)):"
    return f"\n\n{_with_table(said, columns, rows)}" if rows else ""


_OF_MAPS = {"negative-term": "negative term with its gradient", "feature-map": "random features, forward"}
_MAP_PROVIDERS = ("ours", "ours-rff", "kronecker-sorf", "dense-rff")


def _neighbours(evidence: Evidence) -> str:
    rows = []
    for parent, local in (("bgrl", "bgrl-local"), ("cca-ssg", "cca-ssg-local"), ("cca-ssg, MLP", "cca-ssg-local, MLP")):
        for graph in ("cs", "physics"):
            before, after = (
                [evidence.text("table-noncontrastive", label, graph, quantity) for quantity in ("test", "seconds", "peak_mib")]
                for label in (parent, local)
            )
            rows.append([local, graph, *(f"{was} → {now}" for was, now in zip(before, after, strict=True))])
    said = "each method before and after neighbours take the place of augmented views."
    return _with_table(said, ["method", "graph", "accuracy in %", "seconds", "MiB"], rows)


def _blocks(claim: str) -> Callable[[Evidence], str]:
    def text(evidence: Evidence) -> str:
        groups: dict[tuple[str, str], list[float]] = {}
        for row in evidence.studies.get("block-models", ()):
            if row["claim"] == claim:
                name = f"{row['method']} ({row['encoder']})" if row["encoder"] == "mlp" else row["method"]
                groups.setdefault((row["setting"], name), []).append(row["accuracy"])
        if not groups:
            return NOT_RUN
        names = list(dict.fromkeys(name for _, name in groups))
        rows = [
            [setting, *(f"{statistics.fmean(groups[setting, name]):.1f}" for name in names)]
            for setting in dict.fromkeys(setting for setting, _ in groups)
        ]
        first = "homophily" if claim == "homophily" else "links"
        return _with_table("accuracy in % on block models.", [first, *names], rows)

    return text


def _times(evidence: Evidence) -> str:
    """Time and test accuracy of each method at the number of steps that is best on validation."""
    tried = EXPERIMENTS["figure-scale"]
    (graph,) = tried.columns()
    curves: dict[str, dict[int, tuple[float, float]]] = {}  # by number of steps: validation accuracy, seconds
    for line in tried.lines:
        curve, value = curves.setdefault(line.label, {}), line.value or 0
        score, seconds = (
            evidence.mean("figure-scale", line.label, graph, quantity, value) for quantity in ("validation", "seconds")
        )
        if score is not None and seconds:
            curve[value] = score, seconds
    rows, best = [], {}
    for label, curve in curves.items():
        if not curve:
            rows.append([label, "not run", "", ""])
            continue
        steps = max(curve, key=lambda each: curve[each][0])
        best[label] = curve[steps]
        longest = " (most)" if steps == max(curve) else ""
        test = evidence.text("figure-scale", label, graph, value=steps)
        rows.append([label, test, f"{steps}{longest}", f"{curve[steps][1]:.1f} s"])
    seeds = max((len(evidence.rows("figure-scale", line.label, graph, line.value)) for line in tried.lines), default=0)
    said = (
        f"test accuracy on {graph} at the number of steps that is best on validation, and the training time, with {seeds} "
        f"seed{'s' * (seeds != 1)} for each number of steps."
    )
    for name in ("cca-ssg", "bgrl"):
        if name in best and "local-gcl" in best:
            score, seconds = best[name]
            said += f" local-gcl takes {best['local-gcl'][1] / seconds:.2f} times as long as {name} to its own best"
            equal = [taken for reached, taken in curves["local-gcl"].values() if reached >= score]
            said += f", and {min(equal) / seconds:.2f} times as long to {name}'s validation accuracy." if equal else "."
    return _with_table(said, ["method", "accuracy in %", "steps", "time"], rows)


def _memory(evidence: Evidence) -> str:
    rows = evidence.studies.get("table-memory", ())
    if not rows:
        return NOT_RUN
    released = [row for row in rows if row["form"] == "as released"]
    said = [row for row in released if memory.printed_out(row["method"], row["graph"])]
    over = [row for row in rows if row["out_of_memory"]]
    ours = max(row["peak_mib"] for row in rows if row["form"] == "ours")
    return (
        f"cells that the paper prints as OOM and that we tried as released: {_names(said)}. Out of memory at 16 GiB were "
        f"{_names(over)}. The forms that this library uses need at most {ours / 1024:.1f} GiB."
    )


def _names(rows: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(f"{row['method']} on {row['graph']}" for row in rows) or "none"


def _theorem_1(evidence: Evidence) -> str:
    rows = evidence.studies.get("theorem-error", ())
    if not rows:
        return NOT_RUN
    # The theorem does not apply beyond the positive eigenvalues, nor where the bound is infinite.
    rows = [row for row in rows if row["within_positive"] and row["lambda_next"] > 0]
    corrected, printed = (sum(row[name] for row in rows) for name in ("holds_corrected", "holds_printed"))
    return (
        f"of {len(rows)} pairs of a graph and a dimension to which the theorem applies, the corrected form holds on "
        f"{corrected}, the printed one (error and norm) on {printed}."
    )


def _theorem_2(evidence: Evidence) -> str:
    rows = evidence.studies.get("theorem-features", ())
    if not rows:
        return NOT_RUN
    parts = []
    for name, law in dict.fromkeys((row["map"], row["law"]) for row in rows):
        mine = [row for row in rows if (row["map"], row["law"]) == (name, law)]
        parts.append(f"{name} with the {law} law in {sum(row['holds'] for row in mine)} of {len(mine)}")
    return f"the bound holds, over cells of D, temperature and cosine, for {'; '.join(parts)}."


EVIDENCE: dict[str, Callable[[Evidence], str]] = {
    "augmentation-free": _best_augmenting,
    "six-of-seven": _wins,
    "kernelised": _maps,
    "sorf": _map_costs,
    "dimension": _along("figure-sensitivity-dimension", ("local-gcl", "cca-ssg", "dgi"), (64, 512, 1024, 2048, 4096), "d"),
    "projection": _along("figure-sensitivity-features", ("local-gcl",), (256, 1024, 2048, 4096, 16384), "D"),
    "negatives": _times,
    "neighbours": _neighbours,
    "heterophily": _heterophily,
    "neighbourhoods": _blocks("neighbourhoods"),
    "frequencies": _blocks("frequencies"),
    "homophily": _blocks("homophily"),
    "time": _times,
    "memory": _memory,
    "theorem-1": _theorem_1,
    "theorem-2": _theorem_2,
}
"""By the name of a claim in claims.toml."""
