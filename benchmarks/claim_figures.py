"""A figure for each claim of the paper, drawn from stored numbers: docs/_static/claims."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.comparison import best_of
from benchmarks.evidence import AUGMENTING, Evidence
from localgcl.experiments.statistics import Difference
from paper import block_models, plots, theorem_error, theorem_features
from paper.experiments import EQUAL, EXPERIMENTS, MAIN, OURS, PRINTED
from paper.lookup import difference, points
from paper.plots import COLOURS, MARKERS, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Draw = Callable[[Evidence, Path], bool]
"""Draws into a file; False, and no file, where nothing was measured."""
_GIB = 1024


def draw(name: str, evidence: Evidence, folder: Path) -> Path | None:
    """The picture of a claim in `folder`, or None where there is nothing to draw."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.svg"
    return path if FIGURES[name](evidence, path) else None


def _gaps(evidence: Evidence, names: Sequence[str]) -> dict[str, Difference]:
    """Local-GCL with printed settings minus the best of `names` on each graph; too few seeds have no interval."""
    gaps = {}
    for graph in MAIN:
        found = evidence.pairs("table-main", PRINTED.label, names, graph)
        gap = found[best_of(found)].gap if found else None
        if gap is not None:
            gaps[f"{graph}: {best_of(found)}"] = gap
    return gaps


def _ahead(names: Sequence[str], whom: str) -> Draw:
    """Differences to the best of `names`, a line a graph."""

    def figure(evidence: Evidence, path: Path) -> bool:
        gaps = _gaps(evidence, names)
        if not gaps:
            return False
        with canvas(path, 1, 1, (6.0, 0.5 + 0.32 * len(gaps))) as (_, (axes,)):
            _intervals(axes, gaps)
            axes.set_xlabel(f"Local-GCL minus {whom}, in points, with 95% interval")
        return True

    return figure


def _all_others(evidence: Evidence, path: Path) -> bool:
    """Every other method on each graph, as a difference of means to Local-GCL; the best of them by name."""
    beside = {graph: evidence.pairs("table-main", PRINTED.label, _OTHERS, graph) for graph in MAIN}
    gaps = {graph: {name: -pair.lead for name, pair in found.items()} for graph, found in beside.items() if found}
    return draw_others(gaps, path, "mean of each other method minus Local-GCL (the line), in points")


def draw_others(gaps: Mapping[str, Mapping[str, float]], path: Path, label: str, margin: float = 0.16) -> bool:
    """A line a graph, on it every other method by its difference to Local-GCL; the best of them by name.

    `margin` is the room beside the dots for names, as a share of their range.
    """
    if not gaps:
        return False
    with canvas(path, 1, 1, (6.4, 0.6 + 0.34 * len(gaps))) as (_, (axes,)):
        for place, others in enumerate(gaps.values()):
            best = max(others, key=lambda name: others[name])
            for name, gap in others.items():
                colour = COLOURS[1] if gap > 0 else COLOURS[9]
                axes.plot([gap], [place], "s" if gap > 0 else "D", color=colour, markersize=6 if name == best else 4)
            axes.annotate(best, (others[best], place), (7, 0), textcoords="offset points", verticalalignment="center")
        axes.axvline(0, color=COLOURS[0], linewidth=2)
        axes.set_yticks(range(len(gaps)), labels=list(gaps))
        axes.set_ylim(len(gaps) - 0.4, -0.6)
        axes.margins(x=margin)
        axes.set_xlabel(label)
        axes.grid(visible=True, axis="x", alpha=0.3)
    return True


def _intervals(axes: "Axes", gaps: Mapping[str, Difference]) -> None:
    """A dot and a bar a line, the first on top: blue if ours is ahead, orange if behind, grey if level."""
    for place, gap in enumerate(gaps.values()):
        colour = COLOURS[0] if gap.low > 0 else COLOURS[1] if gap.high < 0 else COLOURS[9]
        marker = "o" if gap.low > 0 else "s" if gap.high < 0 else "D"
        axes.plot([gap.low, gap.high], [place, place], color=colour, linewidth=2)
        axes.plot([gap.difference], [place], color=colour, marker=marker)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(gaps)), labels=list(gaps))
    axes.set_ylim(len(gaps) - 0.4, -0.6)  # the first on top
    axes.grid(visible=True, axis="x", alpha=0.3)


