"""When a loss has converged, on curves whose answer is known, and on one that the training loop makes."""

import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks import convergence
from benchmarks.convergence import BUDGETS, FIELDS, converged, longest_wait, stopped, summary, train, without_labels

from localgcl.datasets import sbm
from localgcl.methods import METHODS
from localgcl.methods.settings import choose_settings
from localgcl.system.files import RowFile
from localgcl.training import fit

# Short trainings of small graphs warn that nothing was learned.
pytestmark = pytest.mark.filterwarnings("ignore::localgcl.LocalGCLWarning")

STEPS = np.arange(500)
FALLING = np.exp(-STEPS / 50)
# A median over 21 steps of a falling curve is its value in the middle, except within 10 steps of the ends.
HALF = 10


def rising_first(top: float = 3.0) -> np.ndarray:
    """From 1 up to `top` within 5 steps, back at 1 after 50, and down to 0."""
    back = np.linspace(top, 1, 45)
    return np.concatenate([np.linspace(1, top, 6)[:-1], back, np.exp(-np.arange(1, 451) / 50)])


def test_a_monotone_loss_converges_where_the_exponential_says() -> None:
    found = converged(FALLING)
    # e^(-t/50) has fallen by a share p of what it falls in all after 50 log(1 / (1 - p)) steps.
    for step, share in ((found.step_90, 0.90), (found.step_95, 0.95), (found.step_99, 0.99)):
        assert step == pytest.approx(-50 * np.log(1 - share), abs=2)
    assert (found.first, found.wait) == (1.0, 0)
    assert found.lowest_step >= len(FALLING) - 1 - HALF  # still falling at the end


def test_noise_moves_the_steps_little_and_makes_waiting_long() -> None:
    noisy = FALLING + 0.02 * np.random.default_rng(0).standard_normal(len(FALLING))
    found, clean = converged(noisy), converged(FALLING)
    # The median of 21 steps has a deviation of 1.25 * 0.02 / sqrt(21) = 0.0055, which 90% and 95% are passed with in 3 and 6
    # steps; three deviations are allowed.
    assert found.step_90 == pytest.approx(clean.step_90, abs=9)
    assert found.step_95 == pytest.approx(clean.step_95, abs=18)
    # The loss is within the noise of a step, 0.02, after 50 log 50 = 196 steps; the lowest of 500 is some deviations lower.
    assert 120 < found.settled < 250
    assert found.wait > clean.wait
    assert stopped(noisy, found.wait) <= found.step_99 + 1 < stopped(noisy, found.wait + 1)


def test_a_loss_that_rises_first_is_measured_from_its_first_value() -> None:
    rising = rising_first()
    found = converged(rising)
    assert found.highest > 2
    # Half of the way down from the peak is the way back to the first loss: it must not count as progress.
    assert found.step_90 == pytest.approx(50 + 50 * np.log(10), abs=2)
    assert found.wait == 49  # steps 1 to 49 are not below the first
    assert converged(rising_first(top=300.0)).step_90 == found.step_90


def test_patience_of_20_stops_at_step_21_of_a_loss_that_rises_first() -> None:
    rising = rising_first()
    assert stopped(rising, 20) == 21
    wait = converged(rising).wait
    assert stopped(rising, wait) == wait + 1
    assert stopped(rising, wait + 1) == len(rising)


def test_a_loss_that_never_falls_below_its_first_value_is_measured_from_its_peak() -> None:
    curve = np.concatenate([[0.1], 1 + FALLING])
    found = converged(curve)
    assert (found.first, found.lowest > 1) == (0.1, True)
    assert found.step_90 == pytest.approx(50 * np.log(10), abs=HALF)
    assert stopped(curve, 20) == 21


def test_a_flat_loss_and_the_shortest_curves_have_converged_at_once() -> None:
    for curve in ([0.7] * 100, [0.7], [0.7, 0.7]):
        found = converged(curve)
        assert (found.step_90, found.step_99, found.settled, found.lowest_step, found.wait) == (0, 0, 0, 0, 0)
        assert found.first == found.highest == found.lowest == 0.7


def test_a_leap_down_is_not_yet_convergence() -> None:
    """SUGRL's loss can fall from thousands to tens in ten steps and then by half in hundreds."""
    found = converged(np.where(STEPS < 5, 3000.0, 20 + 20 * FALLING) + 0.01 * (-1.0) ** STEPS)
    assert found.step_99 <= 5 + HALF
    assert found.settled > 200


def test_a_spike_is_no_peak_and_no_lowest_loss() -> None:
    spiked = FALLING.copy()
    spiked[[150, 300]] = 100.0, -100.0
    assert converged(spiked).highest <= 1
    assert converged(spiked).step_99 == converged(FALLING).step_99
    assert converged(spiked).lowest >= 0


