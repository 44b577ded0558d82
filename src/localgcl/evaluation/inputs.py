"""Reads and checks once what users pass in: embeddings, labels, targets, splits. Errors about input are raised here."""

import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Bool, Int
from numpy.typing import NDArray
from torch import Tensor

from localgcl.config import LocalGCLWarning
from localgcl.evaluation.scores import Array
from localgcl.evaluation.task import Matrix, Task
from localgcl.graph import Graph, Split
from localgcl.graph.arrays import as_array, check_unmasked
from localgcl.graph.checks import check_splits
from localgcl.graph.csr import as_features, features_to_scipy

TargetKind = Literal["multi-label", "regression"]
Known = NDArray[np.bool_]


def read_embeddings(z: Any) -> Matrix:
    """A dense float32 tensor or a scipy CSR array of finite values."""
    matrix = _matrix(z)
    if len(matrix.shape) != 2 or 0 in matrix.shape:
        raise ValueError(f"z has shape {tuple(matrix.shape)}; give a matrix with one row per node and at least one column")
    if isinstance(matrix, Tensor):
        wrong = (~torch.isfinite(matrix)).any(1).nonzero().flatten().tolist()
    else:
        place = np.flatnonzero(~np.isfinite(matrix.data))
        wrong = np.unique(np.searchsorted(matrix.indptr, place, side="right") - 1).tolist()
    if wrong:
        raise ValueError(f"z has NaN or infinite values in {len(wrong)} rows (first: row {wrong[0]}); train again or drop them")
    return matrix


def _matrix(z: Any) -> Matrix:
    if sp.issparse(z):
        return features_to_scipy(as_features(z))
    if isinstance(z, Tensor):
        features = as_features(z.detach()) if z.ndim == 2 else z.detach()
        return features_to_scipy(features) if features.layout == torch.sparse_csr else features
    check_unmasked(z, "embeddings")
    try:
        return torch.from_numpy(np.array(z, dtype=np.float32))
    except (TypeError, ValueError) as error:
        raise ValueError(f"z is a {type(z).__name__} that is not a matrix of numbers; pass an array or a tensor") from error


def read_graph(graph_or_labels: Any) -> Graph:
    """The graph; labels alone become a graph without edges, so that the same checks and splits serve both."""
    if isinstance(graph_or_labels, Graph):
        graph = graph_or_labels.to("cpu")
    elif graph_or_labels is None:
        raise ValueError("no labels given; pass a graph that has y, or an array of integers")
    else:
        labels = graph_or_labels.cpu().numpy() if isinstance(graph_or_labels, Tensor) else as_array(graph_or_labels, "labels")
        if labels.ndim != 1:
            raise ValueError(f"labels have shape {labels.shape}; give one integer per node")
        graph = Graph.from_edges([], [], x=torch.zeros(len(labels), 1), y=labels, name="labels")
    if graph.y is None or int(graph.y.max()) < 0:
        raise ValueError(f"graph {graph.name!r} has no labels to evaluate against; give it y, or pass labels as an array")
    return graph


def read_classes(
    y: Int[Tensor, " n"], *, learnt: bool, names: Sequence[str] | None = None
) -> tuple[Int[Tensor, " n"], Int[Tensor, " c"]]:
    """Labels renumbered 0..c-1 without gaps (-1 stays), and the original class of each number; `names` are for messages."""
    known = y >= 0
    classes, numbered, counts = y[known].unique(return_inverse=True, return_counts=True)
    if len(classes) < 2:
        raise ValueError(f"all labels are {_class(int(classes[0]), names)}; give at least two classes")
    single = classes[counts == 1].tolist()
    if learnt and single:
        raise ValueError(
            f"{_class(single[0], names)} has one node: it cannot be both learnt and tested; drop it with label -1 or merge it"
        )
    compact = torch.full_like(y, -1)
    compact[known] = numbered
    return compact, classes


def _class(number: int, names: Sequence[str] | None) -> str:
    """What messages call a class."""
    return f"class {number}" if names is None else f"class {names[number]!r:.80}"


