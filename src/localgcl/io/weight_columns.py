"""Edge weights in a column of a table or an array of a file -> numbers, with the name of the edge in every error."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from jaxtyping import Float
from torch import Tensor

from localgcl.graph.weights import as_weights
from localgcl.io.ids import Ids, first_empty, plain

_NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)


def column_weights(column: Any, source: Ids, target: Ids, place: str) -> Float[Tensor, " m"]:
    """The weights in a pyarrow column, numbers or text.

    Args:
        column: One weight an edge.
        source: Id of the node that each edge leaves.
        target: Id of the node that each edge enters.
        place: Where the column stands, for messages.

    Raises:
        ValueError: A weight is empty, no number, negative, NaN or infinite; the message names its edge.
    """
    array, edge = plain(column), edge_of(source, target)
    row = first_empty(array)
    if row is not None:
        raise ValueError(f"{place}: the weight of edge {edge(row)} is empty; fill it in or drop the edge")
    if pa.types.is_large_string(array.type):
        _check_texts(array, edge, place)
    elif not any(test(array.type) for test in _NUMBERS):
        raise ValueError(f"{place}: edge weights are of type {array.type!s:.80}; {_OTHERWISE}")
    return array_weights(array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), source, target, place)


def array_weights(values: Any, source: Ids, target: Ids, place: str) -> Float[Tensor, " m"]:
    """The weights in an array of numbers; arguments and errors as for `column_weights`."""
    return as_weights(values, len(source), edge_of(source, target), place)


def edge_of(source: Ids, target: Ids) -> Callable[[int], str]:
    """What messages call the edge of a row."""
    return lambda row: f"{source[row].as_py()!r:.80} -> {target[row].as_py()!r:.80}"


_OTHERWISE = "name a column of numbers with weight= (--weight), or read no weights with an empty name"


def _check_texts(texts: Any, edge: Callable[[int], str], place: str) -> None:
    """ValueError, naming the first, if texts are no numbers."""
    if not _are_numbers(texts):
        row = _first_wrong(texts)
        text = texts[row].as_py()
        raise ValueError(f"{place}: the weight of edge {edge(row)} is {text!r:.80}, not a number; mend it, {_OTHERWISE}")


def _are_numbers(texts: Any) -> bool:
    try:
        texts.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _first_wrong(texts: Any) -> int:
    """The first text that is no number, where there is one. By halves, so that the column is read twice at most."""
    low, high = 0, len(texts)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _are_numbers(texts[low:middle]) else (low, middle)
    return low
