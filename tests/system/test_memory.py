import json
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
import torch

from localgcl.system.memory import OutOfMemory, explained, in_bytes, is_out_of_memory, requested

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
