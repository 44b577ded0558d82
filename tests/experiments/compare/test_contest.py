import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from localgcl.experiments.compare.contest import fingerprint
from localgcl.graph import Graph, Split

SPLIT = Split(torch.tensor([0]), torch.tensor([1]), torch.tensor([2]))
GRAPH = Graph.from_edges([0, 1, 2], [1, 2, 0], x=torch.eye(3), y=[0, 1, 0], splits=[SPLIT])


@pytest.mark.parametrize(
    "other",
    [
        GRAPH.with_edges(torch.tensor([0, 1, 2]), torch.tensor([1, 2, 1])),
        Graph.from_edges([0, 1, 2], [1, 2, 0], x=torch.eye(3), y=[0, 1, 0], splits=[SPLIT], weights=[1.0, 2.0, 1.0]),
        GRAPH.with_features(torch.eye(3) * 2),
        GRAPH.derived(y=torch.tensor([0, 1, 1])),
        GRAPH.derived(y=None),
        GRAPH.with_splits([]),
        GRAPH.with_splits([Split(SPLIT.val, SPLIT.train, SPLIT.test)]),
        GRAPH.with_features(sp.eye_array(3, format="csr")),
    ],
)
def test_every_part_counts(other: Graph) -> None:
    assert fingerprint(other) != fingerprint(GRAPH)


def test_names_do_not_count() -> None:
    renamed = dataclasses.replace(GRAPH, name="other", node_ids=np.array(["a", "b", "c"]), feature_names=("x", "y", "z"))
    assert fingerprint(renamed) == fingerprint(GRAPH)


def test_values_of_sparse_features_count() -> None:
    one, two = (GRAPH.with_features(sp.eye_array(3, format="csr") * value) for value in (1.0, 2.0))
    assert fingerprint(one) != fingerprint(two)
    assert fingerprint(one) == fingerprint(GRAPH.with_features(sp.eye_array(3, format="csr")))


def test_names_of_classes_and_encoded_columns_do_not_count() -> None:
    """They are text, and iterating over text once ended in a RecursionError."""
    named = dataclasses.replace(GRAPH, class_names=tuple("abcdefghij"[: GRAPH.num_classes]), encoding={"columns": ["a"]})
    assert fingerprint(named) == fingerprint(GRAPH)
