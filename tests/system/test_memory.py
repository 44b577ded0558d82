import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

from localgcl.system import memory
from localgcl.system.memory import OutOfMemory, ResidentPeak, explained, in_bytes, is_out_of_memory, measured, requested

TOO_MUCH = 2**60  # bytes: no machine grants that

FAILURES: dict[str, Callable[[], object]] = {
    "torch": lambda: torch.empty(TOO_MUCH, dtype=torch.uint8),
    "torch-overflow": lambda: torch.empty(2**40, 2**40),
    "numpy": lambda: np.empty(TOO_MUCH, dtype=np.uint8),
    "pyarrow": lambda: pa.allocate_buffer(TOO_MUCH),
    "python": lambda: bytearray(TOO_MUCH),
}


@pytest.mark.parametrize("library", FAILURES)
def test_every_library_is_recognised(library: str) -> None:
    with pytest.raises((MemoryError, RuntimeError)) as caught:
        FAILURES[library]()
    assert is_out_of_memory(caught.value)
    with pytest.raises(OutOfMemory) as explanation, explained("trying", "try less"):
        FAILURES[library]()
    text = str(explanation.value)
    assert text.startswith("out of memory while trying")
    assert text.endswith("; try less")
    assert "\n" not in text
    if library in ("torch", "numpy"):  # which say how much
        assert requested(caught.value) == TOO_MUCH
        assert in_bytes(TOO_MUCH) in text


@pytest.mark.parametrize(
    ("error", "size"),
    [
        (MemoryError(), None),
        (
            torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.50 GiB. GPU 0 has a total capacity of 16"),
            41 * 2**29,
        ),
        (torch.OutOfMemoryError("HIP out of memory"), None),
        (RuntimeError("CUDA error: out of memory"), None),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), None),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 40000 bytes. Error code 12"), 40000),
        (np.exceptions.AxisError("no"), None),
    ],
)
def test_messages_of_libraries_that_are_not_here(error: Exception, size: int | None) -> None:
    assert is_out_of_memory(error) == isinstance(error, MemoryError | RuntimeError)
    assert requested(error) == size


@pytest.mark.parametrize("error", [RuntimeError("shapes do not fit"), ValueError("out of memory"), KeyboardInterrupt()])
def test_other_errors_pass(error: BaseException) -> None:
    assert not is_out_of_memory(error)
    with pytest.raises(type(error)) as caught, explained("trying", "try less"):
        raise error
    assert caught.value is error


def test_an_explanation_is_not_explained_again() -> None:
    first = OutOfMemory("a refusal with its advice")
    with pytest.raises(OutOfMemory) as caught, explained("running", "no"):
        raise first
    assert caught.value is first


def test_it_loads_without_torch() -> None:
    program = "import sys; import localgcl.system.memory; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.strip().lower()) is False


# What a piece of work took

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
    monkeypatch.setattr(memory, "_RESET", tmp_path / "nowhere" / "clear_refs")
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
