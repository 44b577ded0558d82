import logging
from typing import Any

import pytest
import torch

from localgcl.config import LocalGCLWarning
from localgcl.methods import mode as mode_module
from localgcl.methods.mode import choose_mode
from localgcl.system.devices import device_memory
from localgcl.system.memory import in_bytes

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def four_kib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mode_module, "device_memory", lambda _: 4096)


@pytest.mark.parametrize(("needed", "mode"), [(0, "faithful"), (1024, "faithful"), (1025, "scalable"), (10**15, "scalable")])
def test_auto_is_faithful_within_a_quarter_and_says_so(needed: int, mode: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "localgcl"):
        assert choose_mode("auto", needed, CPU, what="pairs") == mode
    (line,) = caplog.messages
    assert f"mode {mode} chosen for pairs: " in line
    assert "of 4.0 KiB on cpu" in line


def test_forcing_is_obeyed_and_warned_of_beyond_the_budget(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "localgcl"):
        assert choose_mode("faithful", 1024, CPU, what="pairs") == "faithful"
        for needed in (0, 10**15):
            assert choose_mode("scalable", needed, CPU, what="pairs") == "scalable"
        with pytest.warns(LocalGCLWarning, match=r"needs pairs: 2\.0 KiB of 4\.0 KiB on cpu; .* take mode scalable"):
            assert choose_mode("faithful", 2048, CPU, what="pairs") == "faithful"
    assert not caplog.messages


def test_the_machines_memory_is_some_gibibytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    with open("/proc/meminfo") as file:
        total = 1024 * int(file.readline().split()[1])
    # The kernel may count a little less than what is built in; a container may be allowed less.
    assert 0 < device_memory(CPU) <= 1.1 * total


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (3 * 2**30, "3.0 GiB"), (2**52, "4096.0 TiB")]
)
def test_sizes_are_readable(number: int, text: Any) -> None:
    assert in_bytes(number) == text
