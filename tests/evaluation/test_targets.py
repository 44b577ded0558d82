import numpy as np
import pytest
from sklearn.linear_model import Ridge

from localgcl.evaluation import evaluate
from localgcl.evaluation.evaluator import evaluate_targets
from localgcl.evaluation.probes import PENALTIES
from localgcl.graph import Split
from tests.evaluation.toys import thirds


@pytest.fixture
def z() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((300, 6)).astype(np.float32)


def test_numbers_are_predicted_and_scored_in_their_own_units(z: np.ndarray) -> None:
    y = 50 * z[:, 0] - 20 * z[:, 1] + 1000
    scores = evaluate(z, y, num_splits=3)
    assert (scores.metric, scores.unit, scores.over) == ("R2", "", "3 splits")
    assert scores.mean > 0.99  # a linear function, up to the penalty
    assert max(scores.extra["MAE"]) < 5
    assert scores.splits == "random, 50/10/40% of 300 labelled nodes"
    assert str(scores).startswith("1.000 ± 0.000 (R2, 3 splits, ridge regression")


def test_noise_is_not_predicted(z: np.ndarray) -> None:
    scores = evaluate(z, np.random.default_rng(1).standard_normal(300), num_splits=5)
    assert scores.mean < 0.1  # the penalty is picked on validation nodes, so R2 is about 0, not negative by much
    assert scores.mean > -0.3


def test_ridge_is_scikit_learns_on_standardised_rows(z: np.ndarray) -> None:
    y, split = z @ np.arange(6) + np.random.default_rng(1).standard_normal(300), thirds(300)
    scores = evaluate(z, y, [split])
    train, test = (part.numpy() for part in (split.train, split.test))
    mean, deviation = z[train].mean(0), z[train].std(0)
    model = Ridge(alpha=scores.picks[0]["penalty"] * 1.0).fit((z[train] - mean) / deviation, y[train])
    assert scores.picks[0]["penalty"] in PENALTIES
    # Dividing the target by its deviation changes nothing but the rounding of float32 rows.
    assert scores.values[0] == pytest.approx(model.score((z[test] - mean) / deviation, y[test]), abs=1e-3)


def test_several_labels_of_a_node_are_learnt_one_by_one(z: np.ndarray) -> None:
    y = (z[:, :3] > 0).astype(float)
    scores = evaluate(z, y, num_splits=2)
    assert (scores.metric, list(scores.extra), scores.unit) == ("micro F1", ["macro F1"], "%")
    assert scores.mean > 85  # each label is the sign of a column
    y[:, 2] = np.random.default_rng(1).random(300) < 0.5
    worse = evaluate(z, y, num_splits=2)
    assert worse.extra["macro F1"][0] < scores.extra["macro F1"][0] - 5


def test_nodes_with_nan_are_left_out(z: np.ndarray) -> None:
    y = 50 * z[:, 0]
    hidden = np.arange(0, 300, 3)
    y[hidden] = np.nan
    changed = z.copy()
    changed[hidden] = 1e3
    first, second = evaluate(z, y, num_splits=2), evaluate(changed, y, num_splits=2)
    assert first.values == second.values
    assert "200 labelled nodes" in first.splits


def test_a_label_that_no_training_node_has_is_scored_all_the_same(z: np.ndarray, recwarn: pytest.WarningsRecorder) -> None:
    y = (z[:, :2] > 0).astype(float)
    split = thirds(300)
    y[:, 1] = 0
    y[split.test[:5].numpy(), 1] = 1
    scores = evaluate(z, y, [split])
    assert scores.extra["macro F1"][0] < scores.mean
    assert not recwarn.list


def test_a_task_may_be_named(z: np.ndarray) -> None:
    whole = np.round(10 * z[:, 0])
    assert evaluate(z, whole, num_splits=1, task="regression").metric == "R2"
    binary = (z[:, :2] > 0).astype(float)
    assert evaluate(z, binary, num_splits=1, task="regression").metric == "R2"
    assert evaluate(z, (whole > 0).astype(int), num_splits=1, protocol="knn").metric == "accuracy"


@pytest.mark.parametrize(
    ("targets", "changes", "message"),
    [
        (np.linspace(0, 1, 300), {"protocol": "knn"}, "are for classes, and these targets are none"),
        (np.linspace(0, 1, 299), {}, "300 rows, but there are 299 rows of targets"),
        (np.full(300, 0.5), {}, "target 0 has the same value for all 300"),
        (np.r_[np.inf, np.linspace(0, 1, 299)], {"task": "regression"}, "row 0 are infinite"),
        (np.c_[np.zeros(300), np.full(300, 2)], {"task": "multi-label"}, "multi-label targets hold 2"),
        (np.full((300, 2), np.nan), {}, "no node has all targets"),
        (["a"] * 300, {"task": "regression"}, "holds no numbers"),
    ],
)
def test_what_cannot_be_scored_is_one_line(z: np.ndarray, targets: object, changes: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        evaluate(z, targets, **changes)  # type: ignore[arg-type]


def test_splits_and_a_share_are_not_given_together(z: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"train_share is 0\.5, and splits are given too"):
        evaluate_targets(z, z[:, 0], [thirds(300)], train_share=0.5)


def test_splits_are_checked_as_for_classes(z: np.ndarray) -> None:
    split, y = thirds(300), z[:, 0].copy()
    with pytest.raises(ValueError, match="has a node twice"):
        evaluate(z, y, [Split(split.train, split.val, split.train)])
    y[split.val] = np.nan
    with pytest.raises(ValueError, match="has no labelled validation nodes"):
        evaluate(z, y, [split])
    with pytest.raises(ValueError, match="the list of splits is empty"):
        evaluate(z, y, [])


def test_read_only_targets_are_read_without_a_warning(z: np.ndarray, recwarn: pytest.WarningsRecorder) -> None:
    y = z[:, 0].astype(np.float64)
    y.flags.writeable = False
    assert evaluate(z, y, num_splits=1).mean > 0.99
    assert not recwarn.list