@pytest.mark.parametrize("curve", [[], [1.0, float("nan")], [float("inf")], [[1.0]]])
def test_curves_that_are_none_are_refused(curve: list[float]) -> None:
    with pytest.raises(ValueError, match="at least one finite loss"):
        converged(curve)


def test_longest_wait_counts_steps_without_a_new_lowest_loss() -> None:
    assert longest_wait(np.array([3.0, 2, 1])) == 0
    assert longest_wait(np.array([3.0, 3, 3, 2, 2.5])) == 2  # an equal loss is no lower one
    assert longest_wait(np.array([1.0, 2, 3])) == 2


def test_the_training_loop_stops_where_the_curve_says() -> None:
    graph = without_labels(sbm(100, mean_degree=6, features=8, seed=0))
    assert graph.y is None
    assert graph.splits == ()
    losses, seconds = train("dgi", graph, 1000, 30, "cpu")
    assert len(losses) == 30
    assert seconds > 0
    wait = longest_wait(losses)
    given = {"seed": 1000, "steps": 30, "device": "cpu", "log_every": 1}
    for patience in (3, wait + 1):
        model = fit(graph, choose_settings("dgi", graph, given={**given, "patience": patience}).config)
        assert model.step == stopped(losses, patience)


def test_warm_up_keeps_its_share_of_a_shorter_budget() -> None:
    graph = without_labels(sbm(100, mean_degree=6, features=8, seed=0))
    usual = choose_settings("bgrl", graph).config.training
    warmup = 20 * usual.warmup // usual.steps
    assert warmup == 2  # a tenth, as published
    losses, _ = train("bgrl", graph, 1000, 20, "cpu")
    given = {"seed": 1000, "steps": 20, "warmup": warmup, "device": "cpu", "log_every": 1}
    again = fit(graph, choose_settings("bgrl", graph, given=given).config).history
    assert losses == pytest.approx([row["loss"] for row in again], rel=1e-5)  # single precision, threads


def test_the_command_writes_rows_goes_on_and_counts_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        convergence, "GRAPHS", {"small": lambda: sbm(100, mean_degree=6), "lone": lambda: sbm(100, mean_degree=0)}
    )
    out, curves = tmp_path / "rows.csv", tmp_path / "curves"
    command = ["convergence", "--out", str(out), "--curves", str(curves), "--methods", "dgi", "bgrl", "--steps", "6", "3"]

    def run(*graphs: str) -> int | str | None:
        monkeypatch.setattr(sys, "argv", [*command, "--graphs", *graphs, "--commit", "abc"])
        with pytest.raises(SystemExit) as end:
            convergence.main()
        return end.value.code

    assert run("small") == 0
    rows = RowFile(out, FIELDS).rows()
    assert [(row["method"], row["steps"], row["seed"]) for row in rows] == [
        ("dgi", "6", "1000"),
        ("dgi", "3", "1000"),
        ("bgrl", "6", "1000"),
        ("bgrl", "3", "1000"),
    ]
    assert all(value for row in rows for value in row.values())
    assert rows[0]["commit"] == "abc"
    stored = np.loadtxt(curves / "dgi-small-1000-6.txt")
    assert vars(converged(stored))["step_99"] == int(rows[0]["step_99"])
    assert run("small") == 0
    assert RowFile(out, FIELDS).rows() == rows
    # DGI refuses a graph without edges; the others' rows come all the same.
    assert run("lone") == 1
    assert [row["method"] for row in RowFile(out, FIELDS).rows()[len(rows) :]] == ["bgrl", "bgrl"]
    assert "no two of the 100 nodes are connected" in capsys.readouterr().err


def test_the_summary_has_medians_and_maxima_and_compares_budgets() -> None:
    base = dict.fromkeys(FIELDS, "1") | {"method": "bgrl", "seed": "1000", "first": "2"}
    rows = [
        base | {"graph": graph, "steps": str(steps), "step_99": str(step), "lowest": str(lowest)}
        for graph, steps, step, lowest in (("a", 300, 10, 1.5), ("b", 300, 30, 1.2), ("a", 1000, 5, 1), ("b", 1000, 7, 1))
    ]
    short, long = (" ".join(line.split()) for line in summary(rows).splitlines()[2:])
    assert short.startswith("bgrl 300 2 1 / 1 1 / 1 20 / 30 ")
    assert short.endswith(" b; 0.650 of the longest budget's drop, least 0.500")
    assert long.startswith("bgrl 1000 2 1 / 1 1 / 1 6 / 7 ")
    assert long.endswith(" b")


def test_every_baseline_has_a_budget() -> None:
    assert set(BUDGETS) == {name for name, kind in METHODS.items() if kind.learns} - {"local-gcl"}
