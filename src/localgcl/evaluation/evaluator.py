"""evaluate and validate: embeddings and labels in, scores out."""

import dataclasses
import statistics
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch

from localgcl.config import Checked, option
from localgcl.datasets import hide_test_labels
from localgcl.datasets.splits import Drawn, choose_splits
from localgcl.evaluation.inputs import (
    are_targets,
    labelled_tasks,
    read_classes,
    read_embeddings,
    read_graph,
    read_target_values,
    read_targets,
    read_tasks,
)
from localgcl.evaluation.presets import TARGET_PROBES, find_probe, validating_probe
from localgcl.evaluation.scores import Scores
from localgcl.evaluation.task import Probe, Task
from localgcl.graph import Graph, Split
from localgcl.system.devices import choose_device

TASK = Literal["auto", "classes", "multi-label", "regression"]
"""What is predicted: classes, several 0/1 labels of a node, or numbers."""


@dataclasses.dataclass(frozen=True)
class EvaluationOptions(Checked):
    """Options of `localgcl evaluate`: how embeddings are scored."""

    protocol: str = option("linear", "linear, sklearn, knn, kmeans...", metavar="P")
    train_share: float | None = option(
        None,
        "share of each class to train the classifier on, in stratified random splits of the labelled nodes; a tenth is for "
        "validation (default: the graph's own splits, else 0.1, or 0.5 of fewer than 1,000 labelled nodes)",
        above=0,
        high=0.89,
        metavar="S",
    )
    # A split holds every labelled node once; a thousand of them fit in memory and take minutes to hours.
    splits: int | None = option(
        None,
        "number of splits, where they are drawn (default: 20, or 1 for each of several runs)",
        low=1,
        high=1000,
        metavar="N",
    )
    task: TASK = option("auto", "what --labels holds; auto: several columns or fractions are no classes (see --target-columns)")
    per_class: bool = option(False, "also show the share of each class that is classified correctly")
    seed: int = option(0, "seed of random splits and classifiers", low=0, high=2**63 - 1, metavar="S")
    baselines: bool = option(True, "for a run folder: also score random-init and raw-features")
    device: str = option("cpu", "cpu, cuda, cuda:1...; auto takes a GPU where there is one")


def evaluate(
    z: Any,
    graph_or_labels: Any,
    splits: Sequence[Split] | None = None,
    *,
    protocol: str = "linear",
    train_share: float | None = None,
    num_splits: int = 20,
    task: TASK = "auto",
    seed: int = 0,
    device: str | torch.device = "cpu",
    **settings: Any,
) -> Scores:
    """Scores embeddings against the classes of nodes, or against other targets.

    Nodes of unknown label (-1) are left out of every split. Class numbers may have gaps. The same input, seed and number
    of threads give the same scores.

    Args:
        z: One row per node: numpy array, tensor, data frame, or sparse (scipy or torch), which is never made dense.
        graph_or_labels: A graph with labels, or one integer per node. Numbers that are not whole, or several columns of
            numbers, are targets of `task`, with NaN where they are unknown.
        splits: Which nodes to learn, validate and test on. When not given: the graph's own splits. Where it has none, splits
            are drawn, the same at every call: random ones of 10/10/80 percent, or, of fewer than 1,000 labelled nodes,
            stratified ones of 50/10/40 percent. `Scores.splits` says which.
        protocol: A name of `PRESETS`: "linear" (default), "sklearn", "knn", "kmeans", or a published evaluator.
        train_share: Draw stratified splits with this share of each class to train on, whatever splits the graph has. A tenth of
            each class is for validation, on which the classifier's settings are picked, and the others for testing.
        num_splits: Splits to draw, where they are drawn.
        task: "classes"; "multi-label": several columns of 0 and 1, by logistic regressions, scored by F1; "regression":
            numbers, by ridge regression, scored by R2 (`evaluate_targets`). "auto" tells them apart by their values.
        seed: Decides the classifier's initial weights, together with the number of the split and of the repeat.
        device: Where "linear" and "knn" compute; scikit-learn's parts stay on the CPU.
        **settings: Fields of the protocol to change, such as `steps=300` or `normalise="rows"`.

    Returns:
        One score per split (and repeat), in percent.

    Example:
        >>> z = np.repeat(np.eye(2), 10, axis=0)
        >>> split = Split(torch.arange(0, 20, 4), torch.arange(1, 20, 4), torch.arange(2, 20, 4))
        >>> evaluate(z, [0] * 10 + [1] * 10, [split]).values
        (100.0,)
    """
    if task != "classes" and not isinstance(graph_or_labels, Graph) and (task != "auto" or are_targets(graph_or_labels)):
        if protocol != "linear" or settings:
            named = ", ".join([protocol, *settings])
            raise ValueError(
                f"protocol and its settings ({named:.80}) are for classes, and these targets are none; leave them out"
            )
        return evaluate_targets(
            z, graph_or_labels, splits, task=task, train_share=train_share, num_splits=num_splits, seed=seed
        )
    if task in ("multi-label", "regression"):
        raise ValueError(f"task is {task!r}, and a graph has classes only; pass the targets as an array")
    probe = find_probe(protocol, settings)
    if not probe.uses_splits and (splits is not None or train_share is not None):
        raise ValueError(f"protocol {protocol!r} clusters all nodes at once; leave splits and train_share (--train-share) out")
    # Splits are the same ones whatever the seed.
    return _score_classes(probe, z, graph_or_labels, splits, seed, device, num=num_splits, train_share=train_share)