def _maps(evidence: Evidence, path: Path) -> bool:
    """Random features minus the exact term, a panel a map."""
    gaps: dict[str, dict[str, Difference]] = {}
    for name in ("rff", "orf", "sorf"):
        for graph in EXPERIMENTS["table-feature-maps"].columns():
            exact, ours = (evidence.rows("table-feature-maps", label, graph) for label in ("exact", name))
            gap = difference(ours, exact) if ours and exact else None
            if gap is not None:
                gaps.setdefault(name, {})[graph] = gap
    if not gaps:
        return False
    with canvas(path, 1, len(gaps), (3.0, 2.0)) as (figure, panels):
        for axes, (name, mine) in zip(panels, gaps.items(), strict=True):
            _intervals(axes, mine)
            axes.set_title(name)
        ends = [gap for mine in gaps.values() for gap in mine.values()]
        for axes in panels:
            axes.set_xlim(min(gap.low for gap in ends) - 0.1, max(gap.high for gap in ends) + 0.1)
        figure.supxlabel("accuracy minus that of the exact term, in points, with 95% interval", fontsize=9)
    return True


def _map_costs(evidence: Evidence, path: Path) -> bool:
    """Training time of the two maps on each graph."""
    graphs = EXPERIMENTS["table-feature-maps"].columns()
    values = {
        name: {graph: evidence.mean("table-feature-maps", name, graph, "seconds") for graph in graphs}
        for name in ("rff", "sorf")
    }
    return _bars(path, values, "training time in seconds")


def _bars(path: Path, values: Mapping[str, Mapping[str, float | None]], label: str) -> bool:
    """Bars side by side: a group for each place, a colour for each name. Places without all numbers are left out."""
    every = list(dict.fromkeys(place for found in values.values() for place in found))
    places = [place for place in every if all(found.get(place) is not None for found in values.values())]
    if not places:
        return False
    with canvas(path, 1, 1, (6.4, 2.6)) as (_, (axes,)):
        width = 0.8 / len(values)
        for number, (name, found) in enumerate(values.items()):
            offset = (number - (len(values) - 1) / 2) * width
            heights = [found[place] or 0.0 for place in places]
            axes.bar([place + offset for place in range(len(places))], heights, width, label=name, color=COLOURS[number])
        axes.set_xticks(range(len(places)), labels=places)
        axes.set_ylabel(label)
        axes.grid(visible=True, axis="y", alpha=0.3)
        axes.legend(frameon=False)
    return True


def _curve(experiment: str) -> Draw:
    def figure(evidence: Evidence, path: Path) -> bool:
        found = EXPERIMENTS[experiment]
        return plots.curve(points(found, evidence.results), found, path)

    return figure


def _few_negatives(evidence: Evidence, path: Path) -> bool:
    """The lines of GRACE by number of negatives, beside Local-GCL."""
    found = EXPERIMENTS["figure-scale"]
    kept = [row for row in points(found, evidence.results) if row["row"].startswith(("grace", "local-gcl"))]
    return plots.curve(kept, found, path)


def _neighbours(evidence: Evidence, path: Path) -> bool:
    """Accuracy, time and memory with views and with neighbours, as a change in percent."""
    pairs = (("bgrl", "bgrl-local"), ("cca-ssg", "cca-ssg-local"), ("cca-ssg, MLP", "cca-ssg-local, MLP"))
    changes: dict[str, dict[str, float]] = {}
    for parent, local in pairs:
        for graph in ("cs", "physics"):
            for quantity in ("test", "seconds", "peak_mib"):
                before, after = (evidence.mean("table-noncontrastive", label, graph, quantity) for label in (parent, local))
                if before and after:
                    changes.setdefault(quantity, {})[f"{local}, {graph}"] = 100 * (after / before - 1)
    if not changes:
        return False
    names = {"test": "accuracy", "seconds": "time", "peak_mib": "memory"}
    with canvas(path, 1, len(changes), (2.9, 2.4)) as (figure, panels):
        for axes, (quantity, mine) in zip(panels, changes.items(), strict=True):
            axes.barh(list(mine), list(mine.values()), color=COLOURS[list(names).index(quantity)])
            axes.axvline(0, color="black", linewidth=0.8)
            axes.set_title(names[quantity])
            axes.invert_yaxis()
            axes.grid(visible=True, axis="x", alpha=0.3)
            if axes is not panels[0]:
                axes.set_yticklabels([])
        figure.supxlabel("change in % when neighbours take the place of views", fontsize=9)
    return True


