"""Fits the cost model of the negative term (`localgcl.ops.costs`) to what `python -m paper bench negative-term` measured.

python -m benchmarks.fit_costs
"""

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from numpy.typing import NDArray
from scipy.optimize import nnls

from benchmarks import BENCH, ROOT
from localgcl.config import read_toml
from localgcl.ops.costs import Coefficients, Form, counts
from localgcl.system.files import replacing
from paper.bench.setups import FORMS
from paper.bench.table import BenchRow, hardware, newest, read

COSTS = ROOT / "src" / "localgcl" / "ops" / "costs.toml"
_LEAST = 4  # rows: one more than there are coefficients of time
_NOTE = "# Written by `python -m benchmarks.fit_costs`; see costs.py for the model. Seconds of one thread, bytes.\n\n"


@dataclasses.dataclass(frozen=True)
class Fit:
    """Coefficients of each form on one kind of device, where the rows come from, and the largest relative error of a time."""

    source: dict[str, Any]
    forms: dict[Form, Coefficients]
    errors: dict[Form, float]


def fit(rows: Sequence[BenchRow]) -> dict[str, Fit]:
    """Coefficients by kind of device, by non-negative least squares of relative errors, so that all sizes count alike.

    Only the last row of each size counts, and only the machine that was measured last.
    """
    usable = [row for row in rows if row["benchmark"] == "negative-term" and row["provider"] in FORMS and row["p50_ms"]]
    fits = {}
    for kind in ("cpu", "cuda"):
        mine = [row for row in usable if (row["device"] == "cpu") == (kind == "cpu")]
        mine = newest(row for row in mine if _machine(row) == _machine(mine[-1]))
        groups = {form: [row for row in mine if row["provider"] == provider] for provider, form in FORMS.items()}
        groups = {form: group for form, group in groups.items() if len(group) >= _LEAST}
        if groups:
            forms = {form: _coefficients(form, group) for form, group in groups.items()}
            fits[kind] = Fit(_source(mine), forms, {form: _error(form, forms[form], groups[form]) for form in forms})
    if not fits:
        raise ValueError(
            f"no form of the negative term has {_LEAST} rows; measure some: "
            "python -m paper bench negative-term --suite standard"
        )
    return fits


def write(path: Path, fits: dict[str, Fit]) -> None:
    """Replaces the tables of the kinds of device that were fitted and keeps the others."""
    tables = read_toml(path) if path.exists() else {}
    for kind, found in fits.items():
        forms = {form: {k: v for k, v in vars(values).items() if v is not None} for form, values in found.forms.items()}
        tables[kind] = {**found.source, "forms": forms}
    with replacing(path) as temporary:
        temporary.write_text(_NOTE + tomli_w.dumps(tables))


def _machine(row: BenchRow) -> tuple[str, str]:
    return row["device"], row["processor"]


def _source(rows: Sequence[BenchRow]) -> dict[str, Any]:
    return {
        "hardware": rows[-1]["processor"] if rows[-1]["device"] == "cpu" else hardware(rows[-1]),
        "measured": max(row["date"] for row in rows),
        "commits": sorted({row["commit"] for row in rows if row["commit"]}),
    }


def _coefficients(form: Form, rows: Sequence[BenchRow]) -> Coefficients:
    works = [[1.0, *(work / _threads(row) for work in counts(form, *_sizes(row)))] for row in rows]
    seconds = np.array([_seconds(row) for row in rows])
    fixed, per_element, per_product = _least_squares(np.array(works) / seconds[:, None], np.ones(len(rows)))
    fitted = Coefficients(fixed, per_element, per_product)
    weighed = [row for row in rows if row["peak_mib"]]
    if len(weighed) < _LEAST:
        return fitted
    entries = [[1.0, float(row["N"]) * float(row["d"])] for row in weighed]
    # Absolute errors: only large sizes run out of memory, and at small ones chunks are not full.
    bytes_fixed, per_entry = _least_squares(np.array(entries), np.array([float(row["peak_mib"]) * 2**20 for row in weighed]))
    return dataclasses.replace(fitted, bytes_fixed=bytes_fixed, bytes_per_entry=per_entry)


def _error(form: Form, fitted: Coefficients, rows: Sequence[BenchRow]) -> float:
    return max(abs(fitted.seconds(*counts(form, *_sizes(row)), _threads(row)) / _seconds(row) - 1) for row in rows)


def _sizes(row: BenchRow) -> tuple[int, int, int]:
    return int(row["N"]), int(row["d"]), int(row["D"])


def _seconds(row: BenchRow) -> float:
    return float(row["p50_ms"]) / 1000


def _threads(row: BenchRow) -> int:
    return int(row["threads"]) if row["device"] == "cpu" else 1


def _least_squares(works: NDArray[np.float64], values: NDArray[np.float64]) -> list[float]:
    """Non-negative c with works @ c close to values, to four digits."""
    scale = np.linalg.norm(works, axis=0)  # columns differ by many orders of magnitude
    solution, _ = nnls(works / scale, values)
    return [float(f"{value:.4g}") for value in solution / scale]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fit_costs", description=__doc__)
    parser.add_argument("--table", type=Path, default=BENCH, metavar="CSV", help="what python -m paper bench has measured")
    parser.add_argument("--commit", help="use only rows of this commit")
    parser.add_argument("--to", type=Path, metavar="FILE", help="where to write (default: the package's own costs.toml)")
    options = parser.parse_args(arguments)
    if options.to is None and not COSTS.exists():
        raise FileNotFoundError(f"{COSTS} is not there, so this is no source checkout; say where to write with --to FILE")
    fits = fit([row for row in read(options.table) if options.commit in (None, row["commit"])])
    write(options.to or COSTS, fits)
    for kind, found in fits.items():
        for form, error in found.errors.items():
            print(f"{kind} {form}: predicted times within {error:.0%} of those measured")
    print(f"written: {options.to or COSTS}")


if __name__ == "__main__":
    main()
