"""Reads what can be read of a user's files; what cannot becomes a line."""

import dataclasses
import functools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from localgcl.config import LocalGCLWarning
from localgcl.datasets.source import Source
from localgcl.graph import Graph
from localgcl.io.encode import AUTO
from localgcl.io.files import ColumnFacts, describe_columns, graph_name, joined_graph, read_classes, read_edges, read_features
from localgcl.io.ids import Edges, Rows
from localgcl.io.roles import Columns
from localgcl.system.memory import OutOfMemory
from localgcl.system.text import shown
from localgcl.training.preflight import check_files

Part = TypeVar("Part")


@dataclasses.dataclass
class Reading:
    """What was read, and what went wrong.

    Args:
        graph: None if there is no graph to read.
        columns: Those of the feature file.
        problems: What stops `localgcl train`, and the way out, one line each.
        notes: What it would warn of.
        encoded: Whether features were encoded though nobody asked for it, because they cannot be read otherwise.
        structural: Whether the graph has structural features, computed from its edges.
    """

    graph: Graph | None = None
    columns: list[ColumnFacts] = dataclasses.field(default_factory=list)
    problems: list[str] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)
    encoded: bool = False
    structural: bool = False

    def attempt(self, read: Callable[[], Part]) -> Part | None:
        """What `read` returns; None if it fails, and then there is one more problem."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", LocalGCLWarning)
            try:
                return read()
            except (ValueError, OSError, OutOfMemory) as error:
                told = " ".join(str(error).split())
                if told not in self.problems:
                    self.problems.append(told)
                return None
            finally:
                told_notes = [str(note.message) for note in caught if issubclass(note.category, LocalGCLWarning)]
                self.notes += [note for note in told_notes if note not in self.notes]


def read(source: Source) -> Reading:
    """The graph of a source, or of those of its files that fit each other."""
    found = Reading()
    if source.edges is None:
        found.graph = found.attempt(source.read)
        return found
    path = source.edges
    if found.attempt(lambda: check_files(path, source.features)) is None and found.problems:
        return found  # too large to be read here
    columns = source.columns
    edges = found.attempt(lambda: read_edges(Path(path), source.weight, columns))
    rows = None if source.features is None else _features(found, Path(source.features), columns)
    labels = source.labels
    classes = None if labels is None else found.attempt(lambda: read_classes(Path(labels), columns))
    if edges is not None:
        found.graph = _joined(found, edges, rows, classes, graph_name(path))
    if source.features is not None and found.graph is not None and found.structural:
        found.notes[:] = [note for note in found.notes if "no features given" not in note]
        found.notes.append(f"{shown(source.features)} could not be used: all else is said for structural features")
    return found


def _features(found: Reading, path: Path, columns: Columns) -> Rows | None:
    """Features as asked for, else encoded, without the columns that cannot be."""
    found.columns = found.attempt(lambda: describe_columns(path, columns)) or []
    rows = found.attempt(lambda: read_features(path, columns))
    usable = [column.name for column in found.columns if not (column.refused or column.dropped)]
    if rows is not None or not usable:
        return rows
    dropped, refused = ([column.name for column in found.columns if getattr(column, why)] for why in ("dropped", "refused"))
    found.encoded = True
    if set(refused) - set(dropped):  # the way out of one problem must not end in the next
        found.attempt(lambda: read_features(path, columns._replace(encode=AUTO)))
    otherwise = columns._replace(encode=AUTO, drop=(*dropped, *refused))
    return found.attempt(lambda: read_features(path, otherwise))


def _joined(found: Reading, edges: Edges, rows: Rows | None, classes: Rows | None, name: str) -> Graph | None:
    """The graph of all parts; where they do not fit each other, of fewer."""
    attempts = dict.fromkeys([(rows is not None, classes is not None), (rows is not None, False), (False, False)])
    for features, labels in attempts:
        given = rows if features else None, classes if labels else None
        graph = found.attempt(functools.partial(joined_graph, edges, *given, name))
        if graph is not None:
            found.structural = not features
            return graph
    return None
