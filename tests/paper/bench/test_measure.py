"""Measuring, with a clock that tells the time we want."""

import math
import resource

import numpy as np
import pytest
import torch

from paper.bench.measure import CPUStopwatch, Work, bounded_memory, measure, tensor_cores


class Clock:
    """Each run takes what the provider says, in milliseconds; keeps the order of runs."""

    def __init__(self) -> None:
        self.now, self.runs, self.released = 0.0, list[str](), 0

    def provider(self, name: str, *times: float, fails_at: int | None = None, error: Exception | None = None) -> Work:
        count = iter(range(10**6))

        def work() -> None:
            index = next(count)
            self.runs.append(name)
            if index == fails_at:
                raise error or MemoryError
            self.now += times[min(index, len(times) - 1)]

        return work

    def milliseconds(self, work: Work) -> float:
        before = self.now
        work()
        return self.now - before

    def peak(self, work: Work) -> float | None:
        work()
        return 12.5

    def release(self) -> None:
        self.released += 1


def test_warm_up_then_turns() -> None:
    clock = Clock()
    a, b = clock.provider("a", 1000, 1000, 1, 2, 3, 4, 5, 6), clock.provider("b", 7)
    results = measure({"a": a, "b": b}, clock, repeats=6, seconds=1)
    # Two runs to warm up (the second for memory), one provider after the other; then in turn.
    assert clock.runs == ["a", "a", "b", "b"] + ["a", "b"] * 6
    assert (results["a"].p20, results["a"].p50, results["a"].p80) == pytest.approx(
        np.percentile([1, 2, 3, 4, 5, 6], [20, 50, 80])
    )
    assert results["a"].p50 == 3.5
    assert results["a"].repeats == 6
    assert results["a"].peak == 12.5
    assert results["b"].p20 == results["b"].p80 == 7


def test_a_slow_provider_takes_fewer_turns_but_at_least_one() -> None:
    clock = Clock()
    providers = {
        "slow": clock.provider("slow", 400),
        "slower": clock.provider("slower", 5000),
        "fast": clock.provider("fast", 1),
    }
    results = measure(providers, clock, repeats=10, seconds=1)
    assert {name: result.repeats for name, result in results.items()} == {"slow": 3, "slower": 1, "fast": 10}


@pytest.mark.parametrize("fails_at", [0, 1, 4])
def test_running_out_of_memory_is_a_result(fails_at: int) -> None:
    clock = Clock()
    providers = {"large": clock.provider("large", 1, fails_at=fails_at), "small": clock.provider("small", 1)}
    results = measure(providers, clock, repeats=5)
    assert results["large"].note == "out of memory"
    assert math.isnan(results["large"].p50)
    assert results["large"].repeats == 0
    assert clock.released == 1
    assert clock.runs.count("large") == fails_at + 1
    assert results["small"].repeats == 5


def test_other_errors_are_not_hidden() -> None:
    clock = Clock()
    for error in (RuntimeError("shapes do not fit"), ValueError("no")):
        with pytest.raises(type(error), match=str(error)):
            measure({"wrong": clock.provider("wrong", 1, fails_at=0, error=error)}, clock)


def test_the_cpu_clock_runs_the_work_once_and_reads_no_memory() -> None:
    runs: list[int] = []
    assert CPUStopwatch().milliseconds(lambda: runs.append(1)) >= 0
    assert CPUStopwatch().peak(lambda: runs.append(1)) is None
    assert runs == [1]


def test_settings_are_put_back() -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with bounded_memory():
        assert resource.getrlimit(resource.RLIMIT_DATA)[0] != resource.RLIM_INFINITY
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    precision = torch.get_float32_matmul_precision()
    with tensor_cores():
        assert torch.get_float32_matmul_precision() == "high"
    assert torch.get_float32_matmul_precision() == precision
