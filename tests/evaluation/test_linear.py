import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from localgcl.config import LocalGCLWarning
from localgcl.evaluation import evaluate
from localgcl.evaluation.linear import LinearProbe, initial_weights, leader
from localgcl.evaluation.task import Task
from localgcl.graph import Split
from tests.evaluation.toys import clouds, thirds

CPU = torch.device("cpu")


def test_separable_clouds_are_told_apart() -> None:
    z, y = clouds()
    scores = evaluate(z, y, [thirds(120)])
    assert scores.values == (100.0,)
    assert scores.validation == (100.0,)


def test_labels_that_z_knows_nothing_of_give_chance_level() -> None:
    rng = np.random.default_rng(0)
    n, classes = 3000, 4
    scores = evaluate(rng.standard_normal((n, 5)), rng.integers(classes, size=n), [thirds(n)], steps=100)
    tested = n // 3
    # Five standard deviations of a binomial at chance: wrong once in a million, while test labels leaking in give > 90.
    bound = 5 * 100 * math.sqrt((1 / classes) * (1 - 1 / classes) / tested)
    assert abs(scores.mean - 100 / classes) < bound


@pytest.mark.parametrize("decay", [0.0, 0.01])
@pytest.mark.parametrize("initial", ["xavier", "torch"])
def test_one_head_is_torchs_linear_layer_trained_with_torchs_adam(decay: float, initial: str) -> None:
    z, y = clouds(spread=0.8)
    split = thirds(120)
    probe = LinearProbe(learning_rates=(0.01,), weight_decays=(decay,), steps=60, pick="final", initial=initial)  # type: ignore[arg-type]
    x, target = torch.from_numpy(z), torch.from_numpy(y)
    task = Task(x, target, 3, split.train, split.val, split.test, "toy")
    start = initial_weights(8, 3, probe.initial, 5)
    *_, fitted = probe._fit(x[split.train], target[split.train], x[split.val], target[split.val], [(0.01, decay)], start, CPU)

    layer = torch.nn.Linear(8, 3)
    with torch.no_grad():
        layer.weight.copy_(start[:-1].T)
        layer.bias.copy_(start[-1])
    adam = torch.optim.Adam(layer.parameters(), lr=0.01, weight_decay=decay)
    for _ in range(60):
        adam.zero_grad()
        torch.nn.functional.cross_entropy(layer(x[split.train]), target[split.train]).backward()
        adam.step()
    torch.testing.assert_close(fitted[:-1].T, layer.weight.detach(), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(fitted[-1], layer.bias.detach(), rtol=1e-4, atol=1e-5)
    right = (layer(x[split.test]).argmax(1) == target[split.test]).double().mean()
    assert probe.run(task, 5, CPU).value == pytest.approx(100 * float(right))


def test_the_grid_equals_its_heads_one_by_one() -> None:
    """The pick of the whole grid is the best of the picks of its heads, by validation accuracy."""
    z, y = clouds(spread=1.0)
    split = thirds(120)
    rates, decays = (1e-3, 1e-2), (0.0, 0.1)
    whole = evaluate(z, y, [split], learning_rates=rates, weight_decays=decays, steps=50)
    single = {
        (rate, decay): evaluate(z, y, [split], learning_rates=rate, weight_decays=decay, steps=50)
        for rate in rates
        for decay in decays
    }
    pick = whole.picks[0]
    alone = single[pick["learning_rate"], pick["weight_decay"]]
    assert (alone.values, alone.validation, alone.picks[0]["step"]) == (whole.values, whole.validation, pick["step"])
    assert len({scores.validation for scores in single.values()}) > 1  # else the grid has nothing to pick
    assert whole.validation[0] == max(scores.validation[0] or 0 for scores in single.values())


def test_picks_do_not_depend_on_test_labels() -> None:
    z, y = clouds(spread=0.7)
    split = thirds(120)
    other = y.copy()
    other[split.test.numpy()] = (other[split.test.numpy()] + 1) % 3
    before, after = evaluate(z, y, [split], steps=100), evaluate(z, other, [split], steps=100)
    assert before.picks == after.picks
    assert before.validation == after.validation
    assert after.mean < before.mean - 20


def test_picks_depend_on_validation_labels() -> None:
    z, y = clouds(spread=0.7)
    split = thirds(120)
    other = y.copy()
    other[split.val.numpy()] = (other[split.val.numpy()] + 1) % 3
    assert evaluate(z, y, [split], steps=100).picks != evaluate(z, other, [split], steps=100).picks


def test_first_keeps_the_earliest_best_step_and_best_the_lowest_loss() -> None:
    z, y = clouds(spread=0.05)
    common: dict[str, Any] = {"learning_rates": 0.01, "weight_decays": 0.0, "steps": 400, "check_every": 1}
    first = evaluate(z, y, [thirds(120)], pick="first", **common).picks[0]["step"]
    best = evaluate(z, y, [thirds(120)], pick="best", **common).picks[0]["step"]
    assert first < 100
    assert best == 400  # accuracy is 100% from `first` on, and the loss still falls


@pytest.mark.parametrize("normalise", ["none", "rows"])
def test_sparse_and_dense_input_agree(normalise: str) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    dense = (rng.random((90, 40)) < 0.05 + 0.15 * (np.arange(40) % 3 == y[:, None])).astype(np.float32)
    forms = [dense, torch.from_numpy(dense).double(), sp.csr_array(dense), sp.coo_matrix(dense)]
    forms += [torch.from_numpy(dense).to_sparse_csr(), torch.from_numpy(dense).to_sparse()]
    results = [evaluate(form, y, [thirds(90)], steps=100, normalise=normalise) for form in forms]
    assert results[0].mean > 60
    for result in results[1:]:
        assert result.picks == results[0].picks
        assert result.values == results[0].values


def test_the_same_seed_gives_the_same_scores_and_another_seed_another_start() -> None:
    z, y = clouds(spread=1.0)
    one, same = (evaluate(z, y, [thirds(120), thirds(120, 1)], steps=20, seed=3) for _ in range(2))
    assert one == same
    assert not torch.equal(initial_weights(8, 3, "xavier", 0), initial_weights(8, 3, "xavier", 1))


def test_global_randomness_is_left_alone() -> None:
    z, y = clouds()
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    evaluate(z, y, [thirds(120)], steps=10)
    assert torch.equal(torch.rand(1), expected)


def test_columns_are_standardised_by_the_training_rows() -> None:
    """Scaling and shifting columns changes nothing then, however far the other rows lie out."""
    z, y = clouds(spread=0.5)
    split = thirds(120)
    moved = z * np.logspace(-3, 3, 8, dtype=np.float32) + np.arange(8, dtype=np.float32)
    plain = evaluate(z, y, [split], normalise="columns", steps=50)
    assert evaluate(moved, y, [split], normalise="columns", steps=50).values == plain.values
    outlier = z.copy()
    outlier[split.test[0]] += 1e6
    # All rows but one are classified as before; were the outlier in the statistics, the others would shrink to nothing.
    assert abs(evaluate(outlier, y, [split], normalise="columns", steps=50).mean - plain.mean) <= 100 / 40 + 1e-9


def test_a_constant_column_is_no_division_by_zero() -> None:
    z, y = clouds()
    z[:, 7] = 3
    assert evaluate(z, y, [thirds(120)], normalise="columns", steps=200).values == (100.0,)


def test_columns_of_a_sparse_matrix_are_refused() -> None:
    z, y = clouds()
    with pytest.raises(ValueError, match="would fill a sparse matrix"):
        evaluate(sp.csr_array(z), y, [thirds(120)], normalise="columns")


def test_a_class_without_training_nodes_warns_and_is_got_wrong() -> None:
    z, y = clouds()
    split = thirds(120)
    seen = Split(split.train[y[split.train.numpy()] != 2], split.val, split.test, "blind")
    with pytest.warns(LocalGCLWarning, match=r"'blind' has no training node of class 2"):
        scores = evaluate(z, y, [seen], steps=200)
    share = float((y[split.test.numpy()] != 2).mean())
    assert scores.mean <= 100 * share + 1e-9


def test_the_last_step_is_always_looked_at() -> None:
    z, y = clouds(spread=0.05)
    assert evaluate(z, y, [thirds(120)], steps=7, check_every=10, learning_rates=0.5).values == (100.0,)


def test_the_leader_has_most_right_answers_then_the_lowest_loss() -> None:
    sure, unsure, wrong = [[9.0, 0.0]], [[0.2, 0.0]], [[0.0, 0.1]]
    y = torch.zeros(2, dtype=torch.int64)
    # Of two nodes: head 0 is sure of one and narrowly misses the other, heads 1 and 2 are right twice.
    logits = torch.tensor([[sure, unsure, sure], [wrong, unsure, unsure]]).squeeze(2)
    head, right, loss = leader(logits, y)
    assert (int(head), int(right)) == (2, 2)
    assert loss == pytest.approx(float(torch.nn.functional.cross_entropy(logits[:, 2], y)))
    assert leader(logits[:, :2], y)[0] == 1  # although its loss is higher


def test_initial_weights_have_their_law() -> None:
    xavier, linear = initial_weights(200, 40, "xavier", 0), initial_weights(200, 40, "torch", 0)
    assert not xavier[-1].any()
    assert linear[-1].all()
    for weights, limit in ((xavier[:-1], (6 / 240) ** 0.5), (linear, 200**-0.5)):
        assert 0.99 * limit < float(weights.abs().max()) <= limit
        assert float(weights.std()) == pytest.approx(limit / 3**0.5, rel=0.05)


def test_unit_rows_forget_lengths() -> None:
    z, y = clouds(spread=0.5)
    longer = z * np.logspace(-2, 2, 120, dtype=np.float32)[:, None]
    plain, same = (evaluate(form, y, [thirds(120)], normalise="rows", steps=50) for form in (z, longer))
    assert plain == same
    assert evaluate(longer, y, [thirds(120)], steps=50).values != plain.values


def test_dgi_needs_no_validation_nodes_and_starts_fifty_times() -> None:
    z, y = clouds(spread=0.6)
    split = thirds(120)
    bare = Split(split.train, split.val[:0], split.test, "no val")
    scores = evaluate(z, y, [bare], protocol="dgi", steps=5)
    assert len(scores.values) == 50
    assert set(scores.validation) == {None}
    assert scores.std > 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_rates": ()}, "learning_rates is"),
        ({"learning_rates": -1.0}, "learning_rates is"),
        ({"learning_rates": "fast"}, "learning_rates is 'fast'"),
        ({"weight_decays": (-0.1,)}, "weight_decays is"),
        ({"steps": 0}, "steps is 0"),
        ({"steps": "many"}, "steps is 'many'"),
        ({"check_every": 0}, "check_every is 0"),
        ({"pick": "worst"}, "pick is 'worst'; choose one of best, first, final"),
        ({"pick": "final"}, "chooses nothing"),
        ({"stepz": 3}, "no setting 'stepz'; did you mean 'steps'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], message: str) -> None:
    z, y = clouds()
    with pytest.raises(ValueError, match=message):
        evaluate(z, y, [thirds(120)], **settings)