def _heterophily(evidence: Evidence, path: Path) -> bool:
    """Accuracy on each graph: ours with both budgets, the best other, the untrained encoder."""
    experiment = "table-heterophily"
    others = [line.label for line in EXPERIMENTS[experiment].lines if line.ranked and line.label != EQUAL.label]
    graphs = EXPERIMENTS[experiment].columns()
    known = {
        name: {graph: evidence.mean(experiment, label, graph) for graph in graphs}
        for name, label in (("ours, searched", OURS.label), ("ours, equal budget", EQUAL.label))
    }
    known["best other"] = {
        graph: max((m for name in others if (m := evidence.mean(experiment, name, graph)) is not None), default=None)
        for graph in graphs
    }
    known["untrained encoder"] = {graph: evidence.mean(experiment, "random-init", graph) for graph in graphs}
    if all(value is None for found in known.values() for value in found.values()):
        return False
    with canvas(path, 1, 1, (6.4, 2.8)) as (_, (axes,)):
        for number, (name, found) in enumerate(known.items()):
            there = [(place, value) for place, value in enumerate(found.values()) if value is not None]
            x = [place + 0.12 * (number - 1.5) for place, _ in there]
            axes.plot(x, [value for _, value in there], MARKERS[number], color=COLOURS[number], markersize=6, label=name)
        axes.set_xticks(range(len(graphs)), labels=graphs)
        axes.set_ylabel("test accuracy in %")
        axes.grid(visible=True, axis="y", alpha=0.3)
        axes.legend(frameon=False)
    return True


def _blocks(claim: str) -> Draw:
    def figure(evidence: Evidence, path: Path) -> bool:
        rows = [dict(row) for row in evidence.studies.get("block-models", ()) if row["claim"] == claim]
        if rows:
            block_models.plot(rows, path)
        return bool(rows)

    return figure


def _memory(evidence: Evidence, path: Path) -> bool:
    """Peak of each method on the largest graphs, as released and as here; those that did not fit reach the top."""
    rows = [row for row in evidence.studies.get("table-memory", ()) if row["graph"] in ("physics", "arxiv-structure")]
    if not rows:
        return False
    forms = ("as released", "ours")
    graphs = list(dict.fromkeys(row["graph"] for row in rows))
    with canvas(path, 1, len(graphs), (4.6, 3.9)) as (figure, panels):
        for axes, graph in zip(panels, graphs, strict=True):
            methods = list(dict.fromkeys(row["method"] for row in rows if row["graph"] == graph))
            cap = rows[0]["cap_gib"]
            for number, form in enumerate(forms):
                mine = {row["method"]: row for row in rows if (row["graph"], row["form"]) == (graph, form)}
                there = [(place, mine[method]) for place, method in enumerate(methods) if method in mine]
                sizes = [cap if row["out_of_memory"] else row["peak_mib"] / _GIB for _, row in there]
                heights = [place + 0.2 * (2 * number - 1) for place, _ in there]
                axes.barh(heights, sizes, 0.38, label=form, color=COLOURS[1 - number])
                for height, (_, row) in zip(heights, there, strict=True):
                    if row["out_of_memory"]:
                        axes.annotate(
                            "does not fit",
                            (cap, height),
                            (-3, 0),
                            textcoords="offset points",
                            ha="right",
                            va="center",
                            fontsize=6.5,
                            color="white",
                        )
            axes.axvline(cap, color="black", linestyle="--", linewidth=0.8)
            axes.set_yticks(range(len(methods)), labels=methods)
            axes.invert_yaxis()
            axes.set(title=graph, xlabel="peak memory in GiB")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    return True


def _study(name: str, plot: Callable[[Sequence[dict[str, Any]], Path], None]) -> Draw:
    def figure(evidence: Evidence, path: Path) -> bool:
        rows = [dict(row) for row in evidence.studies.get(name, ())]
        if rows:
            plot(rows, path)
        return bool(rows)

    return figure


_OTHERS = [line.label for line in EXPERIMENTS["table-main"].lines if line.ranked and line.label != PRINTED.label]
FIGURES: dict[str, Draw] = {
    "augmentation-free": _ahead(AUGMENTING, "the best augmenting method"),
    "six-of-seven": _all_others,
    "kernelised": _maps,
    "sorf": _map_costs,
    "dimension": _curve("figure-sensitivity-dimension"),
    "projection": _curve("figure-sensitivity-features"),
    "negatives": _few_negatives,
    "neighbours": _neighbours,
    "heterophily": _heterophily,
    "neighbourhoods": _blocks("neighbourhoods"),
    "frequencies": _blocks("frequencies"),
    "homophily": _blocks("homophily"),
    "time": _curve("figure-scale"),
    "memory": _memory,
    "theorem-1": _study("theorem-error", theorem_error.plot),
    "theorem-2": _study("theorem-features", theorem_features.plot),
}
"""By the name of a claim in claims.toml."""
