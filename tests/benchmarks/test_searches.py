from pathlib import Path

from benchmarks.searches import table

from localgcl.experiments.search import log
from localgcl.system.files import RowFile
from paper.experiments import OURS


def _results(graph: str, test: float) -> dict[tuple[str, int], dict[str, str]]:
    cell = OURS.cell(graph, 0, timed=False)
    assert cell is not None
    return {cell.key: {"outcome": "ok", "test": str(test)}}


def _log(path: Path, *trials: tuple[str, str]) -> None:
    path.parent.mkdir(parents=True)
    for settings, validation in trials:
        RowFile(path, log.FIELDS).append(dict.fromkeys(log.FIELDS, "") | {"settings": settings, "validation": validation})


def test_searches_are_told_of_graphs_below_the_paper(tmp_path: Path) -> None:
    _log(tmp_path / "local-gcl-cora" / "trials.csv", ('{"dim": 512, "steps": 20}', "80.5"), ('{"dim": 64, "steps": 20}', "81"))
    _log(tmp_path / "local-gcl-cora-again" / "trials.csv", ('{"scaling": "raw"}', "82.25"), ('{"scaling": "l1"}', ""))
    _log(tmp_path / "local-gcl-actor" / "trials.csv", ("{}", "36"))
    found = table(_results("cora", 83) | _results("actor", 36.5), tmp_path)  # printed: 84.5 and 33.91
    assert found is not None
    assert found.rows == [
        ["cora", "83.00", "84.5 ± 0.4", "local-gcl-cora", "2", "81.00", "dim 64, 512"],
        ["cora", "83.00", "84.5 ± 0.4", "local-gcl-cora-again", "2", "82.25", "scaling l1, raw"],
    ]


def test_nothing_is_told_where_the_paper_is_reached(tmp_path: Path) -> None:
    assert table(_results("cora", 84.5), tmp_path) is None
    assert table({}, tmp_path) is None
