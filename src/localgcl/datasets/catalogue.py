"""The data sets that come with the library, as plain data. Imports nothing heavy, so that listing them is instant."""

import dataclasses
from collections.abc import Collection

from localgcl.config import suggestion


@dataclasses.dataclass(frozen=True)
class Entry:
    """One data set, counted as `load` returns it: directed edges, with self-loops where the publisher keeps them.

    Args:
        name: The name that `load` takes.
        kind: What its edges are.
        nodes: Number of nodes.
        edges: Number of stored (directed) edges.
        features: Number of feature columns.
        classes: Number of classes.
        homophily: Edge homophily as the paper prints it; None where the paper does not use the graph.
        splits: "public", "geom-gcn", "heterophilous" or "ogb" where splits come with the graph; "random" where you draw
            them yourself (`random_splits`).
    """

    name: str
    kind: str
    nodes: int
    edges: int
    features: int
    classes: int
    homophily: float | None
    splits: str


# Counts are measured on the loaded graphs. The paper prints other numbers for some. Its edges of Computers (574,418), Photo
# (287,326), CS (327,576) and Physics (991,848) count parallel edges of an older data release. It also prints 33,544 edges
# and 931 features for Actor, 8,451 features for Physics, and 2,332,386 edges for arXiv (symmetrised).
CATALOGUE: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry("cora", "citations", 2_708, 10_556, 1_433, 7, 0.810, "public"),
        Entry("citeseer", "citations", 3_327, 9_104, 3_703, 6, 0.736, "public"),
        Entry("pubmed", "citations", 19_717, 88_648, 500, 3, 0.802, "public"),
        Entry("computers", "co-purchases", 13_752, 491_722, 767, 10, 0.777, "random"),
        Entry("photo", "co-purchases", 7_650, 238_162, 745, 8, 0.827, "random"),
        Entry("cs", "co-authors", 18_333, 163_788, 6_805, 15, 0.808, "random"),
        Entry("physics", "co-authors", 34_493, 495_924, 8_415, 5, 0.931, "random"),
        Entry("chameleon", "Wikipedia links", 2_277, 36_101, 2_325, 5, 0.235, "geom-gcn"),
        Entry("squirrel", "Wikipedia links", 5_201, 217_073, 2_089, 5, 0.224, "geom-gcn"),
        Entry("actor", "co-occurrence", 7_600, 30_019, 932, 5, 0.219, "geom-gcn"),
        Entry("chameleon-filtered", "Wikipedia links", 890, 17_708, 2_325, 5, None, "heterophilous"),
        Entry("squirrel-filtered", "Wikipedia links", 2_223, 93_996, 2_089, 5, None, "heterophilous"),
        Entry("arxiv", "citations", 169_343, 1_166_243, 128, 40, 0.655, "ogb"),
        Entry("arxiv-structure", "citations", 169_343, 1_166_243, 128, 40, None, "ogb"),
        Entry("digits", "nearest images", 1_797, 17_454, 64, 10, None, "random"),
    )
}

ALIASES: dict[str, str] = {
    "amazon-computers": "computers",
    "amazon-photo": "photo",
    "coauthor-cs": "cs",
    "coauthor-physics": "physics",
    "film": "actor",
    "ogbn-arxiv": "arxiv",
}


def names() -> tuple[str, ...]:
    """The names in the catalogue, in the paper's order.

    Example:
        >>> names()[:3]
        ('cora', 'citeseer', 'pubmed')
    """
    return tuple(CATALOGUE)


def resolve(name: str, known: Collection[str]) -> str:
    """Finds `name` among the `known` names: as it is, in another case, with underscores for dashes, or as an alias.

    Example:
        >>> resolve("Amazon_Photo", names())
        'photo'
    """
    plain = name.strip().lower().replace("_", "-")
    for spelling in (name, plain, ALIASES.get(plain, plain)):
        if spelling in known:
            return spelling
    # Aliases are suggested when they are close; listed among all names they would only lengthen the list.
    near = suggestion(plain, (*known, *ALIASES))
    raise ValueError(f"unknown dataset {name!r}{near if 'did you mean' in near else suggestion(plain, tuple(known))}")
