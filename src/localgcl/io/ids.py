"""The id join: edges, features and labels that name nodes by id -> the same by node position.

Ids are integers or text. Where one part has integers and another has text, both are compared as text, so that 7 and "7"
are the same node.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from localgcl.graph.arrays import text_ids

Array = NDArray[Any]
Ids = Any  # a pyarrow array of int64 or large_string; pyarrow ships no types


class Edges(NamedTuple):
    """Ids of the two ends of each edge, and its weight."""

    place: str
    """Where the edges come from, for messages: a file or an argument."""
    source: Ids
    target: Ids
    num_nodes: int | None = None
    """Known for an adjacency matrix, whose nodes are 0..num_nodes-1."""
    weights: Any = None
    """Weight of each edge, checked; None where edges have none."""


class Rows(NamedTuple):
    """Features or labels: one row per node."""

    place: str
    """Where the rows come from, for messages: a file or an argument."""
    ids: Ids | None
    """Node id of each row; None where row i is node i."""
    values: Any
    names: tuple[str, ...] | None = None
    """Name of each feature column, or of each class of labels; None where they have no names."""
    encoding: Any = None
    """The `Encoding` that made the features; None where they were numbers."""


class Nodes(NamedTuple):
    """The nodes of a graph in order."""

    ids: Ids
    place: str
    """Where the rows are that define the nodes, for messages."""
    numbered: bool = True
    """Whether the rows have no ids, so that row i is node i."""

    @classmethod
    def of_rows(cls, rows: Rows) -> "Nodes":
        """One node per row."""
        numbered = rows.ids is None
        return cls(_numbers(np.shape(rows.values)[0]) if numbered else rows.ids, rows.place, numbered)

    def positions(self, ids: Ids, place: str, mention: str) -> Array:
        """Position of the node of each id. O(n).

        Args:
            ids: The ids to look up.
            place: Where they stand, for messages.
            mention: What the user may drop if a node is missing: "edges" or "label".

        Raises:
            ValueError: An id is no node; the message names the first and counts the others.
        """
        wanted, known = same_type([ids, self.ids])
        found = pc.index_in(wanted, value_set=known)
        if found.null_count:
            missing = wanted.filter(found.is_null()).unique()
            numbered = len(known) if self.numbered else None
            raise unknown_node(place, missing[0].as_py(), len(missing), self.place, numbered, mention)
        return np.asarray(found.to_numpy(), dtype=np.int64)


def unknown_node(place: str, first: Any, count: int, nodes: str, numbered: int | None, mention: str) -> ValueError:
    """The error about `count` ids at `place` that are no rows of `nodes`, which are `numbered` without ids unless None."""
    more = f" (and {count - 1} more)" if count > 1 else ""
    rows = "" if numbered is None else f", whose {numbered} rows are the nodes 0 to {numbered - 1}"
    return ValueError(f"{place} {first!r:.80}{more} has no row in {nodes}{rows}; add its row or drop its {mention}")


class Joined(NamedTuple):
    """Edges and labels by node position. Features need no joining: their rows are the nodes."""

    source: Array
    target: Array
    node_ids: Array
    y: Array | None


def join(edges: Edges, features: Rows | None = None, labels: Rows | None = None) -> Joined:
    """The edges and labels by node position. O(|V| + |E|).

    The nodes are the rows of `features`. Without features they are 0..n-1 where an adjacency matrix or labels without ids
    give n, and otherwise all ids in `edges` and `labels`, sorted.
    """
    nodes = _nodes(edges, features, labels)
    source, target = (nodes.positions(ends, f"{edges.place}: node", "edges") for ends in (edges.source, edges.target))
    y = None if labels is None else labels_by_node(labels, nodes)
    return Joined(source, target, ids_to_numpy(nodes.ids), y)


def labels_by_node(labels: Rows, nodes: Nodes) -> Array:
    """The class number of each node, in node order; -1 for nodes that `labels` does not name."""
    num_nodes, num_labels = len(nodes.ids), len(labels.values)
    if labels.ids is not None:
        y = np.full(num_nodes, -1, dtype=np.int64)
        y[nodes.positions(labels.ids, f"{labels.place}: labelled node", "label")] = labels.values
        return y
    check_labels(labels.place, num_labels, num_nodes)
    return np.asarray(labels.values)


def check_labels(place: str, num_labels: int, num_nodes: int) -> None:
    """Raises ValueError unless there is a label for each node."""
    if num_labels != num_nodes:
        raise ValueError(f"{place} has {num_labels} labels for {num_nodes} nodes; give one per node, -1 where unknown")


def as_ids(column: Any, place: str, *, parse: bool = False) -> Ids:
    """The node ids in a column: int64 for integers and whole floats, text for all else.

    Args:
        column: A pyarrow or numpy column.
        place: Where it stands, for messages.
        parse: Read text as integers if every cell is written like one, as in a CSV file. "007", "1e3" and numbers beyond 64
            bits stay text, so that no id changes.

    Raises:
        ValueError: A cell is empty or a fraction, or the column is of a type that holds no ids.
    """
    array = plain(column)
    if pa.types.is_boolean(array.type) or pa.types.is_nested(array.type):
        raise ValueError(f"{place}: node ids are of type {array.type}; use integers or text")
    if pa.types.is_floating(array.type) or pa.types.is_decimal(array.type):
        array = _whole(array, place)
    try:
        array = array.cast(pa.int64() if pa.types.is_integer(array.type) else pa.large_string())
    except pa.ArrowNotImplementedError:
        raise ValueError(f"{place}: node ids are of type {array.type}; use integers or text") from None
    except pa.ArrowInvalid:  # an unsigned integer beyond 63 bits, or bytes
        if not pa.types.is_integer(array.type):
            raise ValueError(f"{place}: node ids are bytes that are no UTF-8 text; use integers or text") from None
        array = array.cast(pa.large_string())
    _check_text(array, place)
    row = first_empty(array)
    if row is not None:
        raise ValueError(f"{place}: the node id in data row {row + 1} is empty; fill it in or drop the row")
    return _as_integers(array) if parse else array


def _check_text(ids: Ids, place: str) -> None:
    """Raises ValueError if an id ends in a NUL character, which numpy would drop."""
    ends = pc.ends_with(ids, "\0") if pa.types.is_large_string(ids.type) else None
    if ends is not None and pc.any(ends).as_py():
        raise ValueError(f"{place}: node id {ids.filter(ends)[0].as_py()!r:.80} ends in a NUL character; use another id")


def repeated(ids: Ids) -> tuple[Any, int] | None:
    """The first id that occurs more than once, and how often; None if there is none."""
    if len(ids.unique()) == len(ids):
        return None
    counts = ids.value_counts()
    first = counts.filter(pc.greater(counts.field("counts"), 1))[0].as_py()
    return first["values"], first["counts"]


def first_empty(array: Any) -> int | None:
    """The first row of a pyarrow array that is null or the empty text; None if there is none."""
    empty = pc.fill_null(pc.equal(array, ""), True) if pa.types.is_large_string(array.type) else array.is_null()
    row = int(pc.index(empty, True).as_py())
    return None if row < 0 else row


def plain(column: Any) -> Any:
    """The column as one pyarrow array, categories replaced by their values, text as large_string."""
    if isinstance(column, pa.ChunkedArray):
        # Chunk by chunk: chunks may have categories of their own, and together more text than 32-bit offsets reach.
        return pa.concat_arrays([plain(chunk) for chunk in column.chunks or [column.combine_chunks()]])
    array = pa.array(column)
    if pa.types.is_dictionary(array.type):
        array = plain(array.dictionary).take(array.indices)
    text = pa.types.is_string(array.type) or pa.types.is_string_view(array.type)
    return array.cast(pa.large_string()) if text else array


def ids_to_numpy(ids: Ids) -> Array:
    """The ids as an array of int64 or of text."""
    array: Array = ids.to_numpy(zero_copy_only=False)
    return array if array.dtype == np.int64 else text_ids(array)


def _nodes(edges: Edges, features: Rows | None, labels: Rows | None) -> Nodes:
    if features is not None:
        return Nodes.of_rows(features)
    if edges.num_nodes is not None:
        return Nodes(_numbers(edges.num_nodes), edges.place)
    if labels is not None and labels.ids is None:
        return Nodes.of_rows(labels)
    mentioned = [edges.source, edges.target] if labels is None else [edges.source, edges.target, labels.ids]
    every = pa.chunked_array(same_type(mentioned)).unique()
    return Nodes(every.take(pc.sort_indices(every)), edges.place, numbered=False)


def _numbers(count: int) -> Ids:
    return pa.array(np.arange(count))


def same_type(columns: Sequence[Ids]) -> list[Ids]:
    """The columns as integers if all of them are, else all as text."""
    if all(pa.types.is_int64(column.type) for column in columns):
        return list(columns)
    return [column.cast(pa.large_string()) for column in columns]


def _as_integers(ids: Ids) -> Ids:
    """Text as integers if each reads the same when it is written again; otherwise the ids as they are."""
    if pa.types.is_int64(ids.type):
        return ids
    try:
        numbers = ids.cast(pa.int64())
    except pa.ArrowInvalid:
        return ids
    return numbers if numbers.cast(pa.large_string()).equals(ids) else ids


def _whole(numbers: Any, place: str) -> Any:
    """Floats and decimals as int64: pandas, spreadsheets and databases write integers so."""
    try:
        return numbers.cast(pa.int64())
    except pa.ArrowInvalid:
        given = numbers.cast(pa.float64()).drop_null().to_pylist()
        wrong = next((value for value in given if not (abs(value) < 2**63 and value.is_integer())), given[0])
        raise ValueError(f"{place}: node id {wrong!r:.80} is no integer; use integers or text") from None