def read_target_values(targets: Any) -> Array:
    """Targets as a float64 matrix; ValueError if they are none."""
    try:
        y = np.asarray(targets.detach().cpu() if isinstance(targets, Tensor) else targets, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"targets are a {type(targets).__name__} that holds no numbers; give one row of them per node"
        ) from error
    if y.ndim not in (1, 2) or 0 in y.shape:
        raise ValueError(f"targets have shape {y.shape}; give shape (n,) or (n, targets), a row per node")
    if np.isinf(y).any():
        raise ValueError(
            f"targets of row {int(np.argwhere(np.isinf(y))[0, 0])} are infinite; set them to NaN if they are unknown"
        )
    return y.reshape(len(y), -1)


def are_targets(values: Any) -> bool:
    """Whether labels are no classes: several columns of numbers, or numbers that are not whole."""
    try:
        y = read_target_values(values)
    except ValueError:
        return False
    known = y[~np.isnan(y)]
    return y.shape[1] > 1 or bool((known != np.floor(known)).any())


def read_targets(y: Array, task: Literal["auto", "multi-label", "regression"]) -> tuple[TargetKind, Known]:
    """What kind of targets the rows of `y` are, and which nodes have all of them; ValueError if they cannot be predicted."""
    known: Known = np.asarray(~np.isnan(y).any(axis=1))
    labelled = y[known]
    several = y.shape[1] > 1 and bool(np.isin(labelled, (0, 1)).all())
    kind: TargetKind = task if task != "auto" else "multi-label" if several else "regression"
    if kind == "multi-label" and not np.isin(labelled, (0, 1)).all():
        wrong = labelled[~np.isin(labelled, (0, 1))][0]
        raise ValueError(f"multi-label targets hold {wrong:g}; give 0 and 1, and NaN where unknown")
    if not len(labelled):
        raise ValueError("no node has all targets; give numbers, and NaN only where they are unknown")
    constant = np.flatnonzero((labelled == labelled[:1]).all(axis=0))
    if len(constant) == y.shape[1] or (kind == "regression" and len(constant)):
        raise ValueError(f"target {int(constant[0])} has the same value for all {len(labelled)} labelled nodes; leave it out")
    return kind, known


def read_tasks(
    x: Matrix,
    y: Int[Tensor, " n"],
    classes: Int[Tensor, " c"],
    splits: Sequence[Split],
    *,
    validates: bool,
    tests: bool = True,
    names: Sequence[str] | None = None,
) -> list[Task]:
    """One task per split, without nodes of unknown label. Without `tests`, validation nodes take the place of test nodes."""
    tasks = labelled_tasks(x, y, y >= 0, len(classes), splits, validates=validates, tests=tests)
    missed = [(task.name, lost) for task in tasks if (lost := _untaught(task))]
    if missed:
        name, lost = missed[0]
        others = f" (and {len(missed) - 1} more splits)" if len(missed) > 1 else ""
        warnings.warn(
            f"split {name!r}{others} has no training node of {_class(int(classes[lost[0]]), names)}: "
            f"its {'test' if tests else 'validation'} nodes cannot be classified correctly",
            LocalGCLWarning,
            stacklevel=3,
        )
    return tasks


def labelled_tasks(
    x: Matrix,
    y: Tensor,
    known: Bool[Tensor, " n"],
    num_classes: int,
    splits: Sequence[Split],
    *,
    validates: bool = True,
    tests: bool = True,
) -> list[Task]:
    """One task per split of the nodes that are `known`; ValueError if some that are needed are missing."""
    if not splits:
        raise ValueError("the list of splits is empty; pass at least one, or leave it out to draw 20 at random")
    check_splits(splits, len(known))
    tasks = []
    for split in splits:
        train, val, test = (nodes[known[nodes]] for nodes in (split.train.cpu(), split.val.cpu(), split.test.cpu()))
        needed = {"training": train} | ({"test": test} if tests else {}) | ({"validation": val} if validates else {})
        for role, nodes in needed.items():
            if not len(nodes):
                raise ValueError(f"split {split.name!r} has no labelled {role} nodes; give it at least one")
        tasks.append(Task(x, y, num_classes, train, val, test if tests else val, split.name))
    return tasks


def _untaught(task: Task) -> list[int]:
    """Tested classes that have no training node."""
    return sorted(set(task.y[task.test].tolist()) - set(task.y[task.train].tolist()))
