import dataclasses
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from localgcl.config import LocalGCLWarning
from localgcl.evaluation import PRESETS, evaluate
from localgcl.graph import Graph, Split
from tests.evaluation.toys import clouds, thirds


def labelled(n: int = 120, **others: Any) -> tuple[Any, Graph]:
    z, y = clouds(n)
    return z, Graph.from_edges([], [], x=z, y=y, **others)


def with_nan(z: Any) -> Any:
    z = z.copy()
    z[7, 0] = np.nan  # the first entry of its row: an off-by-one would name another
    return z


@pytest.mark.parametrize("spoil", [with_nan, lambda z: sp.csr_array(with_nan(z)), lambda z: torch.from_numpy(with_nan(z))])
def test_nan_is_found_and_its_row_named(spoil: Any) -> None:
    z, y = clouds()
    with pytest.raises(ValueError, match=r"NaN or infinite values in 1 rows \(first: row 7\)"):
        evaluate(spoil(z), y, [thirds(120)])


def test_infinity_is_found() -> None:
    z, y = clouds()
    z[3] = np.inf
    with pytest.raises(ValueError, match="first: row 3"):
        evaluate(z, y, [thirds(120)])


@pytest.mark.parametrize(
    ("z", "message"),
    [
        (np.zeros(120), r"z has shape \(120,\)"),
        (np.zeros((120, 0)), r"z has shape \(120, 0\)"),
        (torch.zeros(120), r"z has shape \(120,\)"),
        (np.zeros((119, 4)), "z has 119 rows, but there are 120 labels"),
        (sp.csr_array((121, 4)), "z has 121 rows, but there are 120 labels"),
        ([["a", "b"]], "not a matrix of numbers"),
    ],
)
def test_embeddings_of_another_shape(z: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        evaluate(z, clouds()[1], [thirds(120)])


def test_labels_that_are_missing_or_useless() -> None:
    z, y = clouds()
    with pytest.raises(ValueError, match="no labels given"):
        evaluate(z, None)
    with pytest.raises(ValueError, match="'bare' has no labels"):
        evaluate(z, Graph.from_edges([], [], x=z, name="bare"))
    with pytest.raises(ValueError, match="has no labels"):
        evaluate(z, np.full(120, -1))
    with pytest.raises(ValueError, match="all labels are class 4"):
        evaluate(z, np.full(120, 4))
    with pytest.raises(ValueError, match="labels must be integers"):
        evaluate(z, y + 0.5, task="classes")
    with pytest.raises(ValueError, match=r"labels have shape \(120, 1\)"):
        evaluate(z, y[:, None])


def test_a_class_of_one_node() -> None:
    z, y = clouds()
    y[5] = 9
    with pytest.raises(ValueError, match="class 9 has one node: it cannot be both learnt and tested; drop it with label -1"):
        evaluate(z, y, [thirds(120)])
    y[5] = -1
    assert evaluate(z, y, [thirds(120)], steps=200).mean == 100.0


@pytest.mark.parametrize(
    ("train", "val", "test", "message"),
    [
        ([], [1], [2], "no labelled training nodes"),
        ([0], [], [2], "no labelled validation nodes"),
        ([0], [1], [], "no labelled test nodes"),
        ([0], [1], [0], "has a node twice"),
        ([0, 0], [1], [2], "has a node twice"),
        ([0], [1], [120], "names node 120, but nodes run from 0 to 119"),
        ([0], [-1], [2], "names node -1"),
    ],
)
def test_splits_that_cannot_be_used(train: list[int], val: list[int], test: list[int], message: str) -> None:
    z, y = clouds()
    parts = [torch.tensor(part, dtype=torch.int64) for part in (train, val, test)]
    split = Split(parts[0], parts[1], parts[2], "odd")
    with pytest.raises(ValueError, match=f"split 'odd' .*{message}|split 'odd' {message}"):
        evaluate(z, y, [split])


def test_no_splits_at_all() -> None:
    z, y = clouds()
    with pytest.raises(ValueError, match="the list of splits is empty"):
        evaluate(z, y, [])


def test_one_warning_for_many_splits() -> None:
    z, y = clouds()
    split = thirds(120)
    blind = Split(split.train[y[split.train.numpy()] == 0], split.val, split.test, "blind")
    with pytest.warns(LocalGCLWarning) as caught:
        evaluate(z, y, [blind] * 3, steps=10)
    assert [str(warning.message) for warning in caught] == [
        "split 'blind' (and 2 more splits) has no training node of class 1: its test nodes cannot be classified correctly"
    ]


def test_an_unknown_protocol_is_answered_with_the_closest() -> None:
    z, y = clouds()
    with pytest.raises(ValueError, match="unknown protocol 'linaer'; did you mean 'linear'"):
        evaluate(z, y, protocol="linaer")


def test_splits_come_from_the_caller_then_the_graph_then_chance() -> None:
    z, graph = labelled(300)
    own = graph.with_splits([thirds(300, 4, "own")])
    assert evaluate(z, own, [thirds(300)], steps=10).names == ("thirds",)
    assert evaluate(z, own, steps=10).names == ("own",)
    drawn = evaluate(z, graph, steps=10)
    assert len(drawn.values) == 20
    assert drawn.over == "20 splits"
    assert evaluate(z, graph.y, steps=10) == drawn  # labels alone are split alike
    assert evaluate(z, graph, steps=10, seed=1).names == drawn.names  # the seed is the classifier's, not the splits'


def test_unknown_labels_are_neither_learnt_nor_tested() -> None:
    """Nodes marked -1 may hold anything: the scores are those without them."""
    z, y = clouds(spread=0.5)
    split = thirds(120)
    part = {role: getattr(split, role)[5:] for role in ("train", "val", "test")}
    hidden = torch.cat([split.train[:5], split.val[:5], split.test[:5]]).numpy()
    expected = evaluate(z, y, [Split(**part)], steps=50).values
    y[hidden], z[hidden] = -1, 1e3
    assert evaluate(z, y, [split], steps=50).values == expected


def test_class_numbers_may_have_gaps() -> None:
    z, y = clouds(spread=0.5)
    plain, gaps = (evaluate(z, labels, [thirds(120)], steps=50) for labels in (y, y * 1000 + 3))
    assert list(gaps.recall) == ["3", "1003", "2003"]
    assert plain == dataclasses.replace(gaps, recall=dict(zip("012", gaps.recall.values(), strict=True)))


def test_raw_features_stay_sparse() -> None:
    z, y = clouds()
    z[np.abs(z) < 0.3] = 0
    graph = Graph.from_edges([], [], x=sp.csr_array(z), y=y)
    features = graph.x
    assert features.layout == torch.sparse_csr
    assert evaluate(features, graph, [thirds(120)], steps=200).mean > 95


@pytest.mark.parametrize("protocol", sorted(PRESETS))
def test_every_preset_scores_and_says_what_it_does(protocol: str) -> None:
    z, y = clouds(n=60, spread=0.05)
    splits = [thirds(60), thirds(60, 1)] if PRESETS[protocol].uses_splits else None
    quick: dict[str, dict[str, Any]] = {"dgi": {"repeats": 2}} | {name: {"steps": 150} for name in ("linear", "gca", "cca-ssg")}
    quick |= {"mvgrl": {"repeats": 2}, "gmi": {"repeats": 2, "steps": 2000}}
    quick |= {"af-gcl": {"learning_rates": 0.01}}  # its own is made for embeddings of a larger scale
    quick |= {name: {"strengths": (1.0, 64.0)} for name in ("sklearn", "grace", "bgrl")}
    scores = evaluate(z, y, splits, protocol=protocol, **quick.get(protocol, {}))
    assert scores.mean > 80
    assert len(scores.protocol) > 20
    assert len(scores.names) == len(scores.values) == len(scores.picks) == len(scores.validation)


@pytest.mark.parametrize("protocol", ["mvgrl", "gmi", "sugrl", "afgrl", "af-gcl"])
def test_published_presets_do_what_their_evaluators_do(protocol: str) -> None:
    table = {  # learning rate, penalty, steps, rows, repeats, validates
        "mvgrl": (0.01, 0.0, 300, "none", 50, False),
        "gmi": (0.001, 1e-5, 20_000, "none", 50, True),
        "sugrl": (0.01, 0.005, 100, "rows", 2, False),
        "afgrl": (0.01, 1e-5, 100, "none", 1, False),
        "af-gcl": (5e-4, 1e-5, 1500, "none", 1, True),
    }
    probe: Any = PRESETS[protocol]
    found = (*probe.learning_rates, *probe.weight_decays, probe.steps, probe.normalise, probe.repeats, probe.validates)
    assert found == table[protocol]


@pytest.mark.parametrize("protocol", ["gmi", "af-gcl"])
def test_presets_that_pick_do_not_look_at_test_labels(protocol: str) -> None:
    z, y = clouds(n=60)
    split = thirds(60)
    wrong = y.copy()
    wrong[split.test.numpy()] = (wrong[split.test.numpy()] + 1) % (y.max() + 1)
    picks = [evaluate(z, labels, [split], protocol=protocol, repeats=1, steps=300).picks for labels in (y, wrong)]
    assert picks[0] == picks[1]
