import pytest

from localgcl.commands import main

COMMANDS = [["train", "graph"], ["embed", "run", "-o", "parts"]]


@pytest.mark.parametrize("command", COMMANDS, ids=["train", "embed"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workers", "2"], "workers is 2, but there is no engine; add --engine ray"),
        (["--engine", "ray"], "engine is ray, but the number of workers is not given; add --workers K"),
    ],
)
def test_an_engine_and_its_workers_come_together(
    command: list[str], options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, *options]) == 1
    assert capsys.readouterr().err == f"localgcl: error: {message}\n"


@pytest.mark.parametrize("command", COMMANDS, ids=["train", "embed"])
def test_torchrun_and_an_engine_exclude_each_other(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    assert main([*command, "--engine", "ray", "--workers", "2"]) == 1
    assert "engine is ray, which starts the processes itself; leave torchrun out" in capsys.readouterr().err


def test_other_engines_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main(["train", "graph", "--engine", "spark", "--workers", "2"])
    assert exit.value.code == 2
    assert "invalid choice: 'spark'" in capsys.readouterr().err
