"""The nodes most similar to some nodes, by the ids of the user's files."""

import dataclasses
import difflib
from collections.abc import Mapping, Sequence

from localgcl.evaluation.nearest_rows import nearest
from localgcl.report.reading import Subject
from localgcl.system.text import listed

_COMPARED = 200_000
"""Ids that an unknown one is compared with, at most: more would take seconds."""


@dataclasses.dataclass(frozen=True)
class SimilarNode:
    """A node that is similar to another one.

    Args:
        id: Its id.
        similarity: Cosine of the two embeddings.
        label: Its class; None where it has none.
        neighbour: Whether an edge joins the two.
    """

    id: str
    similarity: float
    label: str | None
    neighbour: bool


def similar_nodes(subject: Subject, ids: Sequence[str], k: int = 10) -> Mapping[str, list[SimilarNode]]:
    """The k nodes most similar to each of some nodes, best first, by the id of the node that was asked for.

    Raises:
        ValueError: There is no node of such an id; the message names close ones.
    """
    graph, csr = subject.graph, subject.edges
    places = places_of(subject, ids)
    found = nearest(subject.z, min(k, graph.num_nodes - 1), queries=places)
    names = graph.class_names
    similar: dict[str, list[SimilarNode]] = {}
    for asked, place, rows, cosines in zip(ids, places, found.rows.tolist(), found.similarity.tolist(), strict=True):
        joined = set(csr.indices[csr.indptr[place] : csr.indptr[place + 1]].tolist())
        label = {row: -1 if graph.y is None else int(graph.y[row]) for row in rows}
        similar[asked] = [
            SimilarNode(
                str(graph.node_ids[row]),
                cosine,
                None if label[row] < 0 else str(label[row]) if names is None else names[label[row]],
                row in joined,
            )
            for row, cosine in zip(rows, cosines, strict=True)
        ]
    return similar


def places_of(subject: Subject, ids: Sequence[str]) -> list[int]:
    """Positions of nodes by their ids; ValueError names close ones of one that is unknown."""
    texts = [str(name) for name in subject.graph.node_ids.tolist()]
    place = {name: position for position, name in enumerate(texts)}
    for name in ids:
        if name not in place:
            close = _close(name, texts)
            meant = f"; did you mean {', '.join(repr(one) for one in close)}?" if close else f"; it has {listed(texts[:6])}..."
            raise ValueError(f"the graph has no node {name!r:.100}{meant}")
    return [place[name] for name in ids]


def _close(name: str, texts: Sequence[str]) -> list[str]:
    """Ids that differ in upper case or spaces only, else those that begin with it, else those that are spelt alike."""
    folded = name.strip().casefold()
    same = [text for text in texts if text.strip().casefold() == folded]
    same = same or [text for text in texts if text.casefold().startswith(folded or " ")]
    if same:
        return same[:3]
    every = -(-len(texts) // _COMPARED)
    starting = [text for text in texts if text.casefold().startswith(folded[:3])]
    return difflib.get_close_matches(name, starting[:_COMPARED] or texts[::every], n=3, cutoff=0.6)
