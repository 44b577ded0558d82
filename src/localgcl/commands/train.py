"""`localgcl train`: from a graph to a run folder."""

import argparse

from localgcl.commands.engine import ENGINE, add_engine, cluster_workers
from localgcl.commands.options import SOURCE, add_group, add_source, early_method
from localgcl.config import EncoderOptions, Preparation, TrainingOptions
from localgcl.datasets.source import Source
from localgcl.estimator import train
from localgcl.methods import METHODS, find_method
from localgcl.training.cluster.training import train_on_cluster
from localgcl.training.joining import join_ranks
from localgcl.training.together import train_together

DESCRIPTION = (
    "Learn node embeddings from a graph, without labels. Settings not given come from the data set's recipe, or are "
    "chosen from the graph's statistics."
)
_OWN = (*SOURCE, *ENGINE, "method", "recipe", "out", "resume", "warm_start", "force_memory", "quiet", "debug")


def add_options(parser: argparse.ArgumentParser, arguments: list[str]) -> None:
    """The method decides which options exist."""
    method = early_method(arguments)
    kind = find_method(method)
    add_source(parser)
    parser.add_argument("--method", metavar="M", help=f"one of {', '.join(METHODS)} (default: local-gcl)")
    parser.add_argument("--recipe", metavar="FILE", help="settings from a recipe file, such as localgcl tune writes")
    parser.add_argument("--out", metavar="DIR", help="run folder to write (default: runs/NAME)")
    parser.add_argument("--resume", action="store_true", help="go on with the run in --out after an interruption")
    parser.add_argument("--warm-start", metavar="RUN", help="start from the weights of another run")
    parser.add_argument("--force-memory", action="store_true", help="train though it is estimated not to fit the memory")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    add_engine(parser)
    groups = {"graph": Preparation, "encoder": EncoderOptions, "training": TrainingOptions, method: kind.Options}
    for title, group in groups.items():
        add_group(parser, title, group, kind.defaults)


def run(options: argparse.Namespace) -> None:
    """Trains, embeds the graph, and prints what was done. Ranks of torchrun or workers of a cluster train one run together."""
    settings = {name: value for name, value in vars(options).items() if name not in _OWN}
    workers = cluster_workers(options)
    with join_ranks() as ranks:
        source = None
        if options.dataset or options.edges or not options.resume:
            source = Source(**{name: getattr(options, name) for name in SOURCE})
        elif options.out is None:
            raise ValueError("--resume needs --out DIR, the run folder to go on with")
        quiet = options.quiet or (ranks is not None and ranks.rank > 0)
        settings |= {
            "method": options.method,
            "recipe": options.recipe,
            "resume": options.resume,
            "warm_start": options.warm_start,
            "say": (lambda _: None) if quiet else print,
            "force_memory": options.force_memory,
        }
        if workers is not None:
            train_on_cluster(source, options.out, workers, **settings)
        elif ranks is None:
            train(source, options.out, progress_bar=not quiet, **settings)
        else:
            train_together(source, options.out, ranks, progress_bar=not quiet, **settings)
