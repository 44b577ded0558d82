"""`localgcl similar`: the nodes most similar to some nodes."""

import argparse

from localgcl.commands.output import Result, aligned
from localgcl.report.nodes import SimilarNode, read_subject, similar_nodes
from localgcl.system.text import shown
from localgcl.training import RunFolder

DESCRIPTION = (
    "List the nodes whose embeddings are most similar to those of some nodes, by cosine; all nodes are compared. The table "
    "says which of them are neighbours in the graph, too."
)


def add_options(parser: argparse.ArgumentParser, _: list[str]) -> None:
    """A run, nodes, and how many."""
    parser.add_argument("run", metavar="RUN", help="run folder of localgcl train")
    parser.add_argument("nodes", nargs="+", metavar="NODE", help="node ids, as in your files")
    parser.add_argument("-k", type=int, default=10, metavar="K", help="similar nodes of each (default: 10)")


def run(options: argparse.Namespace) -> Result:
    """Prints a table for each node."""
    if options.k < 1:
        raise ValueError(f"k is {options.k}; it must be at least 1, for example 10")
    found = similar_nodes(read_subject(RunFolder.open(options.run)), list(dict.fromkeys(options.nodes)), options.k)
    for node, rows in found.items():
        print(f"most similar to {shown(node)}")
        for line in _lines(rows):
            print(line)
    return {"similar": found}


def _lines(rows: list[SimilarNode]) -> list[str]:
    labelled = any(row.label is not None for row in rows)
    cells = [("id", "similarity", *["label"] * labelled, "neighbour")]
    for row in rows:
        label = ["" if row.label is None else shown(row.label)] * labelled
        cells.append((shown(row.id), f"{row.similarity:.4f}", *label, "yes" if row.neighbour else "no"))
    return aligned(cells, indent="  ")
