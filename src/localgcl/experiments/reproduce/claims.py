"""The evidence for the paper's claims, in words made from stored numbers. Claims and verdicts are in claims.toml."""

import dataclasses
import statistics
import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from typing import Any

from localgcl.experiments.reproduce import layouts, memory
from localgcl.experiments.reproduce.experiments import EXPERIMENTS, HETEROPHILY, MAIN
from localgcl.experiments.reproduce.store import Row

AUGMENTING = ("dgi", "mvgrl", "grace", "gca", "bgrl", "cca-ssg")


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What was measured: cells by settings and seed, and the rows of each study."""

    results: Mapping[tuple[str, int], Row]
    studies: Mapping[str, Sequence[Mapping[str, Any]]]

    def values(self, experiment: str, label: str, graph: str, quantity: str = "test", value: int | None = None) -> list[float]:
        """One number a seed; none where nothing was run."""
        found = EXPERIMENTS[experiment]
        lines = [line for line in found.lines if line.label == label and line.value == value]
        rows = [row for line in lines for row in layouts.found(line, graph, found, self.results)]
        return [float(row[quantity]) for row in rows if row["outcome"] == "ok" and row[quantity]]

    def mean(self, experiment: str, label: str, graph: str, quantity: str = "test", value: int | None = None) -> float | None:
        found = self.values(experiment, label, graph, quantity, value)
        return statistics.fmean(found) if found else None

    def text(self, experiment: str, label: str, graph: str, quantity: str = "test", value: int | None = None) -> str:
        found = self.mean(experiment, label, graph, quantity, value)
        if quantity == "peak_mib":
            return "not measured" if found is None else f"{found:.0f}"
        return "not run" if found is None else f"{found:.2f}"


def _best_augmenting(evidence: Evidence) -> str:
    parts = []
    for graph in MAIN:
        others = {name: evidence.mean("table-main", name, graph) for name in AUGMENTING}
        known = {name: value for name, value in others.items() if value is not None}
        best = max(known, key=lambda name: known[name], default="")
        ours = evidence.text("table-main", "local-gcl, printed settings", graph)
        parts.append(f"{graph} {ours} against {f'{known[best]:.2f} ({best}, of {len(known)} run)' if best else 'none run'}")
    return (
        "Local-GCL with printed settings against the best augmenting method with those published for it, else picked on "
        "validation: " + "; ".join(parts) + "."
    )


def _wins(evidence: Evidence) -> str:
    names = [line.label for line in EXPERIMENTS["table-main"].lines if not line.label.startswith("local-gcl")]
    texts = []
    for label in ("local-gcl, printed settings", "local-gcl"):
        won, compared = [], 0
        for graph in MAIN:
            ours = evidence.mean("table-main", label, graph)
            others = [value for name in names if (value := evidence.mean("table-main", name, graph)) is not None]
            if ours is not None and others:
                compared += 1
                if ours > max(others):
                    won.append(graph)
        texts.append(f"{label}: highest on {len(won)} of {compared} graphs ({', '.join(won) or 'none'})")
    missing = sum(evidence.mean("table-main", name, graph) is None for name in names for graph in MAIN)
    return "; ".join(texts) + f". {missing} cells of other methods have not been run."


def _floor(evidence: Evidence) -> str:
    parts = [
        f"{graph} {evidence.text('table-heterophily', 'local-gcl', graph)} (untrained encoder "
        f"{evidence.text('table-heterophily', 'random-init', graph)}, equal budget "
        f"{evidence.text('table-heterophily', 'local-gcl, equal budget', graph)}, best other "
        f"{_best_other(evidence, graph)})"
        for graph in HETEROPHILY
    ]
    return "; ".join(parts) + "."


def _best_other(evidence: Evidence, graph: str) -> str:
    names = ("dgi", "gmi", "mvgrl", "grace", "gca", "bgrl", "af-gcl")
    known = {name: value for name in names if (value := evidence.mean("table-heterophily", name, graph)) is not None}
    if not known:
        return "not run"
    best = max(known, key=lambda name: known[name])
    return f"{known[best]:.2f}, {best}"


def _along(experiment: str, label: str, values: Sequence[int], axis: str) -> Callable[[Evidence], str]:
    def text(evidence: Evidence) -> str:
        parts = []
        for graph in EXPERIMENTS[experiment].columns():
            numbers = [f"{value}: {evidence.text(experiment, label, graph, value=value)}" for value in values]
            parts.append(f"{graph} {', '.join(numbers)}")
        return f"{label} by {axis}: " + "; ".join(parts) + "."

    return text


def _dims(evidence: Evidence) -> str:
    values = (64, 512, 2048, 4096)
    return " ".join(
        _along("figure-sensitivity-dimension", label, values, "d")(evidence) for label in ("local-gcl", "cca-ssg", "dgi")
    )


def _maps(evidence: Evidence) -> str:
    parts = []
    for graph in EXPERIMENTS["table-feature-maps"].columns():
        cells = [f"{name} {evidence.text('table-feature-maps', name, graph)}" for name in ("exact", "rff", "orf", "sorf")]
        parts.append(f"{graph} {', '.join(cells)}")
    text = "Accuracy: " + "; ".join(parts) + "."
    rows = [row for row in evidence.studies.get("kernel-error", ()) if row["D"] == 8192]
    if rows:
        values = ", ".join(
            f"{row['map']} {row['difference']:+.4f} (gradient's cosine {row['gradient_cosine']:.2f})" for row in rows
        )
        text += f" Loss minus the exact one on trained embeddings of {rows[0]['graph']}, D = 8192: {values}."
    return text


def _map_costs(evidence: Evidence) -> str:
    parts = []
    for graph in EXPERIMENTS["table-feature-maps"].columns():
        seconds = {name: evidence.mean("table-feature-maps", name, graph, "seconds") for name in ("rff", "sorf")}
        if None not in seconds.values():
            parts.append(f"{graph} rff {seconds['rff']:.2f} s, sorf {seconds['sorf']:.2f} s")
    return (
        "Training, mean over seeds: " + "; ".join(parts) + ". " if parts else ""
    ) + "The negative term alone, at many sizes: [](speed.md)."


def _neighbours(evidence: Evidence) -> str:
    parts = []
    for parent, local in (("bgrl", "bgrl-local"), ("cca-ssg", "cca-ssg-local"), ("cca-ssg", "cca-ssg-local, MLP")):
        for graph in ("cs", "physics"):
            before, after = (
                [evidence.text("table-noncontrastive", label, graph, quantity) for quantity in ("test", "seconds", "peak_mib")]
                for label in (parent, local)
            )
            told = (f"{was} to {now} {unit}" for was, now, unit in zip(before, after, ("%", "s", "MiB"), strict=True))
            parts.append(f"{local} on {graph} {', '.join(told)}")
    return "; ".join(parts) + "."


def _blocks(claim: str) -> Callable[[Evidence], str]:
    def text(evidence: Evidence) -> str:
        rows = [row for row in evidence.studies.get("block-models", ()) if row["claim"] == claim]
        groups: dict[tuple[str, str], list[float]] = {}
        for row in rows:
            name = f"{row['method']} ({row['encoder']})" if row["encoder"] == "mlp" else row["method"]
            groups.setdefault((row["setting"], name), []).append(row["accuracy"])
        settings = dict.fromkeys(setting for setting, _ in groups)
        parts = [
            f"{setting}: " + ", ".join(f"{name} {statistics.fmean(v):.1f}" for (s, name), v in groups.items() if s == setting)
            for setting in settings
        ]
        return ("Block models, accuracy in %. " + "; ".join(parts) + ".") if parts else "Not run yet."

    return text


def _times(evidence: Evidence) -> str:
    """Each method's time to its own best length of training, picked on validation; ours as a share of it, or to as much."""
    found = EXPERIMENTS["figure-scale"]
    (graph,) = found.columns()
    curves: dict[str, dict[int, tuple[float, float]]] = {}  # by length: validation accuracy, seconds
    for line in found.lines:
        curve, value = curves.setdefault(line.label, {}), line.value or 0
        score, seconds = (
            evidence.mean("figure-scale", line.label, graph, quantity, value) for quantity in ("validation", "seconds")
        )
        if score is not None and seconds:
            curve[value] = score, seconds
    parts, best = [], {}
    for label, curve in curves.items():
        if not curve:
            parts.append(f"{label} not run")
            continue
        length = max(curve, key=lambda each: curve[each][0])
        best[label] = curve[length]
        test = evidence.text("figure-scale", label, graph, value=length)
        parts.append(f"{label} {test} after {curve[length][1]:.1f} s{', its longest' if length == max(curve) else ''}")
    text = f"Test accuracy at the length that is best on validation, and the time to it, on {graph}: " + "; ".join(parts) + "."
    for name in ("cca-ssg", "bgrl"):
        if name in best and "local-gcl" in best:
            score, seconds = best[name]
            text += f" local-gcl's time to its best is {best['local-gcl'][1] / seconds:.2f} of {name}'s"
            equal = [taken for reached, taken in curves["local-gcl"].values() if reached >= score]
            text += f", and to no less than {name}'s best validation accuracy {min(equal) / seconds:.2f}." if equal else "."
    return text


