"""How stages on large graphs are measured."""

import subprocess
import sys

import pytest
from benchmarks.large.run import anonymous, measure

HOLD = "import time; held = bytearray(b'x' * (100 * 2**20)); time.sleep({seconds})"


def test_memory_of_children_counts() -> None:
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HOLD.format(seconds=60)!r}])"
    process = subprocess.Popen([sys.executable, "-c", parent])
    try:
        peak = 0
        for _ in range(600):
            peak = max(peak, anonymous(process.pid))
            if peak > 100 * 1024:
                break
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.05)
        assert 100 * 1024 < peak < 400 * 1024  # KiB: what is held, one copy while it is made, and two interpreters
    finally:
        subprocess.run(["pkill", "-P", str(process.pid)], check=False)
        process.kill()
        process.wait()


def test_a_stage_beyond_its_limit_fails_and_says_which() -> None:
    line = [sys.executable, "-c", HOLD.format(seconds=0)]
    seconds, peak = measure(line, 2**30)
    assert seconds > 0
    assert peak > 1
    with pytest.raises(RuntimeError, match="ended with 1"):
        measure(line, 50 * 2**20)
