"""table-datasets: sizes of the graphs as loaded, beside what the paper prints."""

from collections.abc import Mapping, Sequence

from localgcl.experiments.tables import Table
from localgcl.graph import Graph
from paper.printed import printed_statistics
from paper.store import StudyRow


def measure(graphs: Mapping[str, Graph]) -> list[StudyRow]:
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


def table(rows: Sequence[StudyRow]) -> Table:
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
