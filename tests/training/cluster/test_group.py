import threading

import pytest

from localgcl.training.cluster.group import _explained, _in_background
from localgcl.training.ranks import LostRank


class Failure(Exception):
    """As Ray's: what each rank raised."""

    def __init__(self, **worker_failures: Exception) -> None:
        super().__init__("Training failed due to worker errors:\n...")
        self.worker_failures = worker_failures


def test_workers_that_are_lost_time_and_again_are_one_line() -> None:
    error = _explained(Failure(first=LostRank("another rank ended or hangs;\nsee its error")))
    assert isinstance(error, LostRank)
    assert str(error) == (
        "workers were lost more than 3 times, at last because: another rank ended or hangs; see its error; go on with "
        "--resume, and see the machines' logs"
    )


def test_errors_of_ray_are_no_defects() -> None:
    died = type("WorkerHealthCheckFailedError", (Exception,), {"__module__": "ray.train.v2"})("the actor died")
    assert "because: the actor died; go on with --resume" in str(_explained(Failure(first=died)))
    assert "because: Training failed due to worker errors: ...; go on" in str(_explained(Failure()))


def test_a_defect_is_raised_as_it_is() -> None:
    defect = ZeroDivisionError()
    assert _explained(Failure(first=LostRank("lost"), second=defect)) is defect


def test_work_is_done_in_another_thread_and_its_error_is_kept() -> None:
    assert _in_background(threading.current_thread).result(10) is not threading.main_thread()

    def fail() -> None:
        raise SystemExit(0)

    with pytest.raises(SystemExit):
        _in_background(fail).result(10)
