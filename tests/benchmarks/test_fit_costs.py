from pathlib import Path

import pytest
from benchmarks import fit_costs
from benchmarks.fit_costs import fit, write

from localgcl.config import read_toml
from localgcl.ops.costs import Coefficients, Form, counts
from paper.bench.setups import FORMS
from paper.bench.table import BenchRow, measurements
from tests.paper.bench.rows import made_up

TRUE = Coefficients(2e-3, 3e-9, 4e-10, bytes_fixed=1e6, bytes_per_entry=8.0)
SIZES = [(500, 128, 512), (1000, 256, 1024), (4000, 256, 1024), (2000, 1024, 512), (1000, 64, 4096), (300, 300, 300)]


def rows_of(provider: str, form: Form, threads: int = 1, **surroundings: str) -> list[BenchRow]:
    """What a machine that obeys the model would be measured at."""
    rows = []
    for n, d, big_d in SIZES:
        seconds = TRUE.seconds(*counts(form, n, d, big_d), threads)
        rows.append(
            made_up(
                1000 * seconds,
                n,
                d,
                big_d,
                provider=provider,
                peak=(1e6 + 8 * n * d) / 2**20,
                threads=str(threads),
                **surroundings,
            )
        )
    return rows


@pytest.mark.parametrize(("provider", "form"), FORMS.items())
def test_true_coefficients_are_found(provider: str, form: Form) -> None:
    # Rows hold five digits of time and tenths of MiB: a per cent, respectively a twentieth, is what can be asked.
    found = fit(rows_of(provider, form) + rows_of(provider, form, threads=4))["cpu"]
    (coefficients,) = found.forms.values()
    assert list(found.forms) == [form]
    assert coefficients.fixed == pytest.approx(TRUE.fixed, rel=0.01)
    assert coefficients.per_element == pytest.approx(TRUE.per_element, rel=0.01)
    assert coefficients.per_product == pytest.approx(TRUE.per_product, rel=0.01)
    assert coefficients.bytes_fixed == pytest.approx(1e6, rel=0.05)
    assert coefficients.bytes_per_entry == pytest.approx(8.0, rel=0.05)
    assert found.errors[form] < 0.01


def test_only_the_last_machine_and_the_last_measurement_count() -> None:
    rows = rows_of("ours", "sorf")
    wrong = [row | {"p50_ms": "9999"} for row in rows]
    elsewhere = [row | {"processor": "Another"} for row in wrong]
    found = fit(wrong + elsewhere + rows)["cpu"]
    assert found.forms["sorf"].per_element == pytest.approx(TRUE.per_element, rel=0.01)
    assert found.source == {
        "hardware": "Test Processor",
        "measured": "2026-01-02T03:04:05+00:00",
        "commits": ["0123456789abcdef"],
    }


def test_memory_that_was_not_measured_is_not_made_up() -> None:
    rows = [row | {"peak_mib": ""} for row in rows_of("ours", "sorf")]
    assert fit(rows)["cpu"].forms["sorf"].bytes_fixed is None


def test_too_few_rows() -> None:
    with pytest.raises(ValueError, match="no form of the negative term has 4 rows; measure some"):
        fit(rows_of("ours", "sorf")[:3])


def test_kinds_of_device_are_kept_apart(tmp_path: Path) -> None:
    path = tmp_path / "costs.toml"
    write(path, fit(rows_of("ours", "sorf")))
    write(
        path,
        fit(rows_of("ours", "sorf", device="NVIDIA H200", threads=3) + rows_of("ours-exact", "exact", device="NVIDIA H200")),
    )
    tables = read_toml(path)
    assert tables["cpu"]["forms"].keys() == {"sorf"}
    assert tables["cuda"]["forms"].keys() == {"sorf", "exact"}
    assert tables["cuda"]["hardware"] == "NVIDIA H200"
    assert Coefficients(**tables["cpu"]["forms"]["sorf"]).fixed == pytest.approx(TRUE.fixed, rel=0.01)


def test_from_a_table_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measurements(tmp_path / "bench.csv").append(*rows_of("ours", "sorf"))
    table = ["--table", str(tmp_path / "bench.csv")]
    fit_costs.main([*table, "--to", str(tmp_path / "costs.toml")])
    assert read_toml(tmp_path / "costs.toml")["cpu"]["forms"].keys() == {"sorf"}
    assert capsys.readouterr().out.endswith(f"written: {tmp_path / 'costs.toml'}\n")
    with pytest.raises(ValueError, match="no form of the negative term has 4 rows"):
        fit_costs.main([*table, "--to", str(tmp_path / "other.toml"), "--commit", "no such commit"])
    assert not (tmp_path / "other.toml").exists()


def test_without_a_checkout_there_is_no_default_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measurements(tmp_path / "bench.csv").append(*rows_of("ours", "sorf"))
    assert fit_costs.COSTS.is_file()
    monkeypatch.setattr(fit_costs, "COSTS", tmp_path / "ops" / "costs.toml")
    with pytest.raises(FileNotFoundError, match=r"costs\.toml is not there, so this is no source checkout"):
        fit_costs.main(["--table", str(tmp_path / "bench.csv")])
    assert not (tmp_path / "ops").exists()
