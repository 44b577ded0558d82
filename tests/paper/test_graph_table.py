from pathlib import Path

import torch

from localgcl.datasets import load
from localgcl.graph import Graph
from paper.graph_table import measure, table


def counted(graphs: dict[str, Graph]) -> list[list[str]]:
    return table(measure(graphs)).rows


def test_counts_of_a_graph_nobody_prints() -> None:
    # 0 -> 1, 1 -> 2 and back, a loop at 3, and nothing at 4.
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 1, 3], x=torch.eye(5), y=[0, 0, 1, 1, 1])
    assert counted({"mine": graph}) == [["mine", "5", "4", "4", "2", "2", "5", "0.500"]]
    unlabelled = Graph.from_edges([0], [1], x=torch.eye(2))
    assert counted({"mine": unlabelled}) == [["mine", "2", "1", "2", "0", "0", "2", "-"]]


def test_printed_values_stand_beside_ours_where_they_differ(graphs_root: Path) -> None:
    graphs = {name: load(name, graphs_root, download=False) for name in ("cora", "citeseer", "actor")}
    assert counted(graphs) == [
        ["cora", "2,708", "10,556", "10,556", "0", "7", "1,433", "0.810"],
        ["citeseer", "3,327", "9,104 (printed 9,228)", "9,104", "48", "6", "3,703", "0.736"],
        ["actor", "7,600", "30,019 (printed 33,544)", "53,318", "0", "5", "932 (printed 931)", "0.219"],
    ]


def test_the_structure_of_arxiv_is_compared_with_arxiv() -> None:
    graph = Graph.from_edges([0], [1], x=torch.eye(2), y=[0, 1])
    ((_, nodes, *_),) = counted({"arxiv-structure": graph})
    assert nodes == "2 (printed 169,343)"
