import re
import runpy
from pathlib import Path

import pytest

from localgcl.commands import main
from localgcl.methods import METHODS
from localgcl.methods.baselines import RandomInit

EXAMPLE = Path(__file__).parent.parent / "examples" / "new_method.py"


def test_a_method_of_ones_own(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(METHODS, "triplet", RandomInit)  # so that the registry is as it was when the test is over
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert METHODS["triplet"].__name__ == "Triplet"
    untrained, trained = (float(number) for number in re.findall(r"accuracy ([\d.]+)%", capsys.readouterr().out))
    assert trained > untrained + 1
    assert main(["methods"]) == 0
    assert "neighbours nearer than random nodes" in capsys.readouterr().out


def test_it_is_short() -> None:
    assert len([line for line in EXAMPLE.read_text().splitlines() if line.strip()]) < 40
