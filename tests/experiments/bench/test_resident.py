import sys

import pytest
import torch

from localgcl.experiments.bench.resident import growth, peak_resident
from localgcl.experiments.bench.setups import Size

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")


def test_growth_is_the_peak_and_not_what_is_left() -> None:
    # 64 and 32 MiB, freed again; the test process itself may give back or take a few.
    assert growth(lambda: torch.ones(2**24).sum()) == pytest.approx(64, abs=8)
    assert growth(lambda: torch.ones(2**23).sum()) == pytest.approx(32, abs=8)


def test_a_process_of_its_own() -> None:
    """The dense exact term keeps logits of 1500 x 1500 numbers and makes their gradients: several times 8.6 MiB."""
    peak = peak_resident("negative-term", "dense-exact", Size(1500, 8, 16))
    assert peak is not None
    assert 2 * 8.6 < peak < 60
