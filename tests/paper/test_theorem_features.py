import math
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import torch

from localgcl.nn.features import MAPS
from paper.theorem_features import _fan, measure, plot, table

SMALL: dict[str, Any] = {
    "dim": 16,
    "num_features": (32, 128),
    "temperatures": (0.3, 1.0),
    "cosines": (-1.0, 0.0, 0.8),
    "draws": 400,
}


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return measure(**SMALL)


@pytest.mark.parametrize("law", ["correct", "printed"])
@pytest.mark.parametrize("name", ["rff", "orf", "sorf"])
def test_estimates_are_those_of_the_library_at_that_temperature(name: str, law: Any) -> None:
    """One draw at tau = 1 serves all tau: the same numbers as psi of a draw at that tau, from the same seed."""
    if law == "printed" and name != "rff":
        return
    tau = 0.3
    generator = torch.Generator().manual_seed(5)
    fan = _fan(16, (0.2,), generator)
    errors = []
    for _ in range(2):
        psi = MAPS[name](32, law=law).draw(16, tau, generator=generator, dtype=torch.float64).psi(fan)
        errors.append(float(psi[0] @ psi[1]) - math.exp((0.2 - 1) / tau))
    found = measure(dim=16, num_features=(32,), temperatures=(tau,), cosines=(0.2,), maps=(name,), draws=2, seed=5)
    (row,) = (row for row in found if row["law"] == law)
    # Angles of up to about 20 keep six digits in float32.
    assert row["bias"] == pytest.approx(sum(errors) / 2, abs=1e-5)
    assert row["rms"] == pytest.approx(math.sqrt(sum(error**2 for error in errors) / 2), abs=1e-5)
    assert row["quantile"] == pytest.approx(max(map(abs, errors)), abs=1e-5)


def test_random_features_keep_the_bound_and_the_variance_of_the_lemma(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if (row["map"], row["law"]) == ("rff", "correct"):
            assert row["bound"] == pytest.approx((1 - math.exp(-4 / row["tau"])) / math.sqrt(2 * row["D"] * 0.05))
            assert row["holds"]
            # 400 nearly Gaussian errors give their root mean square to 1/sqrt(800) = 3.5%: four of that.
            assert row["rms"] / row["rms_formula"] == pytest.approx(1, abs=0.14)
            assert abs(row["bias"]) < 4 * row["bias_error"]


def test_the_quantile_is_exceeded_by_the_share_it_names(rows: list[dict[str, Any]]) -> None:
    """An error of standard deviation s exceeds 1.96 s once in 20 times, where it is Gaussian: for antipodes nearly."""
    for row in rows:
        if (row["map"], row["law"], row["cosine"], row["D"]) == ("rff", "correct", -1.0, 128):
            # The deviation of a 95% quantile of 400 values is sqrt(.05 * .95 / 400) over the density there, .117/s: .09 s.
            assert row["quantile"] / row["rms"] == pytest.approx(1.96, abs=0.3)


def test_the_printed_law_misses_the_kernel(rows: list[dict[str, Any]]) -> None:
    found = {(row["tau"], row["cosine"], row["D"]): row for row in rows if row["law"] == "printed"}
    wrong = found[0.3, 0.0, 128]
    # Its kernel is the one of temperature 1/tau.
    assert abs(wrong["bias"] - (math.exp(-0.3) - math.exp(-1 / 0.3))) < 4 * wrong["bias_error"]
    assert not wrong["holds"]
    assert found[1.0, 0.0, 128]["holds"]  # the two laws are one at tau = 1


def test_orthogonal_features_vary_less_and_structured_ones_are_biased(rows: list[dict[str, Any]]) -> None:
    found = {(row["map"], row["tau"], row["cosine"], row["D"]): row for row in rows if row["law"] == "correct"}
    assert found["orf", 1.0, 0.8, 128]["rms"] < 0.7 * found["rff", 1.0, 0.8, 128]["rms"]
    orf, sorf = found["orf", 1.0, 0.0, 128], found["sorf", 1.0, 0.0, 128]
    assert abs(orf["bias"]) < 4 * orf["bias_error"]
    assert sorf["bias"] < -4 * sorf["bias_error"]  # at d = 16; see `StructuredOrthogonal`


def test_positive_features_are_refused() -> None:
    with pytest.raises(ValueError, match="PositiveRandom has no frequencies"):
        measure(**{**SMALL, "maps": ("positive",)})


def test_table_and_picture(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    shown = table(rows)
    assert shown.name == "theorem-features"
    assert len(shown.rows) == 4 * 2 * 2  # three maps and the printed law, two tau, two D
    verdicts = {tuple(line[:4]): line[6] for line in shown.rows}
    assert verdicts["rff", "correct", "0.3", "128"] == "yes"
    assert verdicts["rff", "printed", "0.3", "128"] == "no"
    plot(rows, tmp_path / "features.svg")
    ET.parse(tmp_path / "features.svg")
