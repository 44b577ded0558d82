import math
import re
from typing import Any

import pytest
import torch

from localgcl.ops import costs
from localgcl.ops.costs import (
    FORMS,
    THREADS,
    Coefficients,
    choose_negatives,
    coefficients,
    counts,
    exact_does_less_work,
    explain,
    predict,
)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU on which a step of SORF takes 1 ms + 1 ns an element, and an exact one 1 ps a multiply-add; nothing on GPUs."""
    forms = {
        "exact": Coefficients(0.0, 0.0, 1e-12, bytes_fixed=2**20, bytes_per_entry=4.0),
        "sorf": Coefficients(1e-3, 1e-9, 0.0, bytes_fixed=2**21, bytes_per_entry=8.0),
        "orf": Coefficients(1e-3, 2e-9, 0.0),
    }
    monkeypatch.setattr(costs, "coefficients", lambda: {"cpu": forms})


def test_counts() -> None:
    assert counts("exact", 10, 4, 7) == (100, 400)
    assert counts("rff", 10, 4, 7) == (70, 280)
    assert counts("orf", 10, 4, 7) == (70, 14 * 7 * 4)
    # log2 of the next power of two: 128 for 65; 64 at least.
    assert counts("sorf", 10, 65, 7) == (70, 490)
    assert counts("sorf", 10, 5, 7) == (70, 420)


@pytest.mark.usefixtures("known")
def test_predictions() -> None:
    cost = predict("sorf", 1000, 64, 1000, threads=1)
    assert cost.seconds == pytest.approx(2e-3)
    assert cost.bytes == 2**21 + 8 * 64000
    assert cost.backend == "numba"
    # Only what is parallel gets faster.
    assert predict("sorf", 1000, 64, 1000, threads=4).seconds == pytest.approx(1.25e-3)
    assert predict("sorf", 1000, 64, 1000).seconds == pytest.approx(1e-3 + 1e-3 / THREADS)
    assert predict("orf", 1000, 64, 1000).bytes is None
    with pytest.raises(LookupError, match="no costs of 'rff' are measured on cpu; run python -m paper bench and python"):
        predict("rff", 1000, 64, 1000)
    with pytest.raises(LookupError, match="measured on cuda"):
        predict("sorf", 1000, 64, 1000, "cuda")


@pytest.mark.usefixtures("known")
def test_the_faster_form_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    # On two threads 1e-12 N^2 d / 2 against 1e-3 + 1e-9 N D / 2: for d = 64, D = 4096 they meet near N = 64,480.
    crossing = (2.048 + math.sqrt(2.048**2 + 4 * 32e-6 * 1e3)) / (2 * 32e-6)
    assert choose_negatives(int(0.99 * crossing), 64, 4096, 1.0) == "exact"
    assert choose_negatives(int(1.01 * crossing), 64, 4096, 1.0) == "sorf"
    assert choose_negatives(10**6, 63, 4096, 1.0) == "sorf"
    assert choose_negatives(100, 64, 4096, 1.0, distributed=True) == "sorf"
    # What does not fit is not chosen, however fast.
    monkeypatch.setattr(costs, "device_memory", lambda _: 2**20)
    assert choose_negatives(1000, 64, 4096, 1.0) == "sorf"


@pytest.mark.usefixtures("known")
def test_features_that_cannot_be_trusted() -> None:
    assert choose_negatives(20_000, 512, 4096, 0.1) == "exact"
    assert choose_negatives(200_000, 512, 4096, 0.1) == "sorf"
    assert choose_negatives(200_000, 512, 4096, 1e-9) == "sorf"


@pytest.mark.usefixtures("known")
def test_work_decides_where_nobody_has_measured() -> None:
    for n in (500, 2_000, 10_000, 100_000):
        expected = "exact" if exact_does_less_work(n, 512, 4096) else "sorf"
        assert choose_negatives(n, 512, 4096, 0.5, device="cuda") == expected
    assert exact_does_less_work(500, 512, 4096)
    assert not exact_does_less_work(100_000, 512, 4096)


@pytest.mark.usefixtures("known")
def test_explanations() -> None:
    expected = "sorf (this term alone, by numba: predicted 2.05 s and 490 MiB a step on 2 threads; exact 32 s, orf 4.1 s)"
    assert explain("sorf", 1_000_000, 64, 4096) == expected
    assert explain("sorf", 1_000_000, 64, 4096, "cuda") == "sorf (by work count: no costs are measured on cuda)"


@pytest.mark.usefixtures("known")
def test_neither_choice_nor_line_depends_on_the_threads_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = range(1_000, 200_000, 500)
    found = []
    for threads in (1, 64):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        found.append([(choose_negatives(n, 64, 4096, 1.0), explain("sorf", n, 64, 4096)) for n in sizes])
    assert found[0] == found[1]
    assert {choice for choice, _ in found[0]} == {"exact", "sorf"}


def test_the_shipped_coefficients(monkeypatch: pytest.MonkeyPatch) -> None:
    """They come with their source, and order sizes and forms sensibly."""
    monkeypatch.setattr(costs, "device_memory", lambda _: 2**40)  # a GPU need not be here
    shipped = coefficients()
    assert "cpu" in shipped
    for kind, forms in shipped.items():
        assert set(forms) <= set(FORMS)
        for form, values in forms.items():
            assert values.fixed >= 0
            assert values.per_element + values.per_product > 0
            small, large = (predict(form, n, 256, 4096, kind, threads=1).seconds for n in (1_000, 1_000_000))  # type: ignore[arg-type]
            assert small < large
        assert choose_negatives(100, 512, 4096, 0.5, device=kind) == "exact"
        assert choose_negatives(10**6, 512, 4096, 0.5, device=kind) == "sorf"


def test_the_line_names_time_and_memory() -> None:
    line: Any = explain("sorf", 100_000, 512, 4096)
    assert re.fullmatch(
        r"sorf \(this term alone, by numba: predicted [\d.e+]+ m?s and \d+ MiB a step on 2 threads; exact [\d.e+]+ m?s, .*\)",
        line,
    )
