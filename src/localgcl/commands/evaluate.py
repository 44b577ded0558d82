"""`localgcl evaluate`: scores of run folders or of a table of embeddings."""

import argparse
from pathlib import Path
from typing import Any

from localgcl.commands.options import add_group, add_id, read_group
from localgcl.commands.output import Result, aligned
from localgcl.datasets.source import named_columns
from localgcl.evaluation import Scores
from localgcl.evaluation.evaluator import EvaluationOptions
from localgcl.experiments.compare import compare_runs, score_table
from localgcl.system.files import check_there
from localgcl.system.text import shown

DESCRIPTION = (
    "Score embeddings: a linear classifier on top, its settings picked on validation nodes. For a run folder the untrained "
    "encoder and the raw features are scored beside it. Of several run folders of one graph, those that differ only in the "
    "seed are averaged; all others have a row each."
)


def add_options(parser: argparse.ArgumentParser, _: list[str]) -> None:
    """What to score, and how."""
    parser.add_argument("what", nargs="+", metavar="RUN|FILE", help="run folders, or one table of embeddings")
    parser.add_argument(
        "--labels",
        metavar="F",
        help="label file; ids in its first column or --id. A table of embeddings needs one; of a run it takes the place of the "
        "labels that it was trained with",
    )
    parser.add_argument(
        "--target-columns",
        metavar="NAMES",
        help="columns of --labels to predict, with commas between (default: all): several of 0 and 1 are labels of a node, "
        "scored by F1; numbers are predicted by ridge regression, scored by R2",
    )
    add_id(parser)
    add_group(parser, "evaluation", EvaluationOptions)


def run(given: argparse.Namespace) -> Result:
    """Scores and prints."""
    options = read_group(given, EvaluationOptions)
    columns: dict[str, Any] = {"id": given.id, "target_columns": named_columns(drop=given.target_columns).drop or ()}
    for path in (*given.what, *([] if given.labels is None else [given.labels])):
        check_there(path)
    if all(Path(path).is_dir() for path in given.what):
        rows = compare_runs(given.what, options, labels=given.labels, **columns)
    elif len(given.what) > 1:
        raise ValueError("give run folders, or one file of embeddings, not a mixture")
    elif given.labels is None:
        raise ValueError("a table of embeddings needs --labels FILE (first column the node id, second the class)")
    else:
        rows = {"embeddings": score_table(given.what[0], given.labels, options, **columns)}
    _print_scores(rows)
    if options.per_class:
        _print_recall(rows)
    return {"scores": {name: scores.to_dict() for name, scores in rows.items()}}


def _print_scores(rows: dict[str, Scores]) -> None:
    labels = {shown(name): scores for name, scores in rows.items()}
    width, counts = max(map(len, labels)), list(dict.fromkeys(scores.over for scores in rows.values()))
    for name, scores in labels.items():
        extra = "".join(f"   {metric} {scores.shown(values)}" for metric, values in scores.extra.items())
        extra += f"   ({scores.over})" if len(counts) > 1 else ""
        print(f"{name:{width}}  {scores.shown(scores.values):>12}{extra}")
    any_row = next(iter(rows.values()))
    over = f", {counts[0]}" if len(counts) == 1 else ""
    print(f"({any_row.measure}{over}; {any_row.protocol})")
    if any_row.splits:
        print(f"(splits: {any_row.splits})")


def _print_recall(rows: dict[str, Scores]) -> None:
    """A line for each class: the share of its test nodes that each row classifies correctly."""
    classes = list(dict.fromkeys(name for scores in rows.values() for name in scores.recall))
    if not classes:
        print("(per class: nothing was classified)")
        return
    table = [["class", *map(shown, rows)]]
    for name in classes:
        found = [scores.recall.get(name) for scores in rows.values()]
        table.append([shown(name), *("" if value is None else f"{value:.2f}" for value in found)])
    for line in aligned(table, right=True):
        print(line)
    print("(% of the test nodes of each class that are classified correctly, mean over splits)")
