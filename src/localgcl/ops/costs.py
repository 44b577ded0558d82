r"""Predicted cost of a step of the negative term, and the form of it that "auto" chooses.

$$t = c_0 + \frac{c_1 \cdot elements + c_2 \cdot products}{threads}$$

with the exponentials, sines and cosines of one forward and backward as elements and the multiply-adds as products:

* exact: N^2 elements, N^2 d products;
* sorf: N D elements, N D log2(d') products with d' the power of two above d, at least 64;
* rff: N D elements, N D d products;
* orf: N D elements, (N + d) D d products, because frequencies are made orthogonal at each draw.

(threads is 1 on a GPU, and `THREADS` on a CPU: with those of the machine, the same seed would give other weights elsewhere).
Peak memory above z is $m_0 + m_1 N d$ bytes: the gradient, and chunks of a fixed size.
`python -m benchmarks.fit_costs` fits the coefficients to measurements and writes them, with the place and date of the
measurement, to `costs.toml` beside this file. Devices and forms that were not measured have none.
"""

import dataclasses
import math
import tomllib
from functools import cache
from importlib import resources
from typing import Literal

import torch

from localgcl.ops.frequencies import padded_size
from localgcl.system.devices import device_memory

Form = Literal["exact", "sorf", "orf", "rff"]
FORMS: tuple[Form, ...] = ("exact", "sorf", "orf", "rff")

THREADS = 2
"""Threads of a CPU for which costs are predicted, however many it has."""
# Above this many nodes, "auto" does not fall back on the exact term when there are too few features.
_EXACT_ANYWAY = 20_000


@dataclasses.dataclass(frozen=True)
class Coefficients:
    """Coefficients of one form on one kind of device: seconds of one thread, bytes (None if memory was not measured)."""

    fixed: float
    per_element: float
    per_product: float
    bytes_fixed: float | None = None
    bytes_per_entry: float | None = None

    def seconds(self, elements: float, products: float, threads: int) -> float:
        return self.fixed + (self.per_element * elements + self.per_product * products) / threads


@dataclasses.dataclass(frozen=True)
class Cost:
    """Cost of one forward and backward: seconds, peak bytes above z (None if not measured) and the backend."""

    seconds: float
    bytes: float | None
    backend: str


def counts(form: Form, num_nodes: int, dim: int, num_features: int) -> tuple[float, float]:
    """Elements and products, as listed above."""
    n, d, big_d = float(num_nodes), float(dim), float(num_features)
    if form == "exact":
        return n * n, n * n * d
    products = {"sorf": n * math.log2(padded_size(dim)), "orf": (n + d) * d, "rff": n * d}
    return n * big_d, products[form] * big_d


@cache
def coefficients() -> dict[str, dict[str, Coefficients]]:
    """The coefficients in `costs.toml`, by kind of device, then by form."""
    tables = tomllib.loads((resources.files(__package__) / "costs.toml").read_text())
    return {kind: {form: Coefficients(**values) for form, values in table["forms"].items()} for kind, table in tables.items()}


def predict(
    form: Form, num_nodes: int, dim: int, num_features: int, device: torch.device | str = "cpu", *, threads: int = THREADS
) -> Cost:
    """The predicted cost of `form` on so many threads of a CPU, or on a GPU.

    Raises:
        LookupError: This form has not been measured on this kind of device.
    """
    kind = torch.device(device).type
    known = coefficients().get(kind, {}).get(form)
    if known is None:
        raise LookupError(
            f"no costs of {form!r} are measured on {kind}; run python -m paper bench and python -m benchmarks.fit_costs"
        )
    seconds = known.seconds(*counts(form, num_nodes, dim, num_features), threads if kind == "cpu" else 1)
    # As `ops.passes.choose_backend` has it for single precision.
    backend = "triton" if kind == "cuda" else "numba" if form == "sorf" else "torch"
    if known.bytes_fixed is None or known.bytes_per_entry is None:
        return Cost(seconds, None, backend)
    return Cost(seconds, known.bytes_fixed + known.bytes_per_entry * num_nodes * dim, backend)


def choose_negatives(
    num_nodes: int,
    dim: int,
    num_features: int,
    temperature: float,
    *,
    distributed: bool = False,
    device: torch.device | str = "cpu",
) -> Literal["exact", "sorf"]:
    """The form that "auto" chooses.

    Exact, if it is predicted to be faster and fits the device's memory, or if D is too small to be trusted at this temperature
    and the graph has at most 20,000 nodes. Otherwise SORF. Without
    measured costs for the kind of device, work is compared instead (see `exact_does_less_work`).
    """
    if distributed:
        return "sorf"
    # Pair deviation 1/sqrt(2D) against a typical kernel value e^(-1/tau): four deviations apart.
    trusted = num_features >= 8 * math.exp(min(2 / temperature, 700.0))
    if not trusted and num_nodes <= _EXACT_ANYWAY:
        return "exact"
    try:
        exact, kernel = (predict(form, num_nodes, dim, num_features, device) for form in ("exact", "sorf"))
    except LookupError:
        return "exact" if exact_does_less_work(num_nodes, dim, num_features) else "sorf"
    fits = exact.bytes is None or exact.bytes <= device_memory(device)
    return "exact" if fits and exact.seconds <= kernel.seconds else "sorf"


def exact_does_less_work(num_nodes: int, dim: int, num_features: int) -> bool:
    """Compares multiply-adds of one row, forward and backward: 8 N d for the exact term with its recomputation, against four
    passes of three transforms (6 sqrt(d') each as two Kronecker factors) and two trigonometric functions (40). The latter
    are taken to run at a quarter of the exact term's speed: small factors and trigonometry against one large product.
    """
    size = padded_size(dim)
    return 8 * num_nodes * dim <= 4 * 4 * num_features * (12 * math.sqrt(size) + 40)


def explain(
    choice: Form, num_nodes: int, dim: int, num_features: int, device: torch.device | str = "cpu", *, per: str = "step"
) -> str:
    """What "auto" has chosen, and the predicted cost of each form measured on this kind of device."""
    kind = torch.device(device).type
    others = [form for form in FORMS if form != choice and form in coefficients().get(kind, {})]
    try:
        best = predict(choice, num_nodes, dim, num_features, device)
    except LookupError:
        return f"{choice} (by work count: no costs are measured on {kind})"
    memory = "" if best.bytes is None else f" and {best.bytes / 2**20:.0f} MiB"
    rest = [f"{form} {_time(predict(form, num_nodes, dim, num_features, device).seconds)}" for form in others]
    threads = f" on {THREADS} threads" if kind == "cpu" else ""
    predicted = f"this term alone, by {best.backend}: predicted {_time(best.seconds)}{memory} a {per}{threads}"
    return f"{choice} ({'; '.join([predicted, ', '.join(rest)])})"


def _time(seconds: float) -> str:
    if seconds >= 100:
        return f"{seconds:,.0f} s"
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"
