"""`localgcl tune`: a search for settings on validation nodes."""

import argparse
import dataclasses

from localgcl.commands.options import SOURCE, add_group, add_source, early_method, read_group
from localgcl.config import EncoderOptions, Preparation, TrainingOptions
from localgcl.datasets.source import Source
from localgcl.experiments.search import log
from localgcl.experiments.search.options import SearchOptions
from localgcl.experiments.search.space import OWN
from localgcl.experiments.search.tuning import tune
from localgcl.methods import METHODS, find_method

DESCRIPTION = (
    "Search settings by accuracy on validation nodes; the labels of test nodes are hidden. Repeat the command to go on "
    "after an interruption. Options of localgcl train that are given here stay as given."
)


def add_options(parser: argparse.ArgumentParser, arguments: list[str]) -> None:
    """Options of the search, and of `localgcl train`: those that are given stay as given."""
    method = early_method(arguments)
    kind = find_method(method)
    add_source(parser)
    parser.add_argument("--method", default="local-gcl", metavar="M", help=f"one of {', '.join(METHODS)} (default: local-gcl)")
    parser.add_argument(
        "--space", metavar="NAME|FILE", help="what may vary: wide, paper, small, or a TOML file of lists by option"
    )
    add_group(parser, "search", SearchOptions)
    groups = {"graph": Preparation, "encoder": EncoderOptions, "training": TrainingOptions, method: kind.Options}
    for title, group in groups.items():
        add_group(parser, f"fixed {title}", group, kind.defaults, without=OWN)


def run(options: argparse.Namespace) -> None:
    """Searches, and prints the five best."""
    search, source = read_group(options, SearchOptions), Source(**{name: getattr(options, name) for name in SOURCE})
    own = {*SOURCE, "method", "space", "debug", *(field.name for field in dataclasses.fields(SearchOptions))}
    fixed = {name: value for name, value in vars(options).items() if name not in own}
    found = tune(source, options.method, space=options.space, fixed=fixed, say=print, **vars(search))
    print("best by validation accuracy:")
    for row in log.best(found.rows):
        print(f"  {log.score(row):.2f} ± {float(row['deviation']):.2f}  {row['settings']}")
    train = f"localgcl train {source.dataset or source.folder or f'--edges {source.edges} ...'}"
    print(f"next: {train} --method {options.method} --recipe {found.folder / 'recipe.toml'}")
