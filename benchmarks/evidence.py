"""What was measured about each claim of the paper: sentences and small tables made from stored numbers."""

import dataclasses
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from localgcl.experiments.tables import pipes
from localgcl.methods import METHODS
from paper import memory
from paper.experiments import EQUAL, EXPERIMENTS, MAIN, OURS, PRINTED
from paper.lookup import difference, found, scored, untrained
from paper.store import ResultRow, Results

AUGMENTING = tuple(name for name, kind in METHODS.items() if kind.augments)
NOT_RUN = "Not run yet."


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What was measured: results by recipe and seed, and the rows of each study."""

    results: Results
    studies: Mapping[str, Sequence[Mapping[str, Any]]]

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

    def best(self, experiment: str, names: Sequence[str], graph: str) -> str:
        """The highest mean and its method, marked where it was not trained in some runs."""
        known = {name: mean for name in names if (mean := self.mean(experiment, name, graph)) is not None}
        best = max(known, key=lambda name: known[name], default="")
        kept = sum(map(untrained, self.rows(experiment, best, graph))) if best else 0
        return f"{known[best]:.2f} {best}{f' †{kept}' if kept else ''}" if best else "not run"


def _with_table(said: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return f"{said}\n\n{pipes(columns, rows)}"


def _best_augmenting(evidence: Evidence) -> str:
    rows = [
        [graph, evidence.text("table-main", PRINTED.label, graph), evidence.best("table-main", AUGMENTING, graph)]
        for graph in MAIN
    ]
    said = f"test accuracy with printed settings, beside the best of {len(AUGMENTING)} augmenting methods."
    pairs = [
        (evidence.rows("table-main", PRINTED.label, graph), evidence.rows("table-main", name, graph))
        for graph in MAIN
        for name in AUGMENTING
    ]
    gaps = [(gap, theirs) for ours, theirs in pairs if (gap := difference(ours, theirs)) is not None]
    if gaps:
        ahead, behind = sum(gap.low > 0 for gap, _ in gaps), sum(gap.high < 0 for gap, _ in gaps)
        idle = sum(sum(map(untrained, theirs)) > len(theirs) / 2 for _, theirs in gaps)
        said += (
            f" Of {len(gaps)} pairs of a graph and such a method local-gcl is ahead in {ahead} and behind in {behind} beyond "
            f"noise. In {idle} pairs the other method kept its initial weights in most runs."
        )
    return _with_table(said, ["graph", "local-gcl", "best augmenting"], rows)


def _wins(evidence: Evidence) -> str:
    names = [line.label for line in EXPERIMENTS["table-main"].lines if not line.label.startswith("local-gcl")]
    texts = []
    for label in (PRINTED.label, OURS.label):
        won, compared = [], 0
        for graph in MAIN:
            ours = evidence.mean("table-main", label, graph)
            others = [value for name in names if (value := evidence.mean("table-main", name, graph)) is not None]
            if ours is not None and others:
                compared += 1
                if ours > max(others):
                    won.append(graph)
        texts.append(f"*{label}* has the highest mean on {len(won)} of {compared} graphs ({', '.join(won) or 'none'})")
    missing = sum(evidence.mean("table-main", name, graph) is None for name in names for graph in MAIN)
    return "; ".join(texts) + "." + (f" {missing} cells of other methods have not been run." if missing else "")


def _heterophily(evidence: Evidence) -> str:
    experiment = "table-heterophily"
    others = [line.label for line in EXPERIMENTS[experiment].lines if line.ranked and line.label != EQUAL.label]
    rows = [
        [
            graph,
            *(evidence.text(experiment, label, graph) for label in (OURS.label, EQUAL.label)),
            evidence.best(experiment, others, graph),
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
    said = "mean training time over seeds. The negative term alone, at many sizes: [speed and memory](speed.md)."
    return _with_table(said, ["graph", "rff", "sorf"], rows)


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
    said = f"test accuracy on {graph} at the number of steps that is best on validation, and the training time."
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
