from pathlib import Path

import pytest

from localgcl.methods import configure
from localgcl.report.history import read_losses
from localgcl.training import RunFolder


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "run", configure("dgi", {}), {})


def test_every_term_of_a_loss_is_a_line_and_the_loss_comes_first(run: RunFolder) -> None:
    run.write_metrics([{"step": step, "seconds": 0.1, "left": 1.0, "loss": 3.0 - step, "spread": 0.5} for step in range(3)])
    lines, note = read_losses(run)
    assert [line.name for line in lines] == ["loss", "left"]
    assert lines[0].x.tolist() == [0, 1, 2]
    assert lines[0].y.tolist() == [3, 2, 1]
    assert note == ""


@pytest.mark.parametrize("rows", [999, 1000, 1001, 3456])
def test_long_histories_are_thinned_and_keep_both_ends(run: RunFolder, rows: int) -> None:
    run.write_metrics([{"step": step, "seconds": 0.1, "loss": 1.0} for step in range(rows)])
    ((line,), _) = read_losses(run)
    assert len(line.x) <= 1001
    assert (line.x[0], line.x[-1]) == (0, rows - 1)
    assert (line.x[1:] > line.x[:-1]).all()


def test_a_run_without_metrics_says_so(run: RunFolder) -> None:
    assert read_losses(run) == ((), "The run has no metrics.csv, or trained no step.")
