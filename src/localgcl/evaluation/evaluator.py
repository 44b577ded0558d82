"""evaluate and validate: embeddings and labels in, scores out."""

import dataclasses
import typing
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from localgcl.config import check, suggestion
from localgcl.datasets import hide_test_labels, random_splits
from localgcl.evaluation.inputs import read_classes, read_embeddings, read_graph, read_tasks
from localgcl.evaluation.presets import PRESETS
from localgcl.evaluation.scores import Scores
from localgcl.evaluation.task import Matrix, Probe, SplitScore, Task
from localgcl.graph import Graph, Split
from localgcl.system.devices import choose_device


def evaluate(
    z: Any,
    graph_or_labels: Any,
    splits: Sequence[Split] | None = None,
    *,
    protocol: str = "linear",
    seed: int = 0,
    device: str | torch.device = "cpu",
    **settings: Any,
) -> Scores:
    """Scores embeddings against the classes of nodes.

    Nodes of unknown label (-1) are left out of every split. Class numbers may have gaps. The same input, seed and number
    of threads give the same scores.

    Args:
        z: One row per node: numpy array, tensor, data frame, or sparse (scipy or torch), which is never made dense.
        graph_or_labels: A graph with labels, or one integer per node.
        splits: Which nodes to learn, validate and test on. When not given: the graph's own splits, or, where it has
            none, 20 random ones of 10/10/80 percent, the same at every call.
        protocol: A name of `PRESETS`: "linear" (default), "sklearn", "knn", "kmeans", or a published evaluator.
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
    probe = _probe(protocol, settings)
    x, graph = _read(z, graph_or_labels)
    assert graph.y is not None  # read_graph has seen to it
    y, classes = read_classes(graph.y, learnt=probe.uses_splits, names=graph.class_names)
    if probe.uses_splits:
        tasks = read_tasks(x, y, classes, _splits(graph, splits), validates=probe.validates, names=graph.class_names)
        over = _over(probe, tasks)
    elif splits is not None:
        raise ValueError(f"protocol {protocol!r} clusters all nodes at once; leave splits out")
    else:
        nothing = torch.zeros(0, dtype=torch.int64)
        tasks, over = [Task(x, y, len(classes), nothing, nothing, nothing, "all nodes")], _count(probe.runs, "seed")
    return _scores(probe, tasks, over, seed, choose_device(str(device)))


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
    x, graph = _read(z, graph_or_labels)
    splits = _splits(graph, splits)
    known = hide_test_labels(graph, splits).y
    assert known is not None  # read_graph has seen to it
    y, classes = read_classes(known, learnt=False, names=graph.class_names)
    tasks = read_tasks(x, y, classes, splits, validates=True, tests=False, names=graph.class_names)
    scores = _scores(probe, tasks, _over(probe, tasks), seed, choose_device(str(device)))
    return dataclasses.replace(scores, metric=f"validation {scores.metric}")


def validating_probe(protocol: str, settings: Mapping[str, Any]) -> Probe:
    """The protocol with some fields changed, if it picks on validation nodes; ValueError if it does not."""
    probe = _probe(protocol, settings)
    if not (probe.uses_splits and probe.validates):
        choices = ", ".join(name for name, preset in PRESETS.items() if preset.uses_splits and preset.validates)
        raise ValueError(
            f"protocol {protocol!r} picks nothing on validation nodes, so it cannot validate; choose one of {choices}"
        )
    return probe


def _read(z: Any, graph_or_labels: Any) -> tuple[Matrix, Graph]:
    """Embeddings and a labelled graph; ValueError if their numbers of nodes differ."""
    x, graph = read_embeddings(z), read_graph(graph_or_labels)
    if x.shape[0] != graph.num_nodes:
        raise ValueError(f"z has {x.shape[0]} rows, but there are {graph.num_nodes} labels; give one row per node, in order")
    return x, graph


def _scores(probe: Probe, tasks: list[Task], over: str, seed: int, device: torch.device) -> Scores:
    scores: list[SplitScore] = []
    names: list[str] = []
    for index, task in enumerate(tasks):
        for repeat in range(probe.runs):
            scores.append(probe.run(task, _seed(seed, index, repeat), device))
            names.append(f"{task.name}, start {repeat}" if probe.runs > 1 else task.name)
    return Scores(
        protocol=probe.description,
        metric=probe.metric,
        values=tuple(score.value for score in scores),
        validation=tuple(score.validation for score in scores),
        picks=tuple(score.pick for score in scores),
        names=tuple(names),
        over=over,
        seed=seed,
        extra={name: tuple(score.extra[name] for score in scores) for name in scores[0].extra},
    )


def _probe(protocol: str, settings: Mapping[str, Any]) -> Probe:
    """The named preset with some fields changed."""
    if protocol not in PRESETS:
        raise ValueError(f"unknown protocol {protocol!r}{suggestion(protocol, PRESETS)}")
    preset: Any = PRESETS[protocol]
    known = {field.name: field for field in dataclasses.fields(preset)}
    changed = {}
    for name, value in settings.items():
        if name not in known:
            raise ValueError(f"protocol {protocol!r} has no setting {name!r}{suggestion(name, known)}")
        if typing.get_origin(known[name].type) is tuple:
            changed[name] = _grid(name, value, typing.get_args(known[name].type)[0])
        else:
            check(known[name], value)
            changed[name] = value
    return typing.cast(Probe, dataclasses.replace(preset, **changed))


def _grid(name: str, value: Any, kind: type) -> tuple[Any, ...]:
    """One value, or any sequence of them, as a tuple of numbers."""
    parts = np.atleast_1d(np.asarray(value)).ravel().tolist()
    if not all(isinstance(part, int | kind) and not isinstance(part, bool) for part in parts):
        raise ValueError(f"{name} is {value!r}; give one or more numbers of type {kind.__name__}")
    return tuple(kind(part) for part in parts)


def _splits(graph: Graph, splits: Sequence[Split] | None) -> Sequence[Split]:
    if splits is not None:
        return splits
    # The same 20 whatever the seed, so that methods and runs are compared on the same nodes.
    return graph.splits or random_splits(graph, num=20)


def _seed(seed: int, split: int, repeat: int) -> int:
    """A seed for one split and repeat; neighbouring ones give unrelated random numbers."""
    return int(np.random.SeedSequence([seed, split, repeat]).generate_state(1)[0])


def _over(probe: Probe, tasks: list[Task]) -> str:
    return _count(len(tasks), "split") + (f" of {_count(probe.runs, 'start')}" if probe.runs > 1 else "")


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'s' * (number != 1)}"