def evaluate_targets(
    z: Any,
    targets: Any,
    splits: Sequence[Split] | None = None,
    *,
    task: Literal["auto", "multi-label", "regression"] = "auto",
    train_share: float | None = None,
    num_splits: int = 20,
    seed: int = 0,
) -> Scores:
    """Scores embeddings against several 0/1 labels of each node, or against numbers.

    Multi-label: one logistic regression for each label on unit rows, micro and macro F1 in percent. Regression: ridge on
    standardised columns, R2 and mean absolute error, averaged over targets. Penalties are picked on validation nodes.

    Arguments are those of `evaluate`, but `task` "auto" is multi-label for several columns of 0 and 1, else regression; and the
    splits that are drawn are random, the first one with `seed`. Nodes with a NaN among their targets are left out.

    Example:
        >>> z = np.random.default_rng(0).normal(size=(200, 4))
        >>> evaluate_targets(z, 3 * z[:, 0] + 1, num_splits=2).mean > 0.99
        True
    """
    x, y = read_embeddings(z), read_target_values(targets)
    if x.shape[0] != len(y):
        raise ValueError(f"z has {x.shape[0]} rows, but there are {len(y)} rows of targets; give one row per node, in order")
    kind, known = read_targets(y, task)
    labelled = read_graph(np.where(known, 0, -1))
    splits, how = choose_splits(labelled, splits, num=num_splits, seed=seed, train_share=train_share, classes=False)
    tasks = labelled_tasks(x, torch.tensor(y), torch.from_numpy(known), 0, splits)
    return _scores(TARGET_PROBES[kind], tasks, how, seed, torch.device("cpu"))


def validate(
    z: Any,
    graph_or_labels: Any,
    splits: Sequence[Split] | None = None,
    *,
    device: str | torch.device = "cpu",
    seed: int = 0,
    protocol: str = "linear",
    **settings: Any,
) -> Scores:
    """Scores embeddings on the validation nodes, for picking settings.

    Test labels are never read, and may all be -1 (`localgcl.datasets.hide_test_labels`). The classifier's own settings are
    picked on the same nodes, so the values are a little too high, for all embeddings alike.

    Args:
        z: One row per node, as for `evaluate`.
        graph_or_labels: A graph with labels, or one integer per node.
        splits: Which nodes to learn and validate on; when not given, as for `evaluate`.
        protocol: A name of `PRESETS` that picks on validation nodes, such as "linear", "sklearn" or "knn".
        seed: Decides the classifier's initial weights, as for `evaluate`.
        device: Where "linear" and "knn" compute.
        **settings: Fields of the protocol to change.

    Returns:
        One validation score per split (and repeat), in percent.

    Example:
        >>> z = np.repeat(np.eye(2), 10, axis=0)
        >>> split = Split(torch.arange(0, 20, 4), torch.arange(1, 20, 4), torch.arange(2, 20, 4))
        >>> hidden = torch.full((20,), -1).scatter(0, torch.cat([split.train, split.val]), torch.tensor([0, 0, 0, 1, 1] * 2))
        >>> validate(z, hidden, [split]).values
        (100.0,)
    """
    probe = validating_probe(protocol, settings)
    scores = _score_classes(probe, z, graph_or_labels, splits, seed, device, tests=False)
    extra = {f"validation {name}": values for name, values in scores.extra.items()}
    return dataclasses.replace(scores, metric=f"validation {scores.metric}", extra=extra)