def _memory(evidence: Evidence) -> str:
    rows = evidence.studies.get("table-memory", ())
    if not rows:
        return "Not run yet."
    released = [row for row in rows if row["form"] == "as released"]
    said = [row for row in released if memory.printed_out(row["method"], row["graph"])]
    over = [row for row in rows if row["out_of_memory"]]
    ours = max(row["peak_mib"] for row in rows if row["form"] == "ours")
    return (
        f"Cells that the paper prints as OOM and that were tried as released: {_names(said)}. Over the cap, of all that were "
        f"tried: {_names(over)}. This library's own forms need {ours / 1024:.1f} GiB at most."
    )


def _names(rows: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(f"{row['method']} on {row['graph']}" for row in rows) or "none"


def _theorem_1(evidence: Evidence) -> str:
    rows = evidence.studies.get("theorem-error", ())
    if not rows:
        return "Not run yet."
    # Beyond the positive eigenvalues, and where the bound is infinite, the theorem says nothing.
    rows = [row for row in rows if row["within_positive"] and row["lambda_next"] > 0]
    corrected, printed = (sum(row[name] for row in rows) for name in ("holds_corrected", "holds_printed"))
    return (
        f"Of {len(rows)} pairs of a graph and a dimension to which the statement applies, the corrected form holds on "
        f"{corrected} and the printed one, error and norm, on {printed}."
    )


def _theorem_2(evidence: Evidence) -> str:
    rows = evidence.studies.get("theorem-features", ())
    if not rows:
        return "Not run yet."
    parts = []
    for name, law in dict.fromkeys((row["map"], row["law"]) for row in rows):
        mine = [row for row in rows if (row["map"], row["law"]) == (name, law)]
        parts.append(f"{name} with the {law} law {sum(row['holds'] for row in mine)} of {len(mine)}")
    return f"Cells of D, temperature and cosine in which the bound holds: {'; '.join(parts)}."


EVIDENCE: dict[str, Callable[[Evidence], str]] = {
    "augmentation-free": _best_augmenting,
    "six-of-seven": _wins,
    "kernelised": _maps,
    "sorf": _map_costs,
    "dimension": _dims,
    "projection": _along("figure-sensitivity-features", "local-gcl", (256, 1024, 4096, 16384), "D"),
    "negatives": _times,
    "neighbours": _neighbours,
    "heterophily": _floor,
    "neighbourhoods": _blocks("neighbourhoods"),
    "frequencies": _blocks("frequencies"),
    "homophily": _blocks("homophily"),
    "time": _times,
    "memory": _memory,
    "theorem-1": _theorem_1,
    "theorem-2": _theorem_2,
}


def page(evidence: Evidence) -> list[str]:
    """A section for each claim: what the paper says, what was measured, and our verdict."""
    claims = tomllib.loads((resources.files(__package__) / "claims.toml").read_text(encoding="utf-8"))
    return [
        f"## {claim['title']}\n\n**The paper:** {claim['said']}\n\n**Measured:** {EVIDENCE[name](evidence)}\n\n"
        f"**Verdict:** {claim['verdict']}"
        for name, claim in claims.items()
    ]
