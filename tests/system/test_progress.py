"""Progress on stderr: a bar on a terminal, lines elsewhere, nothing where it is not asked for."""

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from localgcl.commands import main
from localgcl.system import progress as module
from localgcl.system.progress import Lines, counted, duration, progress


def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIRST", "EVERY"):
        monkeypatch.setattr(module, name, 0.0)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_lines_come_every_half_minute_with_values_and_time_left() -> None:
    clock, said = Clock(), list[str]()
    lines = Lines("", 1000, "step", 100, say=said.append, clock=clock)
    for _ in range(899):
        clock.now += 1
        lines.set_postfix(loss=f"{clock.now / 100:.2f}")
        lines.update()
    assert len(said) == 30  # after 5 s, then every 30 s
    # 5 steps took 5 s, and 895 are left; those done before the start do not count.
    assert said[0] == "step 105 of 1,000, loss 0.05, 15 min left"
    assert said[1] == "step 135 of 1,000, loss 0.35, 14 min left"
    assert said[29] == "step 975 of 1,000, loss 8.75, 25 s left"


def test_work_of_unknown_size_has_no_time_left() -> None:
    clock, said = Clock(), list[str]()
    lines = Lines("sorting", 0, "rows", say=said.append, clock=clock)
    clock.now = 40
    lines.update(2_000_000)
    assert said == ["sorting: rows 2,000,000"]


def test_a_terminal_has_a_bar_and_a_log_has_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    log, terminal = io.StringIO(), io.StringIO()
    _at_once(monkeypatch)
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    for stream in (log, terminal):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress(3, "step", shown=True) as bar:
            for _ in range(3):
                bar.update()
                bar.set_postfix(loss="1.5")
    assert "\r" in terminal.getvalue()
    assert log.getvalue().splitlines()[1].startswith("localgcl: step 2 of 3, loss 1.5, ")
    assert "\r" not in log.getvalue()


def test_a_notebook_has_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=None)))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)  # no widgets
    with progress(3, "step") as bar:
        bar.update()
    assert "\r" in stream.getvalue()


def test_what_is_hidden_says_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _at_once(monkeypatch)
    with progress(3, "step", shown=False) as bar:
        bar.update()
        bar.set_postfix(loss=1)
    assert capsys.readouterr() == ("", "")


@pytest.mark.filterwarnings("ignore:the embeddings have collapsed")  # after three steps on four nodes
@pytest.mark.parametrize("quiet", [False, True])
def test_training_says_lines_off_a_terminal_unless_quiet(
    quiet: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n1,2\n2,3\n3,0\n")
    (tmp_path / "x.csv").write_text("id,a\n0,1\n1,2\n2,3\n3,5\n")
    _at_once(monkeypatch)
    files = ["--edges", str(tmp_path / "edges.csv"), "--features", str(tmp_path / "x.csv"), "--encoder", "gcn"]
    asked = ["train", *files, "--dim", "4", "--steps", "3", "--device", "cpu", "--out", str(tmp_path / "run")]
    assert main([*asked, *["--quiet"] * quiet]) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if " step " in line]
    assert bool(told) is not quiet
    if told:
        assert told[-1].startswith("localgcl: step 2 of 3, loss ")
        assert told[-1].endswith(" left")


def test_durations() -> None:
    assert [duration(seconds) for seconds in (0.4, 99, 119, 3600, 86_400)] == [
        "0 s",
        "99 s",
        "2 min",
        "1 h 0 min",
        "24 h 0 min",
    ]


def test_blocks_count_by_their_rows(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _at_once(monkeypatch)
    assert list(counted(iter(["abc", "de", "f"]), 6, "nodes", title="embedding")) == ["abc", "de", "f"]
    assert (
        capsys.readouterr().err == "localgcl: embedding: nodes 3 of 6, 0 s left\nlocalgcl: embedding: nodes 5 of 6, 0 s left\n"
    )
