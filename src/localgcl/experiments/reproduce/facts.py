"""Tables that need no training: sizes of the graphs, and printed hyper-parameters beside the recipes."""

from collections.abc import Mapping
from typing import Any

from localgcl.datasets import names
from localgcl.experiments.reproduce.paper import printed_settings, printed_statistics
from localgcl.experiments.reproduce.table import Table
from localgcl.graph import Graph
from localgcl.methods import configure
from localgcl.recipes import recipes

_HEADINGS = {
    "encoder": "encoder",
    "steps": "steps",
    "layers": "layers",
    "learning_rate": "learning rate",
    "weight_decay": "weight decay",
    "dim": "d",
    "num_features": "D",
    "temperature": "τ",
}


def datasets_table(graphs: Mapping[str, Graph]) -> Table:
    """Sizes of loaded graphs, with the printed value beside those that differ from it.

    Args:
        graphs: By name, as `load` returns them. "arxiv-structure" is compared with what the paper prints for arXiv.
    """
    rows = []
    for name, graph in graphs.items():
        simple = graph.without_loops().symmetrized()
        ours = {
            "nodes": graph.num_nodes,
            "edges": graph.num_edges,
            "classes": graph.num_classes,
            "features": graph.num_features,
            "homophily": graph.homophily() if graph.y is not None else None,
        }
        theirs = printed_statistics(name.removesuffix("-structure")) or {}
        cells = {key: _beside(value, theirs.get(key)) for key, value in ours.items()}
        isolated = int((simple.degree == 0).sum())
        row = [name, cells["nodes"], cells["edges"], _count(simple.num_edges), _count(isolated)]
        rows.append([*row, cells["classes"], cells["features"], cells["homophily"]])
    return Table(
        name="table-datasets",
        title="Graphs as loaded",
        caption=(
            "Counted on the loaded graphs; where the paper prints another value it stands in brackets. Edges are counted as "
            'stored, each direction by itself; "undirected" is without self-loops and with both directions of every edge, '
            "which is what methods see by default. Isolated nodes have no edge but loops. φ is edge homophily of the edges as "
            "loaded. The paper's edge counts of Computers, Photo, CS and Physics are twice the entries of the published files: "
            "the reverse of every entry was added, repeats and all; those of CiteSeer and PubMed count self-loops. Its "
            "features of Physics and Actor are slips, and so are, it seems, its edges of Actor and arXiv."
        ),
        columns=["graph", "nodes", "edges", "edges, undirected", "isolated", "classes", "features", "φ"],
        rows=rows,
    )


def hyperparameters_table() -> Table:
    """Local-GCL's printed settings above this library's recipe for each graph that has one; what differs is bold."""
    known = recipes("local-gcl")
    defaults = configure("local-gcl", {}).flat()
    rows = []
    for graph in (name for name in names() if name in known):
        ours = configure("local-gcl", known[graph]).flat()
        settings = printed_settings(graph)
        theirs = None if settings is None else configure("local-gcl", settings).flat()
        if theirs is not None:
            rows.append([graph, "printed", *(_value(theirs[key]) for key in _HEADINGS), _others(theirs, defaults, theirs)])
        against = theirs or ours
        main = [_marked(_value(ours[key]), ours[key] != against[key]) for key in _HEADINGS]
        rows.append([graph, "recipe", *main, _others(ours, defaults, against)])
    return Table(
        name="table-hyperparameters",
        title="Settings of Local-GCL: printed, and in the recipes",
        caption=(
            "Bold: the recipe differs from what the paper prints. Recipes were changed on validation accuracy alone; "
            "recipes/local-gcl.toml says which graphs were searched. The paper prints no settings for graphs that have no "
            "printed row. That a printed MLP has batch normalisation is taken from the code family it stems from. Printed "
            "settings use SORF for the negative term; recipes leave the choice between it and the exact term to the library. "
            "Options not listed are the library's defaults."
        ),
        columns=["graph", "settings", *_HEADINGS.values(), "other options"],
        rows=rows,
    )


def _others(values: Mapping[str, Any], defaults: Mapping[str, Any], against: Mapping[str, Any]) -> str:
    """Options outside the printed table that are not at their default, or that differ from `against`."""
    # How the negative term is computed would be bold in every row; the caption tells of it once.
    keys = (key for key in values if key not in _HEADINGS and key != "negatives")
    shown = [key for key in keys if values[key] != defaults[key] or values[key] != against[key]]
    return ", ".join(_marked(f"{key}={_value(values[key])}", values[key] != against[key]) for key in shown)


def _marked(cell: str, differs: bool) -> str:
    return f"**{cell}**" if differs else cell


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and 0 < value < 0.01:
        return f"{value:.0e}".replace("e-0", "e-")
    return f"{value:g}" if isinstance(value, float) else str(value)


def _beside(ours: float | int | None, theirs: float | int | None) -> str:
    """Our value, with the printed one in brackets where both show differently."""
    shown = "-" if ours is None else _count(ours)
    return shown if theirs is None or _count(theirs) == shown else f"{shown} (printed {_count(theirs)})"


def _count(value: float | int) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"
