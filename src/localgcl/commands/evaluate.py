"""`localgcl evaluate`: scores of run folders or of a table of embeddings."""

import argparse
from pathlib import Path

from localgcl.evaluation import Scores
from localgcl.experiments.compare import compare_runs, score_table

DESCRIPTION = (
    "Score embeddings: a linear classifier on top, its settings picked on validation nodes. For a run folder the untrained "
    "encoder and the raw features are scored beside it. Several run folders (one a seed) are averaged."
)


def add_options(parser: argparse.ArgumentParser, _: list[str]) -> None:
    """What to score, and how."""
    parser.add_argument("what", nargs="+", metavar="RUN|FILE", help="run folders, or one table of embeddings")
    parser.add_argument("--labels", metavar="F", help="label file for a table of embeddings (first column the node id)")
    parser.add_argument("--protocol", default="linear", metavar="P", help="linear, sklearn, knn, kmeans... (default: linear)")
    parser.add_argument("--splits", type=int, metavar="N", help="random 10/10/80 splits where none are given (default: 20)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of random splits and classifiers (default: 0)")
    parser.add_argument("--no-baselines", action="store_true", help="leave out random-init and raw-features")
    parser.add_argument("--device", default="cpu", help="cpu or cuda (default: cpu)")


def run(options: argparse.Namespace) -> None:
    """Scores and prints."""
    if all(Path(path).is_dir() for path in options.what):
        rows = compare_runs(
            options.what,
            protocol=options.protocol,
            num_splits=options.splits,
            seed=options.seed,
            baselines=not options.no_baselines,
            device=options.device,
        )
    elif len(options.what) > 1:
        raise ValueError("give run folders, or one file of embeddings, not a mixture")
    elif options.labels is None:
        raise ValueError("a table of embeddings needs --labels FILE (first column the node id, second the class)")
    else:
        shared = {"protocol": options.protocol, "seed": options.seed, "device": options.device}
        scores = score_table(options.what[0], options.labels, num_splits=options.splits or 20, **shared)
        rows = {"embeddings": scores}
    _print_scores(rows)


def _print_scores(rows: dict[str, Scores]) -> None:
    width = max(map(len, rows))
    for name, scores in rows.items():
        extra = "".join(f"   {metric} {sum(values) / len(values):.2f}" for metric, values in scores.extra.items())
        print(f"{name:{width}}  {scores.mean:6.2f} ± {scores.std:.2f}{extra}")
    any_row = next(iter(rows.values()))
    print(f"({any_row.metric} in %, {any_row.over}; {any_row.protocol})")
