"""The files of a Planetoid graph must fit each other; pickles themselves are tested in test_pickles.py."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from localgcl.datasets.readers import planetoid
from localgcl.graph import Graph
from tests.datasets import python2

ONE_HOT = np.eye(2, dtype=np.int32)


@pytest.fixture(autouse=True)
def _small_validation_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planetoid, "NUM_VALIDATION", 1)


def files(index: bytes = b"5\n3\n", **parts: Any) -> dict[str, bytes]:
    """Nodes 0, 1, 2 are known; 5 and 3 are for testing, and 4 is skipped."""
    sound: dict[str, Any] = {
        "allx": python2.matrix(np.eye(3, 4, dtype=np.float32)),
        "tx": python2.matrix(np.array([[0, 0, 0, 5], [0, 0, 0, 3]], dtype=np.float32)),
        "ally": python2.array(ONE_HOT[[1, 0, 1]]),
        "ty": python2.array(ONE_HOT[[1, 1]]),
        "y": python2.array(ONE_HOT[[1]]),
        "graph": python2.neighbours({0: [1, 1, 0], 1: [0], 3: [5], 5: [3]}),
    }
    named = {f"ind.cora.{kind}": python2.pickled(body) for kind, body in (sound | parts).items()}
    return named | {"ind.cora.test.index": index}


def read(contents: Mapping[str, bytes]) -> Graph:
    return planetoid.GRAPHS["cora"].graph("cora", contents)


def test_rows_go_to_the_nodes_that_the_index_names() -> None:
    graph = read(files())
    assert graph.x.to_dense()[:, 3].tolist() == [0, 0, 0, 3, 0, 5]
    assert graph.y is not None
    assert graph.y.tolist() == [1, 0, 1, 1, 0, 1]
    assert list(zip(graph.rows.tolist(), graph.indices.tolist(), strict=True)) == [(0, 1), (1, 0), (3, 5), (5, 3)]
    (split,) = graph.splits
    assert (split.train.tolist(), split.val.tolist(), split.test.tolist()) == ([0], [1], [3, 5])


SHARED = b"](" + python2.number(1) * 1000 + b"eq\x07"


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (files(b""), "test.index is no list of node numbers"),
        (files(b"3 -5"), "test.index is no list of node numbers"),
        (files(b"3 2147483646"), "test.index is no list of node numbers"),
        (files(b"3 900000000"), "one that is not from 3 to 10"),
        (files(b"3 3"), "names a node twice"),
        (files(b"2 3"), "one that is not from 3 to 10"),
        (files(b"3 4 5"), "do not fit each other: 3 rows of allx, 3 test nodes"),
        (files(tx=python2.matrix(np.ones((2, 3)))), "do not fit each other"),
        (files(ally=python2.array(ONE_HOT)), "do not fit each other"),
        (files(ty=python2.array(np.eye(3)[:2])), "do not fit each other"),
        (files(y=python2.array(np.ones((4, 2)))), "do not fit each other"),
        (files(allx=python2.array(ONE_HOT)), "ind.cora.allx holds a ndarray in place of a csr_array"),
        (files(ally=python2.array([1, 2, 3])), "ind.cora.ally holds a ndarray"),
        (files(graph=python2.array(ONE_HOT)), "ind.cora.graph holds a ndarray in place of a dict"),
        (files(graph=b"}(" + python2.text("a") + b"]u"), "graph is no dictionary of neighbour lists"),
        (files(graph=b"}(" + python2.number(0) + b"}u"), "graph is no dictionary of neighbour lists"),
        (files(graph=b"}"), "graph is no dictionary of neighbour lists"),
        (files(graph=b"}(" + python2.number(0) + b"]" + python2.text("a") + b"au"), "graph is no dictionary of"),
        (files(graph=python2.neighbours({0: [-1]})), "target -1"),
        (files(graph=python2.neighbours({70_000: [1]})), "source 70000"),
    ],
)
def test_files_that_do_not_fit_are_refused_in_one_line(contents: Mapping[str, bytes], message: str) -> None:
    with pytest.raises(ValueError, match=f"data set 'cora': .*{message}") as caught:
        read(contents)
    assert str(caught.value).isprintable()


def test_a_list_of_neighbours_that_is_named_again_and_again_is_refused() -> None:
    """A thousand neighbours, named by each of 500 nodes in a few bytes, would be 500,000 edges; gigabytes are as easy."""
    again = b"".join(python2.number(node) + b"h\x07" for node in range(1, 500))
    graph = b"}(" + python2.number(0) + SHARED + again + b"u"
    with pytest.raises(ValueError, match="graph is no dictionary of neighbour lists"):
        read(files(graph=graph))
