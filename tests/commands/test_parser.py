"""Usage errors: one line that names what was meant."""

import pytest

from localgcl.commands import main


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "localgcl: error: choose one of convert, "),
        (["trian"], "localgcl: error: there is no command 'trian'; did you mean train? See localgcl --help"),
        (["fly"], "localgcl: error: there is no command 'fly'; choose one of convert, "),
        (
            ["train", "--dimm", "3"],
            "localgcl train: error: there is no option --dimm; did you mean --dim? See localgcl train --help",
        ),
        (["train", "digits", "--dimm=3"], "there is no option --dimm; did you mean --dim?"),
        (["train", "digits", "--xyzzy"], "localgcl train: error: there is no option --xyzzy; see localgcl train --help"),
        (["train", "digits", "cora"], "there is no place for 'cora'; see localgcl train --help"),
        (["train", "digits", "--dim", "many"], "localgcl train: error: argument --dim: invalid int value: 'many'; see "),
        (["train", "digits", "--encoder", "gnc"], "argument --encoder: invalid choice: 'gnc' (choose from "),
        (["embed"], "localgcl embed: error: the following arguments are required: RUN, -o/--output; see localgcl embed --help"),
        (["train", "digits", "--temp", "1"], "there is no option --temp"),  # options are not abbreviated
    ],
)
def test_usage_errors_are_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert message in told.err
    assert told.err.endswith(" --help\n")


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        ("train", "usage: localgcl train [OPTIONS] [DATASET]"),
        ("embed", "usage: localgcl embed [OPTIONS] -o FILE RUN [DATASET]"),
        ("evaluate", "usage: localgcl evaluate [OPTIONS] RUN|FILE [RUN|FILE ...]"),
        ("datasets", "usage: localgcl datasets [OPTIONS]"),
    ],
)
def test_help_begins_with_what_must_be_given(command: str, usage: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert capsys.readouterr().out.splitlines()[:2] == [usage, ""]
