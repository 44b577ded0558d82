import json

import pytest

from localgcl.evaluation import Scores, evaluate
from tests.evaluation.toys import clouds, thirds


def test_mean_and_sample_deviation() -> None:
    scores = Scores("probe", "accuracy", (80.0, 82.0, 87.0), over="3 splits")
    assert scores.mean == pytest.approx(83.0)
    assert scores.std == pytest.approx(13**0.5)  # (9 + 1 + 16) / 2
    assert str(scores) == "83.00 ± 3.61 (accuracy in %, 3 splits, probe)"


def test_one_value_has_no_deviation() -> None:
    assert str(Scores("probe", "accuracy", (80.0,))) == "80.00 ± 0.00 (accuracy in %, 1 split, probe)"


def test_json_holds_everything() -> None:
    z, y = clouds()
    scores = evaluate(z, y, [thirds(120), thirds(120, 1, "other")], steps=50)
    kept = json.loads(json.dumps(scores.to_dict()))
    assert kept["values"] == list(scores.values)
    assert kept["names"] == ["thirds", "other"]
    assert kept["mean"] == scores.mean
    assert kept["unit"] == "percent"
    assert kept["picks"][0].keys() == {"learning_rate", "weight_decay", "step"}
    assert kept["protocol"].startswith("linear probe: Adam")
