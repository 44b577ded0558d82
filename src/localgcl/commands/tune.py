"""`localgcl tune`: its options, and what it calls."""

import argparse
from typing import Any

from localgcl.commands.options import add_group, add_source, early_method
from localgcl.config import EncoderOptions, Preparation, TrainingOptions
from localgcl.datasets.source import Source
from localgcl.experiments.search import log
from localgcl.experiments.search.samplers import SAMPLERS
from localgcl.experiments.search.space import OWN
from localgcl.experiments.search.tuning import tune
from localgcl.methods import METHODS, find_method

DESCRIPTION = (
    "Search settings by accuracy on validation nodes; the labels of test nodes are hidden. Repeat the command to go on "
    "after an interruption. Options of localgcl train that are given here stay as given."
)
_SEARCH = (
    "method",
    "space",
    "sampler",
    "trials",
    "seeds",
    "splits",
    "redraws",
    "finalists",
    "final_seeds",
    "start",
    "protocol",
    "device",
    "jobs",
    "seed",
    "out",
    "commit",
)
_SOURCE = ("dataset", "edges", "features", "labels")


def add_options(parser: argparse.ArgumentParser, arguments: list[str]) -> None:
    """Options of the search, and of `localgcl train`: those that are given stay as given."""
    method = early_method(arguments)
    add_source(parser)
    parser.add_argument("--method", default="local-gcl", metavar="M", help=f"one of {', '.join(METHODS)} (default: local-gcl)")
    parser.add_argument(
        "--space", metavar="NAME|FILE", help="what may vary: wide, paper, small, or a TOML file of lists by option"
    )
    parser.add_argument("--sampler", choices=list(SAMPLERS), default="random", help="which point comes next (default: random)")
    parser.add_argument("--trials", type=int, default=50, metavar="N", help="how many, those in the log included (default: 50)")
    parser.add_argument("--seeds", type=int, default=3, metavar="K", help="seeds of each trial (default: 3)")
    parser.add_argument(
        "--splits", type=int, default=3, metavar="S", help="of the graph's own splits, the first S (default: 3)"
    )
    parser.add_argument(
        "--redraws", type=int, default=0, metavar="R", help="of a single given split, also validate on R divisions (default: 0)"
    )
    parser.add_argument("--finalists", type=int, default=0, metavar="F", help="validate the best F on more seeds (default: 0)")
    parser.add_argument("--final-seeds", type=int, default=10, metavar="K", help="seeds of the finals (default: 10)")
    parser.add_argument(
        "--start", default="recipe", metavar="recipe|defaults|FILE", help="the first trial, whose values join the space"
    )
    parser.add_argument("--protocol", default="linear", metavar="P", help="linear, sklearn, knn... (default: linear)")
    parser.add_argument("--device", default="auto", help="cpu, cuda, auto (default: auto)")
    parser.add_argument("--jobs", type=int, default=1, metavar="J", help="trials at a time, a process each (default: 1)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the sampler (default: 0)")
    parser.add_argument("--out", metavar="DIR", help="folder of trials.csv and recipe.toml (default: tuning/METHOD-DATASET)")
    parser.add_argument("--commit", metavar="HASH", help="to record, where the tree was copied without its history")
    kind = find_method(method)
    groups = {"graph": Preparation, "encoder": EncoderOptions, "training": TrainingOptions, method: kind.Options}
    for title, group in groups.items():
        add_group(parser, f"fixed {title}", group, kind.defaults, without=OWN)


def run(options: argparse.Namespace) -> None:
    """Searches, and prints the five best."""
    given: dict[str, Any] = vars(options)
    source = Source(**{name: given[name] for name in _SOURCE})
    fixed = {name: value for name, value in given.items() if name not in (*_SEARCH, *_SOURCE, "debug")}
    found = tune(source, fixed=fixed, say=print, **{name: given[name] for name in _SEARCH})
    print("best by validation accuracy:")
    for row in log.best(found.rows):
        print(f"  {log.score(row):.2f} ± {float(row['deviation']):.2f}  {row['settings']}")
    train = f"localgcl train {source.dataset or '--edges ' + str(source.edges) + ' ...'}"
    print(f"next: {train} --method {options.method} --recipe {found.folder / 'recipe.toml'}")
