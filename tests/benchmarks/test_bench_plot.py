import builtins
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from benchmarks import bench_plot
from benchmarks.bench_plot import exponent, plot, series

from paper.bench.table import measurements
from tests.paper.bench.rows import made_up


def test_exponents() -> None:
    x = [1.0, 2, 4, 8, 16]
    assert exponent(x, [3 * value**1.5 for value in x]) == pytest.approx(1.5, abs=1e-3)
    # The flat small end does not count...
    assert exponent(x, [5, 5.1, 20, 40, 80]) == pytest.approx(1.0, abs=1e-3)
    # ... nor does noise of what depends on no size...
    assert exponent(x, [75, 55, 28, 65, 27]) is None
    # ... and where little more than it was measured, nothing is claimed.
    assert exponent(x, [5, 5.1, 5.3, 20, 40]) is None


def test_series_keep_the_other_sizes_fixed() -> None:
    rows = [made_up(n / 100, n) for n in (4000, 1000, 2000)]
    rows += [made_up(5.0, 1000, 64), made_up(9.0, 8000, 64)]  # two sizes make no series
    rows += [made_up(0.0, n, provider="dense-exact", note="out of memory") for n in (1, 2, 3)]
    (line,) = series(rows, "N", "p50_ms")
    assert line.label == "ours, d=256, D=1,024"
    assert line.x == (1000, 2000, 4000)
    assert line.y == (10, 20, 40)
    assert line.low == (9, 18, 36)
    assert series(rows, "d", "p50_ms") == []
    assert series(rows, "N", "peak_mib") == []


def test_a_picture_for_each_benchmark_and_machine(tmp_path: Path) -> None:
    rows = [made_up(n / 100, n, peak=n / 10) for n in (1000, 2000, 4000, 8000)]
    rows += [made_up(n / 900, n, device="GPU 1/2") for n in (1000, 2000, 4000, 8000)]
    rows += [made_up(1.0, benchmark="encoder")]
    written = plot(rows, tmp_path / "pictures")
    assert {path.name for path in written.values()} == {
        "negative-term-test-processor-1-thread.svg",
        "negative-term-gpu-1-2.svg",
    }
    drawing = written["negative-term", "GPU 1/2"].read_text()
    ET.fromstring(drawing)
    again = plot(rows, tmp_path / "again")
    assert again["negative-term", "GPU 1/2"].read_text() == drawing
    (png, _) = plot(rows, tmp_path, "png").values()
    assert png.read_bytes().startswith(b"\x89PNG")


def test_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'localgcl\[viz\]'"):
        plot([made_up(float(n), n) for n in (1, 2, 3)], tmp_path)


def test_from_a_table_to_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measurements(tmp_path / "bench.csv").append(*(made_up(n / 100, n) for n in (1000, 2000, 4000)))
    bench_plot.main([str(tmp_path / "pictures"), "--table", str(tmp_path / "bench.csv")])
    (picture,) = (tmp_path / "pictures").iterdir()
    assert picture.suffix == ".png"
    assert capsys.readouterr().out == f"written: {picture}\n{bench_plot.RULE}\n"
