import logging
import warnings

import pytest

from localgcl.config import LocalGCLWarning
from localgcl.training.cluster.desk import Desk, repeat, reporting


def test_notes_and_warnings_of_a_worker_are_repeated_in_the_command(caplog: pytest.LogCaptureFixture) -> None:
    desk, said = Desk(), list[str]()
    with reporting(desk.write):
        desk.write("line", "a line")
        logging.getLogger("localgcl.training").info("a note of %d words", 5)
        warnings.warn("a warning", LocalGCLWarning, stacklevel=1)
        warnings.warn("of another library", UserWarning, stacklevel=1)
    logging.getLogger("localgcl").info("not within")
    kept = desk.take()
    assert kept == [("line", "a line"), ("note", "a note of 5 words"), ("warning", "a warning")]
    assert desk.take() == []
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="localgcl"), pytest.warns(LocalGCLWarning, match="a warning"):
        repeat(kept, said.append)
    assert said == ["a line"]
    assert caplog.messages == ["a note of 5 words"]


def test_a_note_with_a_percent_sign_is_repeated_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="localgcl"):
        repeat([("note", "5 % of rows")], print)
    assert caplog.messages == ["5 % of rows"]


def test_the_first_error_is_kept() -> None:
    desk = Desk()
    assert desk.error() is None
    first = ValueError("wrong")
    desk.fail(first)
    desk.fail(OSError("another rank ended"))
    assert desk.error() is first
