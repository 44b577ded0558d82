"""`localgcl tune`: a search for settings on validation nodes."""

import argparse
import dataclasses
import json

from localgcl.commands import COMMON
from localgcl.commands.options import SOURCE, add_group, add_settings, add_source, early_method, read_group, read_source
from localgcl.commands.output import Result, sayer
from localgcl.experiments.search import log
from localgcl.experiments.search.space import OWN, read_space
from localgcl.experiments.search.trials import SearchOptions
from localgcl.experiments.search.tuning import tune
from localgcl.methods import DEFAULT, METHODS
from localgcl.system.files import check_there
from localgcl.system.text import shown

DESCRIPTION = (
    "Search settings by accuracy on validation nodes; the labels of test nodes are hidden. Repeat the command to go on "
    "after an interruption. Options of localgcl train that are given here stay as given."
)


def add_options(parser: argparse.ArgumentParser, arguments: list[str]) -> None:
    """Options of the search, and of `localgcl train`: those that are given stay as given."""
    add_source(parser)
    parser.add_argument("--method", default=DEFAULT, metavar="M", help=f"one of {', '.join(METHODS)} (default: {DEFAULT})")
    parser.add_argument(
        "--space", metavar="NAME|FILE", help="what may vary: wide, paper, small, or a TOML file of lists by option"
    )
    add_group(parser, "search", SearchOptions)
    add_settings(parser, early_method(arguments), title="fixed ", without=OWN)


def run(options: argparse.Namespace) -> Result:
    """Searches, and prints the five best."""
    search, source = read_group(options, SearchOptions), read_source(options)
    space = read_space(options.space, options.method)
    if search.start not in ("recipe", "defaults"):
        check_there(search.start)
    own = {*SOURCE, "method", "space", *COMMON, *(field.name for field in dataclasses.fields(SearchOptions))}
    fixed = {name: value for name, value in vars(options).items() if name not in own}
    found = tune(source, options.method, space=space, fixed=fixed, say=sayer(options), **vars(search))
    best = [
        {"validation": log.score(row), "deviation": float(row["deviation"]), "settings": json.loads(row["settings"])}
        for row in log.best(found.rows)
    ]
    print("best by validation accuracy:")
    for trial in best:
        print(f"  {trial['validation']:.2f} ± {trial['deviation']:.2f}  {json.dumps(trial['settings'], sort_keys=True)}")
    train = f"localgcl train {source.dataset or source.folder or f'--edges {source.edges} ...'}"
    recipe = found.folder / "recipe.toml"
    plugins = "".join(f" --plugin {shown(file)}" for file in options.plugin or ())
    sayer(options)(f"next: {train}{plugins} --method {options.method} --recipe {recipe}")
    return {
        "folder": found.folder,
        "recipe": recipe,
        "method": options.method,
        "trials": len(found.rows),
        "validation": found.validation,
        "settings": found.settings,
        "best": best,
    }
