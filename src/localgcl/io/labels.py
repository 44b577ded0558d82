"""The one reader of labels: whatever holds them, they become class numbers."""

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localgcl.io.arrays import to_array

Array = NDArray[Any]


def class_numbers(
    values: Any, place: str, node: Callable[[int], Any] = int, *, nan_is_unknown: bool = False
) -> NDArray[np.int64]:
    """Labels as int64 class numbers, -1 where unknown.

    A label is an integer of at least -1: written as one, as a whole float (`2.0`) or as text (`"2"`).

    Args:
        values: One label per node, shape (n,) or (n, 1): an array, a tensor or a list.
        place: Where the labels come from, for messages: a file or an argument.
        node: What messages call the node of a row; its position when not given.
        nan_is_unknown: Read NaN as -1, as arrays of data sets write unknown classes; otherwise NaN is refused.

    Raises:
        ValueError: A label is not a class number; the message names its node and the label.
    """
    labels = to_array(values, f"{place}: labels")
    if labels.size == 0 or labels.ndim == 0 or labels.size != max(labels.shape):
        raise ValueError(f"{place}: labels have shape {labels.shape}; labels need shape (n,), one class number per node")
    labels = labels.ravel()
    if labels.dtype.kind == "f" and nan_is_unknown:
        labels = np.where(np.isnan(labels), -1, labels)
    if labels.dtype.kind in "biuf":
        numbers, valid = _from_numbers(labels)
    else:
        numbers, valid = _from_texts(labels.astype(str))
    if not valid.all():
        row = int(np.argmin(valid))
        raise ValueError(
            f"{place}: the label of node {node(row)!r:.80} is {labels[row : row + 1].tolist()[0]!r:.80}, not a class number; "
            "number the classes 0, 1, 2... (-1: unknown)"
        )
    return numbers


def _from_numbers(labels: Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The class numbers, and which of them are valid."""
    kind = labels.dtype.kind
    labels = labels if kind in "iu" else labels.astype(np.float64)
    valid = (labels >= -1) & (labels < 2**63) & (np.floor(labels) == labels if kind == "f" else True)
    numbers = np.full(len(labels), -1, dtype=np.int64)
    numbers[valid] = labels[valid]
    return numbers, valid


def _from_texts(labels: Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The class numbers, and which of them are valid; each distinct text is parsed once."""
    texts, where = np.unique(labels, return_inverse=True)
    parsed = np.full(len(texts), np.nan)
    for i, text in enumerate(texts.tolist()):
        with contextlib.suppress(ValueError):
            parsed[i] = float(text)
    numbers, valid = _from_numbers(parsed)
    return numbers[where], valid[where]
