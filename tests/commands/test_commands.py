import csv
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from localgcl.commands import main
from localgcl.training import Model, RunFolder

FAST = ["--dim", "16", "--num-features", "64", "--steps", "4", "--device", "cpu"]


def run(*arguments: str | Path) -> int:
    return main([str(argument) for argument in arguments])


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A small graph in three CSV files, with string ids: two rings of five people, joined by one edge."""
    people = [f"p{i}" for i in range(10)]
    edges = [(i, (i + 1) % 5) for i in range(5)] + [(5 + i, 5 + (i + 1) % 5) for i in range(5)] + [(0, 5)]
    with (tmp_path / "edges.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("source", "target"), *((people[a], people[b]) for a, b in edges)])
    rng = np.random.default_rng(0)
    with (tmp_path / "features.csv").open("w", newline="") as file:
        rows = [(name, *(rng.normal(size=4) + 2 * (i >= 5)).round(3)) for i, name in enumerate(people)]
        csv.writer(file).writerows([("id", "a", "b", "c", "d"), *rows])
    with (tmp_path / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "label"), *((name, int(i >= 5)) for i, name in enumerate(people))])
    return tmp_path


def source(files: Path) -> list[str]:
    return [
        "--edges",
        str(files / "edges.csv"),
        "--features",
        str(files / "features.csv"),
        "--labels",
        str(files / "labels.csv"),
    ]


def test_help_needs_no_torch_and_names_every_command() -> None:
    code = "import sys, localgcl.commands as c\ntry: c.main(['--help'])\nexcept SystemExit: pass\nprint('torch' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip().endswith("False")
    for command in ("convert", "train", "embed", "evaluate", "compare", "tune", "datasets", "methods"):
        assert re.search(rf"^\s+{command}\s", printed, re.MULTILINE)


@pytest.mark.parametrize("command", ["convert", "train", "embed", "evaluate", "compare", "tune", "datasets", "methods"])
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        run(command, "--help")
    assert stop.value.code == 0
    assert f"usage: localgcl {command}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "instead"),
    [
        (["reproduce", "table-main", "--graphs", "cora"], "python -m paper table-main --graphs cora"),
        (["bench", "all"], "python -m paper bench all"),
        (["reproduce"], "python -m paper"),
        (["bench", "--help"], "python -m paper bench --help"),
    ],
)
def test_commands_that_moved_name_the_new_ones(arguments: list[str], instead: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*arguments) == 1
    told = capsys.readouterr()
    assert told.out == ""
    where = "has moved; in a checkout of the repository, run"
    assert told.err == f"localgcl: error: localgcl {arguments[0]} {where}: {instead}\n"


def test_lists(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("datasets") == 0
    listed = capsys.readouterr().out
    assert "cora" in listed
    assert "169,343" in listed
    assert run("methods") == 0
    assert "local-gcl" in capsys.readouterr().out


def test_from_files_to_embeddings_and_scores(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train", *source(files), *FAST, "--out", files / "run") == 0
    assert np.load(files / "run" / "embeddings.npy").shape == (10, 16)
    assert run("embed", files / "run", "-o", files / "z.parquet") == 0
    table = pq.read_table(files / "z.parquet")
    assert table.column_names[0] == "id"
    assert table.column("id").to_pylist() == [f"p{i}" for i in range(10)]
    assert run("embed", files / "run", "-o", files / "z.npy") == 0
    assert np.array_equal(np.load(files / "z.npy"), np.load(files / "run" / "embeddings.npy"))
    capsys.readouterr()
    assert run("evaluate", files / "run", "--protocol", "kmeans") == 0
    printed = capsys.readouterr().out
    for row in ("local-gcl", "random-init", "raw-features"):
        assert re.search(rf"^{row}\s+\d+\.\d\d ± ", printed, re.MULTILINE)
    assert run("evaluate", files / "z.parquet", "--labels", files / "labels.csv", "--protocol", "kmeans") == 0
    assert "embeddings" in capsys.readouterr().out


def test_training_says_which_negatives_it_chose_and_what_they_cost(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train", *source(files), *FAST, "--out", files / "run") == 0
    assert re.search(
        r"^negatives: exact \(this term alone, by torch: predicted [\d.e-]+ ms( and \d+ MiB)? a step( and channel)? on 2 thr",
        capsys.readouterr().out,
        re.MULTILINE,
    )
    assert run("train", *source(files), *FAST, "--negatives", "sorf", "--num-features", "512", "--out", files / "other") == 0
    assert "negatives:" not in capsys.readouterr().out


def test_embedding_a_graph_with_new_nodes(files: Path) -> None:
    assert run("train", *source(files), *FAST, "--out", files / "run") == 0
    (files / "more.csv").write_text((files / "edges.csv").read_text() + "p9,new\n")
    (files / "more_features.csv").write_text((files / "features.csv").read_text() + "new,1,1,1,1\n")
    assert (
        run("embed", files / "run", files / "more.csv", "--features", files / "more_features.csv", "-o", files / "z.csv") == 0
    )
    rows = list(csv.DictReader((files / "z.csv").open()))
    assert [row["id"] for row in rows][-1] == "new"
    assert len(rows) == 11


def test_options_given_override_the_defaults_and_are_kept(files: Path) -> None:
    assert (
        run("train", *source(files), *FAST, "--temperature", "0.7", "--seed", "3", "--no-symmetrise", "--out", files / "r") == 0
    )
    config = RunFolder.open(files / "r").config
    assert config.options.temperature == 0.7
    assert config.training.seed == 3
    assert config.preparation.symmetrise is False


def test_resuming_repeats_the_command_or_names_the_folder_and_changes_nothing(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["train", *source(files), *FAST, "--out", str(files / "run")]
    assert run(*command) == 0
    before = (files / "run" / "weights.safetensors").read_bytes()
    assert run(*command, "--resume") == 0
    assert run("train", "--resume", "--out", files / "run") == 0
    capsys.readouterr()
    for change in (["--seed", "5"], ["--labels", str(files / "edges.csv")]):
        assert run(*command, "--resume", *change) == 1
        assert "was started with" in capsys.readouterr().err
    assert run("train", "--resume", "--out", files / "run", "--method", "random-init") == 1
    assert "was started with method 'local-gcl', not 'random-init'" in capsys.readouterr().err
    assert (files / "run" / "weights.safetensors").read_bytes() == before


def test_other_methods(files: Path) -> None:
    assert run("train", *source(files), "--method", "random-init", "--dim", "8", "--device", "cpu", "--out", files / "r") == 0
    assert RunFolder.open(files / "r").config.method == "random-init"


def test_the_run_folder_works_from_another_directory(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    assert run("train", "--edges", "edges.csv", "--features", "features.csv", *FAST, "--out", "run") == 0
    monkeypatch.chdir("/")
    assert run("embed", files / "run", "-o", files / "z.npy") == 0


BAD: list[tuple[str, list[str], str]] = [
    ("no graph", [], "name a data set or give an edge file"),
    ("two graphs", ["digits", "--edges", "edges.csv"], "name a data set or give an edge file"),
    ("unknown data set", ["kora"], "did you mean 'cora'"),
    ("missing file", ["--edges", "nowhere.csv"], "nowhere.csv"),
    ("bad temperature", ["digits", "--temperature", "0"], "temperature is 0.0; it must be above 0"),
    ("NaN temperature", ["digits", "--temperature", "nan"], "temperature is nan"),
    ("no features", ["digits", "--num-features", "0"], "num-features is 0; it must be at least 1"),
    ("bad device", ["digits", "--device", "tpu"], "choose auto, cpu, cuda"),
    ("resume without folder", ["--resume"], "--resume needs --out DIR"),
    ("resume of a run never started", ["digits", "--resume"], "runs/digits is not a run folder"),
    ("resume of nothing", ["--resume", "--out", "nothing"], "is not a run folder"),
    ("unknown method", ["digits", "--method", "locla-gcl"], "did you mean 'local-gcl'"),
]


@pytest.mark.parametrize(("arguments", "message"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_bad_input_is_one_line_and_leaves_nothing(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("train", *arguments) == 1
    errors = capsys.readouterr().err
    assert errors.startswith("localgcl: error: ")
    assert errors.count("\n") == 1
    assert message in errors
    assert not any(tmp_path.iterdir())


BAD_FILES: list[tuple[str, dict[str, str], str]] = [
    ("edge to an unknown node", {"edges.csv": "source,target\np0,p99\n"}, "p99"),
    ("NaN feature", {"features.csv": "id,a\np0,nan\np1,1\n", "edges.csv": "source,target\np0,p1\n"}, "NaN or infinite"),
    ("no edges at all", {"edges.csv": "source,target\n"}, "edge"),
    ("only a loop", {"edges.csv": "source,target\np0,p0\n"}, "no two of the 10 nodes are connected"),
    (
        "one node",
        {"edges.csv": "source,target\np0,p0\n", "features.csv": "id,a\np0,1\n", "labels.csv": "id,l\np0,0\n"},
        "one node",
    ),
    ("non-integer labels", {"labels.csv": "id,label\np0,1.5\n"}, "is '1.5', not a class number"),
    ("numbers and text among labels", {"labels.csv": "id,label\np0,cat\np1,0\n"}, "is 'cat', not a class number"),
    ("empty file", {"edges.csv": ""}, "edges.csv"),
    ("ragged rows", {"edges.csv": "source,target\np0,p1\np2\n"}, "edges.csv"),
]


@pytest.mark.parametrize(("content", "message"), [case[1:] for case in BAD_FILES], ids=[case[0] for case in BAD_FILES])
def test_bad_files_are_one_line_and_leave_nothing(
    files: Path, content: dict[str, str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in content.items():
        (files / name).write_text(text)
    assert run("train", *source(files), *FAST, "--out", files / "run") == 1
    errors = capsys.readouterr().err
    assert errors.startswith("localgcl: error: ")
    assert errors.count("\n") == 1
    assert message in errors
    assert not (files / "run").exists()


def test_existing_outputs_are_kept(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train", *source(files), *FAST, "--out", files / "run") == 0
    before = (files / "run" / "weights.safetensors").read_bytes()
    assert run("train", *source(files), *FAST, "--out", files / "run", "--seed", "9") == 1
    assert "already exists" in capsys.readouterr().err
    assert (files / "run" / "weights.safetensors").read_bytes() == before
    (files / "z.npy").write_text("precious")
    assert run("embed", files / "run", "-o", files / "z.npy") == 1
    assert (files / "z.npy").read_text() == "precious"
    assert run("embed", files / "run", "-o", files / "z.npy", "--force") == 0


def test_a_class_with_one_member_cannot_be_scored(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = (files / "labels.csv").read_text().replace("p9,1", "p9,2")
    (files / "labels.csv").write_text(labels)
    assert run("train", *source(files), *FAST, "--out", files / "run") == 0
    assert run("evaluate", files / "run") == 1
    assert "fewer than 3 labelled nodes, one each to train, validate and test on: 2 (1); label more" in capsys.readouterr().err


def test_wrong_usage_exits_with_2() -> None:
    for arguments in (["fly"], [], ["train", "digits", "--dimm", "3"], ["train", "digits", "--dim", "many"]):
        with pytest.raises(SystemExit) as stop:
            run(*arguments)
        assert stop.value.code == 2


TRAIN = ["train", "digits", "--dim", "64", "--steps", "40", "--num-features", "256", "--negatives", "sorf", "--device", "cpu"]
TRAIN += ["--deterministic", "--threads", "1", "--checkpoint-every", "4", "--quiet", "--out"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The weights of a run that nothing disturbs."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    assert run(*TRAIN, folder) == 0
    return (folder / "weights.safetensors").read_bytes()


def _start_and_signal(folder: Path, number: signal.Signals) -> int:
    """Starts a training process and sends it a signal once its first checkpoint is on the disk."""
    process = subprocess.Popen([sys.executable, "-m", "localgcl", *TRAIN, str(folder)], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not list(folder.glob("checkpoint-*")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(number)
    return process.wait()


def test_kill_and_resume_equals_an_undisturbed_run(whole: bytes, tmp_path: Path) -> None:
    assert _start_and_signal(tmp_path / "killed", signal.SIGKILL) == -signal.SIGKILL
    assert not (tmp_path / "killed" / "weights.safetensors").exists()
    assert run("train", "--resume", "--out", tmp_path / "killed", "--quiet") == 0
    assert (tmp_path / "killed" / "weights.safetensors").read_bytes() == whole


def test_ctrl_c_exits_with_130_and_leaves_a_usable_run(whole: bytes, tmp_path: Path) -> None:
    assert _start_and_signal(tmp_path / "run", signal.SIGINT) == 130
    assert 0 < Model.load(tmp_path / "run").step < 40
    assert run("embed", tmp_path / "run", "-o", tmp_path / "z.npy") == 0
    assert run("train", "--resume", "--out", tmp_path / "run", "--quiet") == 0
    assert Model.load(tmp_path / "run").step == 40
    assert (tmp_path / "run" / "weights.safetensors").read_bytes() == whole


def test_output_can_be_cut_off(tmp_path: Path) -> None:
    # `localgcl datasets | head -1` closes our output early; that is not a crash.
    command = f"{sys.executable} -m localgcl datasets | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=tmp_path, env=os.environ, check=True)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--splits", "99999999999", "splits is 99999999999; it must be at least 1 and at most 1000"),
        ("--splits", "0", "splits is 0"),
        ("--seed", "-1", "seed is -1"),
        ("--seed", "9" * 30, "seed is 999"),
    ],
)
def test_evaluation_options_have_bounds(
    option: str, value: str, message: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A number of splits without end would never return."""
    np.save(files / "z.npy", np.random.default_rng(0).normal(size=(10, 3)))
    assert run("evaluate", files / "z.npy", "--labels", files / "labels.csv", option, value) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error


def test_sizes_of_methods_have_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("methods", "--nodes", "-5") == 1
    assert "nodes is -5; it must be at least 1" in capsys.readouterr().err
    assert run("methods", "--dim", "9" * 4000) == 1
    error = capsys.readouterr().err
    assert "dim is 999" in error
    assert len(error) < 500


def test_damaged_weights_are_one_line(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train", *source(files), *FAST, "--out", files / "run", "--quiet") == 0
    weights = files / "run" / "weights.safetensors"
    content = bytearray(weights.read_bytes())
    content[-10] ^= 1
    weights.write_bytes(content)
    for command in (
        f"embed {files / 'run'} -o {files / 'z.csv'}",
        f"evaluate {files / 'run'}",
        f"train --resume --out {files / 'run'}",
    ):
        assert run(*command.split()) == 1
        error = capsys.readouterr().err
        assert error.startswith(
            f"localgcl: error: {weights} is damaged or not a weights file (its content does not match its h"
        )
        assert error.count("\n") == 1
    assert not (files / "z.csv").exists()
