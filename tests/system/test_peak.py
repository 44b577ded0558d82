import sys
from pathlib import Path

import pytest
import torch

from localgcl.system import peak
from localgcl.system.peak import ResidentPeak, measured

CPU = torch.device("cpu")
linux = pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")


@linux
def test_the_peak_is_what_the_work_took_and_not_what_is_left() -> None:
    result, cost = measured(lambda: torch.ones(2**24).sum(), CPU)
    assert float(result) == 2**24
    assert cost.peak is not None
    assert cost.peak / 2**20 == pytest.approx(64, abs=8)  # 64 MiB; the test process itself may give back or take a few
    assert cost.seconds > 0


def blocks() -> list[bytearray]:
    """32 MiB of blocks that are too small to be mapped one by one: they come from the heap."""
    return [bytearray(2**15) for _ in range(2**10)]


@linux
def test_memory_that_was_freed_before_counts_again() -> None:
    """The heap keeps what is freed below a block that is held; work that takes it again would not grow the process."""
    held = blocks()
    del held[:-1]
    _, cost = measured(lambda: len(blocks()), CPU)
    assert cost.peak is not None
    assert cost.peak / 2**20 == pytest.approx(32, abs=8)
    assert len(held) == 1


def test_without_proc_nothing_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peak, "_RESET", tmp_path / "nowhere" / "clear_refs")
    assert ResidentPeak().growth() is None
    assert measured(lambda: 3, CPU)[0] == 3


def test_errors_of_the_work_are_not_swallowed() -> None:
    def work() -> None:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        measured(work, CPU)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu_it_is_what_the_allocator_counts() -> None:
    device = torch.device("cuda")
    kept = torch.ones(2**20, device=device)
    _, cost = measured(lambda: torch.ones(2**24, device=device).mul_(2).sum(), device)
    assert cost.peak is not None
    assert 64 <= cost.peak / 2**20 < 66  # the sum's workspace is small; what was held before does not count
    assert len(kept) == 2**20
