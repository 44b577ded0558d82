"""Fits the cost model (`localgcl.ops.costs`) to rows of the table."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from numpy.typing import NDArray
from scipy.optimize import nnls

from localgcl.config import read_toml
from localgcl.experiments.bench.setups import FORMS
from localgcl.experiments.bench.table import Row, hardware, newest
from localgcl.ops.costs import Coefficients, Form, counts
from localgcl.system.files import replacing

_LEAST = 4  # rows: one more than there are coefficients of time
_NOTE = "# Written by `localgcl bench fit`; see costs.py for the model. Seconds of one thread, bytes.\n\n"


@dataclasses.dataclass(frozen=True)
class Fit:
    """Coefficients of the forms on one kind of device, the rows' source, and the largest relative error of a time."""

    source: dict[str, Any]
    forms: dict[Form, Coefficients]
    errors: dict[Form, float]


def fit(rows: Sequence[Row]) -> dict[str, Fit]:
    """By kind of device: non-negative least squares of times' relative errors, so that small sizes count as large ones do.

    Of cells that were measured again only the last row counts, and only the machine that was measured last: coefficients of
    two machines mixed would be those of neither.
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
            f"no form of the negative term has {_LEAST} rows; measure some: localgcl bench negative-term --suite standard"
        )
    return fits


def write(path: Path, fits: dict[str, Fit]) -> None:
    """Replaces the tables of the kinds of device that were fitted; others stay."""
    tables = read_toml(path) if path.exists() else {}
    for kind, found in fits.items():
        forms = {form: {k: v for k, v in vars(values).items() if v is not None} for form, values in found.forms.items()}
        tables[kind] = {**found.source, "forms": forms}
    with replacing(path) as temporary:
        temporary.write_text(_NOTE + tomli_w.dumps(tables))


def _machine(row: Row) -> tuple[str, str]:
    return row["device"], row["processor"]


def _source(rows: Sequence[Row]) -> dict[str, Any]:
    return {
        "hardware": rows[-1]["processor"] if rows[-1]["device"] == "cpu" else hardware(rows[-1]),
        "measured": max(row["date"] for row in rows),
        "commits": sorted({row["commit"] for row in rows if row["commit"]}),
    }


def _coefficients(form: Form, rows: Sequence[Row]) -> Coefficients:
    works = [[1.0, *(work / _threads(row) for work in counts(form, *_sizes(row)))] for row in rows]
    seconds = np.array([_seconds(row) for row in rows])
    fixed, per_element, per_product = _least_squares(np.array(works) / seconds[:, None], np.ones(len(rows)))
    fitted = Coefficients(fixed, per_element, per_product)
    weighed = [row for row in rows if row["peak_mib"]]
    if len(weighed) < _LEAST:
        return fitted
    entries = [[1.0, float(row["N"]) * float(row["d"])] for row in weighed]
    # Absolute errors here: below a certain size chunks are not full, and only large sizes run out of memory.
    bytes_fixed, per_entry = _least_squares(np.array(entries), np.array([float(row["peak_mib"]) * 2**20 for row in weighed]))
    return dataclasses.replace(fitted, bytes_fixed=bytes_fixed, bytes_per_entry=per_entry)


def _error(form: Form, fitted: Coefficients, rows: Sequence[Row]) -> float:
    return max(abs(fitted.seconds(*counts(form, *_sizes(row)), _threads(row)) / _seconds(row) - 1) for row in rows)


def _sizes(row: Row) -> tuple[int, int, int]:
    return int(row["N"]), int(row["d"]), int(row["D"])


def _seconds(row: Row) -> float:
    return float(row["p50_ms"]) / 1000


def _threads(row: Row) -> int:
    return int(row["threads"]) if row["device"] == "cpu" else 1


def _least_squares(works: NDArray[np.float64], values: NDArray[np.float64]) -> list[float]:
    """Non-negative c with works @ c close to values, to four digits."""
    scale = np.linalg.norm(works, axis=0)  # columns differ by many orders of magnitude
    solution, _ = nnls(works / scale, values)
    return [float(f"{value:.4g}") for value in solution / scale]
