import subprocess
import sys

import pytest

from paper.bench.resident import peak_resident
from paper.bench.setups import Size

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")


def test_growth_is_the_peak_and_not_what_is_left() -> None:
    """In a fresh process, as it is used: this one holds freed blocks of other tests, which would be taken again."""
    script = (
        "import torch; from paper.bench.resident import growth; torch.ones(2).sum();"
        "print(growth(lambda: torch.ones(2**24).sum()), growth(lambda: torch.ones(2**23).sum()))"
    )
    done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True)
    large, small = map(float, done.stdout.split())
    # 64 and 32 MiB, freed again; the process itself may give back or take a few.
    assert large == pytest.approx(64, abs=8)
    assert small == pytest.approx(32, abs=8)


def test_a_process_of_its_own() -> None:
    """The dense exact term keeps logits of 1500 x 1500 numbers and makes their gradients: several times 8.6 MiB."""
    peak = peak_resident("negative-term", "dense-exact", Size(1500, 8, 16))
    assert peak is not None
    assert 2 * 8.6 < peak < 60
