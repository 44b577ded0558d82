"""`localgcl datasets`: the graphs that can be named."""

import argparse
import dataclasses

from localgcl.commands.output import Result
from localgcl.datasets.catalogue import CATALOGUE
from localgcl.datasets.source import READERS
from localgcl.datasets.storage import cache_root, missing_files
from localgcl.system.text import shown

DESCRIPTION = "The graphs that can be named, and whether their files are here."


_WORDS = {True: "ready", False: "download"}


def add_options(_: argparse.ArgumentParser, __: list[str]) -> None:
    """Adds none."""


def run(_: argparse.Namespace) -> Result:
    """Prints a line a graph."""
    home = cache_root()
    missing = {name: missing_files(READERS[name].files, home) for name in CATALOGUE}
    sizes = f"{'nodes':>9} {'edges':>11} {'features':>9} {'classes':>8} {'homophily':>10}"
    print(f"{'name':18} {'files':8} {sizes}  {'splits':13} kind of edges")
    for entry in CATALOGUE.values():
        homophily = "" if entry.homophily is None else f"{entry.homophily:.3f}"
        sizes = f"{entry.nodes:>9,} {entry.edges:>11,} {entry.features:>9,} {entry.classes:>8} {homophily:>10}"
        print(f"{entry.name:18} {_WORDS[not missing[entry.name]]:8} {sizes}  {entry.splits:13} {entry.kind}")
    print(f"Files are kept in {shown(home)} (the variable LOCALGCL_HOME names another folder).")
    if any(missing.values()):
        print("download: not here yet. The first command that names the graph downloads its files, or says where to put them.")
    entries = [
        {**dataclasses.asdict(entry), "ready": not missing[name], "missing": [home / file.path for file in missing[name]]}
        for name, entry in CATALOGUE.items()
    ]
    return {"home": home, "datasets": entries}