def _score_classes(
    probe: Probe,
    z: Any,
    graph_or_labels: Any,
    splits: Sequence[Split] | None,
    seed: int,
    device: str | torch.device,
    *,
    tests: bool = True,
    **drawn: Any,
) -> Scores:
    """Scores on the test nodes, or on the validation nodes, without a look at other labels; `drawn` is for `choose_splits`."""
    x, graph = read_embeddings(z), read_graph(graph_or_labels)
    if x.shape[0] != graph.num_nodes:
        raise ValueError(f"z has {x.shape[0]} rows, but there are {graph.num_nodes} labels; give one row per node, in order")
    assert graph.y is not None  # read_graph has seen to it
    names = graph.class_names
    # Before splits are drawn: the message names the class that is too small.
    read = read_classes(graph.y, learnt=probe.uses_splits, names=names) if tests else None
    chosen, how = choose_splits(graph, splits, **drawn) if probe.uses_splits else Drawn((), "")
    if read is None:
        hidden = hide_test_labels(graph, chosen).y
        assert hidden is not None
        read = read_classes(hidden, learnt=False, names=names)
    y, classes = read
    if probe.uses_splits:
        tasks = read_tasks(x, y, classes, chosen, validates=probe.validates, tests=tests, names=names)
    else:
        nothing = torch.zeros(0, dtype=torch.int64)
        tasks = [Task(x, y, len(classes), nothing, nothing, nothing, "all nodes")]
    called = [str(label) if names is None else names[label] for label in classes.tolist()]
    return _scores(probe, tasks, how, seed, choose_device(str(device)), called)


def _scores(
    probe: Probe, tasks: Sequence[Task], splits: str, seed: int, device: torch.device, classes: Sequence[str] = ()
) -> Scores:
    """Runs a protocol on each task, as often as it repeats."""
    runs = [(index, task, repeat) for index, task in enumerate(tasks) for repeat in range(probe.runs)]
    scores = [probe.run(task, _seed(seed, index, repeat), device) for index, task, repeat in runs]
    starts = f" of {_count(probe.runs, 'start')}" if probe.runs > 1 else ""
    # The mean recall of each class over the splits that test it.
    recall = {name: [score.recall[at] for score in scores if at in score.recall] for at, name in enumerate(classes)}
    return Scores(
        protocol=probe.description,
        metric=probe.metric,
        values=tuple(score.value for score in scores),
        validation=tuple(score.validation for score in scores),
        picks=tuple(score.pick for score in scores),
        names=tuple(f"{task.name}, start {repeat}" if probe.runs > 1 else task.name for _, task, repeat in runs),
        over=f"{_count(len(tasks), 'split')}{starts}" if probe.uses_splits else _count(probe.runs, "seed"),
        seed=seed,
        extra={name: tuple(score.extra[name] for score in scores) for name in scores[0].extra},
        splits=splits,
        unit=probe.unit,
        recall={name: statistics.fmean(values) for name, values in recall.items() if values},
    )


def _seed(seed: int, split: int, repeat: int) -> int:
    """A seed for one split and repeat; neighbouring ones give unrelated random numbers."""
    return int(np.random.SeedSequence([seed, split, repeat]).generate_state(1)[0])


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'s' * (number != 1)}"
