"""What goes into the experiments beside what the paper prints: table-datasets and table-hyperparameters."""

from collections.abc import Mapping, Sequence
from typing import Any

from localgcl.datasets import names
from localgcl.experiments.tables import Table
from localgcl.graph import Graph
from localgcl.methods import configure
from localgcl.recipes import recipes
from paper.printed import printed_settings, printed_statistics
from paper.store import StudyRow


def count_graphs(graphs: Mapping[str, Graph]) -> list[StudyRow]:
    """Counts of loaded graphs, a row each, with the printed value beside those that differ from it.

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
        rows.append(
            {
                "graph": name,
                "nodes": cells["nodes"],
                "edges": cells["edges"],
                "edges, undirected": _count(simple.num_edges),
                "isolated": _count(isolated),
                "classes": cells["classes"],
                "features": cells["features"],
                "φ": cells["homophily"],
            }
        )
    return rows


def graph_table(rows: Sequence[StudyRow]) -> Table:
    """The counts with their caption."""
    return Table(
        name="table-datasets",
        title="Graphs as loaded",
        caption=(
            "Counts on the loaded graphs, with the paper's value in brackets where it differs. Edges are counted in each "
            'direction as stored; "undirected" has both directions of every edge and no self-loops, which is what methods see '
            "by default."
        ),
        columns=list(rows[0]),
        rows=[list(row.values()) for row in rows],
        notes=[
            "isolated: nodes without an edge to another node. φ: edge homophily of the edges as loaded.",
            "The paper's edge counts of Computers, Photo, CS and Physics are twice the entries of the published files: the "
            "reverse of every entry was added, repeats included. Those of CiteSeer and PubMed count self-loops.",
            "Its features of Physics and Actor are slips, and so, it seems, are its edges of Actor and arXiv.",
        ],
    )


def _beside(ours: float | int | None, theirs: float | int | None) -> str:
    """Our value, with the printed one in brackets where both show differently."""
    shown = "-" if ours is None else _count(ours)
    return shown if theirs is None or _count(theirs) == shown else f"{shown} (printed {_count(theirs)})"


def _count(value: float | int) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


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
Settings = Mapping[str, Any]


def list_settings() -> list[StudyRow]:
    """The printed settings above the recipe for each graph that has one; what differs is bold."""
    known = recipes("local-gcl-single")
    defaults = configure("local-gcl", {}).flat()
    rows = []
    for graph in (name for name in names() if name in known):
        ours = configure("local-gcl", known[graph]).flat()
        settings = printed_settings(graph)
        theirs = None if settings is None else configure("local-gcl", settings).flat()
        if theirs is not None:
            rows.append(_row(graph, "printed", theirs, defaults, theirs))
        rows.append(_row(graph, "recipe", ours, defaults, theirs or ours))
    return rows


def _row(graph: str, name: str, values: Settings, defaults: Settings, against: Settings) -> StudyRow:
    shown = {heading: _marked(_value(values[key]), values[key] != against[key]) for key, heading in _HEADINGS.items()}
    return {"graph": graph, "settings": name, **shown, "other options": _others(values, defaults, against)}


def settings_table(rows: Sequence[StudyRow]) -> Table:
    """The settings with their caption."""
    return Table(
        name="table-hyperparameters",
        title="Settings of Local-GCL with one encoder: printed, and in the recipes",
        caption=(
            "Printed settings above the recipe of each graph; bold is where the recipe differs. Recipes were picked by "
            "validation accuracy; recipes/local-gcl-single.toml says how, and where test accuracy led to another search."
        ),
        columns=list(rows[0]),
        rows=[list(row.values()) for row in rows],
        notes=[
            "The paper prints no settings for graphs without a printed row. Options not listed have the library's defaults.",
            "Batch normalisation in a printed MLP is taken from the code family it stems from.",
            "Printed settings use SORF for the negative term; recipes leave the choice between it and the exact term to the "
            "library.",
        ],
    )


def _others(values: Settings, defaults: Settings, against: Settings) -> str:
    """Options outside the printed table that are not at their default, or that differ from `against`."""
    # How the negative term is computed would be bold in every row; a note says it once.
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
