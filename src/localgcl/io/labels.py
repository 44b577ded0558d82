"""Labels from any source -> class numbers, and class names where the labels are text."""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from localgcl.io.tables import to_array

Array = NDArray[Any]


class Labels(NamedTuple):
    """The class of each node."""

    numbers: NDArray[np.int64]
    """Class numbers, -1 where unknown."""
    names: tuple[str, ...] | None
    """Names of the classes 0, 1, 2...; None where the labels are numbers."""


def read_labels(values: Any, place: str, node: Callable[[int], Any] = int, names: Sequence[str] | None = None) -> Labels:
    """Labels as int64 class numbers, -1 where unknown.

    A label is an integer of at least -1, written as one, as a whole float (`2.0`) or as text (`"2"`); or it is the name of a
    class: any other text, True or False. Classes with names are numbered in the order of their sorted names. None, NaN and
    empty text are unknown, as is -1.

    Args:
        values: One label per node, shape (n,) or (n, 1): an array, a tensor or a list.
        place: Where the labels come from, for messages: a file or an argument.
        node: What messages call the node of a row; its position when not given.
        names: Names of all classes where these labels are only some of those there are; empty if all are numbers.

    Raises:
        ValueError: A label is a number that is no class number, or numbers and names are mixed; the message names its node.

    Example:
        >>> read_labels(["cat", "", "ant"], "y")
        Labels(numbers=array([ 1, -1,  0]), names=('ant', 'cat'))
    """
    labels = to_array(values, f"{place}: labels")
    if labels.size == 0 or labels.ndim == 0 or labels.size != max(labels.shape):
        raise ValueError(f"{place}: labels have shape {labels.shape}; labels need shape (n,), one class number per node")
    labels = labels.ravel()
    if labels.dtype.kind in "iuf":
        numbers, valid = _from_numbers(labels)
        found: Sequence[str] = ()
    else:
        texts, where = np.unique(label_texts(labels), return_inverse=True)
        found = class_names(texts.tolist()) if names is None else names
        numbers, valid = _from_texts(texts.tolist(), found)
        numbers, valid = numbers[where], valid[where]
    if not valid.all():
        row = int(np.argmin(valid))
        raise ValueError(
            f"{place}: the label of node {node(row)!r:.80} is {labels[row : row + 1].tolist()[0]!r:.80}, not a class number; "
            "number the classes 0, 1, 2... (-1: unknown), or name all of them in words (numbers to predict can only be "
            "evaluated: localgcl evaluate RUN --labels FILE)"
        )
    return Labels(numbers, tuple(found) or None)


def class_names(texts: Iterable[str]) -> tuple[str, ...]:
    """The sorted class names among distinct labels; empty if a label is a number.

    Example:
        >>> class_names(["cat", "-1", "", "ant"]), class_names(["1", "cat"])
        (('ant', 'cat'), ())
    """
    known = [text for text in texts if not _is_unknown(text)]
    return () if any(_number(text) is not None for text in known) else tuple(sorted(known))


def label_texts(labels: Array) -> Array:
    """Labels of any type as text without white space around it; empty where they are missing."""
    given = (labels.astype(str) if labels.dtype.kind == "S" else labels).tolist()
    # Objects: one long text among numpy's own would make all of them as long.
    return np.array(["" if value is None or value != value else str(value).strip() for value in given], dtype=object)


def _is_unknown(text: str) -> bool:
    return text == "" or _number(text) == -1


def _number(text: str) -> float | None:
    """A text as a number; -1 (unknown) for 'nan', None for other text."""
    with contextlib.suppress(ValueError):
        value = float(text)
        return -1 if np.isnan(value) else value
    return None


def _from_numbers(labels: Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The class numbers, and which of them are valid."""
    if labels.dtype.kind == "f":
        labels = np.where(np.isnan(labels), -1, labels).astype(np.float64)
    valid = (labels >= -1) & (labels < 2**63) & (np.floor(labels) == labels if labels.dtype.kind == "f" else True)
    numbers = np.full(len(labels), -1, dtype=np.int64)
    numbers[valid] = labels[valid]
    return numbers, valid


def _from_texts(texts: Sequence[str], names: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The class numbers of distinct texts, and which of them are valid."""
    if not names:
        parsed = np.array([-1 if text == "" else _number(text) for text in texts], dtype=object)
        is_number = np.array([value is not None for value in parsed.tolist()], dtype=bool)
        numbers, valid = _from_numbers(np.where(is_number, parsed, -1).astype(np.float64))
        return numbers, valid & is_number
    place = {name: number for number, name in enumerate(names)}
    found = [-1 if _is_unknown(text) else place.get(text) for text in texts]
    valid = np.array([number is not None for number in found], dtype=bool)
    return np.array([-1 if number is None else number for number in found], dtype=np.int64), valid
