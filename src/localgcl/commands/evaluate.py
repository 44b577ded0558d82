"""`localgcl evaluate`: scores of run folders or of a table of embeddings."""

import argparse
from pathlib import Path
from typing import Any

from localgcl.commands.options import add_group, add_id, read_group
from localgcl.evaluation import Scores
from localgcl.evaluation.options import EvaluationOptions
from localgcl.experiments.compare import compare_runs, score_table
from localgcl.system.text import shown

DESCRIPTION = (
    "Score embeddings: a linear classifier on top, its settings picked on validation nodes. For a run folder the untrained "
    "encoder and the raw features are scored beside it. Of several run folders of one graph, those that differ only in the "
    "seed are averaged; all others have a row each."
)


def add_options(parser: argparse.ArgumentParser, _: list[str]) -> None:
    """What to score, and how."""
    parser.add_argument("what", nargs="+", metavar="RUN|FILE", help="run folders, or one table of embeddings")
    parser.add_argument("--labels", metavar="F", help="label file for a table of embeddings (first column the node id)")
    add_id(parser)
    add_group(parser, "evaluation", EvaluationOptions)


def run(given: argparse.Namespace) -> None:
    """Scores and prints."""
    options = read_group(given, EvaluationOptions)
    shared: dict[str, Any] = {"protocol": options.protocol, "seed": options.seed, "device": options.device}
    if all(Path(path).is_dir() for path in given.what):
        rows = compare_runs(given.what, num_splits=options.splits, baselines=options.baselines, **shared)
    elif len(given.what) > 1:
        raise ValueError("give run folders, or one file of embeddings, not a mixture")
    elif given.labels is None:
        raise ValueError("a table of embeddings needs --labels FILE (first column the node id, second the class)")
    else:
        table, splits = given.what[0], options.splits or 20
        rows = {"embeddings": score_table(table, given.labels, num_splits=splits, id=given.id, **shared)}
    _print_scores(rows)


def _print_scores(rows: dict[str, Scores]) -> None:
    labels = {shown(name): scores for name, scores in rows.items()}
    width, counts = max(map(len, labels)), list(dict.fromkeys(scores.over for scores in rows.values()))
    for name, scores in labels.items():
        extra = "".join(f"   {metric} {sum(values) / len(values):.2f}" for metric, values in scores.extra.items())
        extra += f"   ({scores.over})" if len(counts) > 1 else ""
        print(f"{name:{width}}  {scores.mean:6.2f} ± {scores.std:.2f}{extra}")
    any_row = next(iter(rows.values()))
    over = f", {counts[0]}" if len(counts) == 1 else ""
    print(f"({any_row.metric} in %{over}; {any_row.protocol})")
