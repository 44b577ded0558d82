"""`localgcl cluster`: groups of similar nodes, and what marks them out."""

import argparse

from localgcl.commands.output import Result, sayer
from localgcl.io.export import SUFFIXES, check_columns_file, write_columns
from localgcl.report.clusters import describe, find_clusters
from localgcl.report.nodes import read_subject, read_table
from localgcl.system.text import shown
from localgcl.training import RunFolder

DESCRIPTION = (
    "Group the nodes of a run by k-means on their embeddings, and say what marks each cluster out: columns of features, labels "
    "and degrees whose means differ most from those of all other nodes."
)


def add_options(parser: argparse.ArgumentParser, _: list[str]) -> None:
    """A run, a number and a file."""
    *others, last = SUFFIXES
    parser.add_argument("run", metavar="RUN", help="run folder of localgcl train")
    parser.add_argument(
        "-k", "--clusters", type=int, metavar="K", help="number of clusters (default: from 2 to 20, by the largest silhouette)"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help=f"write the cluster of each node: columns id and cluster, {', '.join(others)} or {last}",
    )
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the starts (default: 0)")


def run(options: argparse.Namespace) -> Result:
    """Prints the clusters, and writes the cluster of each node."""
    folder, say = RunFolder.open(options.run), sayer(options)
    if options.output is not None:
        check_columns_file(options.output, overwrite=options.force)
    subject = read_subject(folder, seed=options.seed)
    found = find_clusters(subject.z, options.clusters, seed=options.seed)
    clusters, _ = describe(subject, read_table(subject), found)
    for cluster in clusters:
        print(f"{cluster.name}: {cluster.size:,} nodes, such as {', '.join(map(shown, cluster.examples))}")
        for mark in cluster.marks or ("no column differs much from other nodes",):
            print(f"  {shown(mark)}")
    say(found.how)
    if options.output is not None:
        ids = subject.graph.node_ids
        write_columns(options.output, {"id": ids, "cluster": found.member + 1}, overwrite=options.force)
        say(f"clusters of {len(ids):,} nodes in {shown(options.output)}")
    return {"clusters": clusters, "clustering": found.how, "output": options.output}
