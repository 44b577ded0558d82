"""`localgcl datasets`: the graphs that can be named."""

import argparse

from localgcl.datasets.catalogue import CATALOGUE

DESCRIPTION = "The graphs that can be named, and whether their files are here."


def add_options(_: argparse.ArgumentParser, __: list[str]) -> None:
    """There are none."""


def run(_: argparse.Namespace) -> None:
    """Prints a line a graph."""
    print(
        f"{'name':16} {'nodes':>9} {'edges':>11} {'features':>9} {'classes':>8} {'homophily':>10}  {'splits':10} kind of edges"
    )
    for entry in CATALOGUE.values():
        homophily = "" if entry.homophily is None else f"{entry.homophily:.3f}"
        sizes = f"{entry.nodes:>9,} {entry.edges:>11,} {entry.features:>9,} {entry.classes:>8} {homophily:>10}"
        print(f"{entry.name:16} {sizes}  {entry.splits:10} {entry.kind}")
    print("Files are kept under LOCALGCL_HOME (default ~/.cache/localgcl); digits needs none.")
