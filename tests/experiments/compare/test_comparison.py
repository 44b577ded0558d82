import csv
import io

import pytest
from scipy import stats

from localgcl.experiments.compare import Comparison
from localgcl.experiments.compare.comparison import Row, lines
from tests.experiments.compare.problems import row

OURS, OTHER = {0: 80.0, 1: 83.0, 2: 81.0}, {0: 82.0, 1: 86.0, 2: 82.0}


def rows(**scores: dict[int, float]) -> list[Row]:
    return [row(method.replace("_", "-"), seed, score) for method, values in scores.items() for seed, score in values.items()]


def comparison(given: list[Row], seeds: int = 3, reference: str = "local-gcl") -> Comparison:
    return Comparison(given, "mine", reference, "linear", "linear on test nodes", seeds)


def test_differences_are_paired() -> None:
    """scipy's paired t test on the same numbers gives the same interval."""
    found = {line.method: line for line in lines(rows(local_gcl=OURS, grace=OTHER), "local-gcl")}
    gap = found["grace"].gap
    interval = stats.ttest_rel(list(OTHER.values()), list(OURS.values())).confidence_interval(0.95)
    assert gap is not None
    assert (gap.difference, gap.low, gap.high) == pytest.approx((2.0, interval.low, interval.high))
    assert found["local-gcl"].gap is None
    assert found["grace"].numbers()["mean"] == pytest.approx(250 / 3, abs=1e-4)
    assert found["grace"].numbers()["deviation"] == pytest.approx(stats.tstd(list(OTHER.values())), abs=1e-4)


def test_a_seed_that_one_of_two_lacks_is_no_pair() -> None:
    other = [*rows(grace={0: 82.0, 1: 86.0}), row("grace", 2, outcome="out of memory")]
    found = {line.method: line for line in lines([*rows(local_gcl=OURS), *other], "local-gcl")}
    assert found["grace"].gap is not None
    assert (found["grace"].gap.n, found["grace"].gap.difference) == (2, 2.5)
    assert found["grace"].cells(3)[1].strip("*").endswith("(2)")
    assert found["grace"].notes == ["grace (1 of 3 seeds): failed: out of memory"]


def test_a_seed_counts_once_however_many_splits_it_has() -> None:
    """Scores of one embedding on several splits are not independent."""
    given = [row("local-gcl", seed, 70.0, 90.0) for seed in range(2)] + [row("grace", s, 72.0, 96.0 + s) for s in range(2)]
    gap = next(line.gap for line in lines(given, "local-gcl") if line.method == "grace")
    assert gap is not None
    assert (gap.n, gap.difference) == (2, 4.25)


def test_one_seed_is_compared_over_its_splits() -> None:
    given = [row("local-gcl", 0, 70.0, 71.0, 72.0), row("grace", 0, 71.0, 73.0, 72.0)]
    gap = next(line.gap for line in lines(given, "local-gcl") if line.method == "grace")
    assert gap is not None
    assert (gap.n, gap.difference) == (3, 1.0)
    assert "over splits" in str(comparison(given, seeds=1))


def test_one_score_has_no_interval() -> None:
    found = comparison([row("local-gcl", 0, 70.0), row("grace", 0, 71.5)], seeds=1)
    (line,) = (line for line in found.lines if line.method == "grace")
    assert line.cells(1)[1:3] == ["**71.50**", "+1.50"]
    assert (line.numbers()["difference"], line.numbers()["low"], line.numbers()["high"]) == (1.5, "", "")
    assert "nan" not in f"{found}{found.to_csv()}"


def test_the_best_are_bold() -> None:
    """grace is two points above local-gcl within noise; dgi is far below on every seed, by equal amounts."""
    given = rows(local_gcl=OURS, grace={0: 79.0, 1: 88.0, 2: 82.0}, dgi={seed: score - 9 for seed, score in OURS.items()})
    assert {line.method: line.level for line in lines(given, "local-gcl")} == {"grace": True, "local-gcl": True, "dgi": False}
    table = comparison(given).to_markdown()
    assert "| **83.00 ± 4.58** |" in table.replace("\N{NO-BREAK SPACE}", " ")
    assert "\\textbf{83.00" in comparison(given).to_latex()
    assert "Bold" in table
    assert "Bold" not in str(comparison(given))


def test_the_order_is_by_mean_with_failures_and_baselines_last() -> None:
    given = [
        *rows(random_init={0: 99.0, 1: 98.0}, local_gcl={0: 80.0, 1: 81.0}),
        row("dgi", 0, outcome="bad"),
        *rows(grace={0: 90.0, 1: 91}),
    ]
    assert [line.method for line in lines(given, "local-gcl")] == ["grace", "local-gcl", "dgi", "random-init"]


def test_the_numbers_can_be_read_again() -> None:
    given = [*rows(local_gcl=OURS, grace=OTHER), row("dgi", 0, outcome="too few edges, or none")]
    read = list(csv.DictReader(io.StringIO(comparison(given).to_csv())))
    assert [line["method"] for line in read] == ["grace", "local-gcl", "dgi"]
    assert float(read[0]["difference"]) == 2.0
    assert (read[0]["dim"], read[0]["steps"], read[0]["seconds"], read[0]["memory_mib"]) == ("8", "20", "2.500", "100.0")
    assert (read[2]["seeds"], read[2]["mean"]) == ("0", "")
    assert read[2]["note"] == "dgi: failed: too few edges, or none"


def test_nothing_but_failures_is_a_table_too() -> None:
    found = comparison([row("local-gcl", 0, outcome="bad"), row("grace", 0, outcome="worse")], seeds=1)
    assert "grace: failed: worse" in str(found)


def test_the_table_says_what_it_shows() -> None:
    given = rows(local_gcl=OURS, random_init=OTHER, raw_features=OTHER)
    told = str(comparison(given))
    for part in ("Methods on mine, 3 seeds", "minus local-gcl", "memory (MiB)"):
        assert part in told
    notes = comparison(given).table().notes
    assert "random-init: the encoder of local-gcl, untrained. raw-features: the features, scaled as for local-gcl." in notes
    assert "ran at a time" not in told
    assert "Up to 4 trainings ran at a time" in str(comparison([*given, row("grace", 0, 1.0, jobs=4)]))
    assert comparison(given).table().columns[1] == "accuracy"


def test_names_are_escaped() -> None:
    found = Comparison(rows(local_gcl=OURS), "a\x1b[31m_b", "local-gcl", "linear", "linear", 3)
    assert "\x1b" not in str(found)
    assert r"a\textbackslash{}x1b[31m\_b" in found.to_latex()
