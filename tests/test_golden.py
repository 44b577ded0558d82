"""Run folders of earlier versions still load: tests/golden/run-VERSION was written by `localgcl train` of that version.

Never write such a folder again with newer code; add one for each release whose files differ.
"""

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import localgcl as lg
from localgcl.commands import main
from localgcl.datasets import random_splits
from localgcl.training import RunFolder
from localgcl.training.weights import read_tensors, write_tensors

GOLDEN = Path(__file__).parent / "golden" / "run-0.1.0"  # digits, 4 dimensions, 3 steps


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A copy that commands may write to."""
    return Path(shutil.copytree(GOLDEN, tmp_path / "run"))


def assert_golden(z: NDArray[Any]) -> None:
    """Here the embeddings are the same to the bit. Another processor or library sums 64 products and a node's neighbours in
    another order: some 1e-6 of numbers up to 3.5, times a few for batch norm. Any change of meaning moves the first digit."""
    np.testing.assert_allclose(z, np.load(GOLDEN / "embeddings.npy"), rtol=0, atol=1e-4)


@pytest.mark.parametrize("kind", [lg.LocalGCL, lg.Embedder])
def test_estimators_load_it(kind: type[lg.LocalGCL] | type[lg.Embedder]) -> None:
    model = kind.load(GOLDEN)
    z = model.transform(lg.load("digits"))
    assert z.shape == (1797, 4)
    assert z.dtype == np.float32
    assert_golden(z)
    assert [row["step"] for row in model.history_] == [0, 1, 2]
    assert [row["loss"] for row in model.history_] == [6.813628196716309, 6.872372627258301, 6.862590312957764]
    assert all({"positive", "negative", "clamped", "spread", "rank"} <= set(row) for row in model.history_)
    settings = model.get_params()
    assert (settings["dim"], settings["steps"], settings["scaling"], settings["num_features"]) == (4, 3, "standard", 64)


def test_the_folder_says_where_it_comes_from() -> None:
    folder = RunFolder.open(GOLDEN)
    assert folder.source == {"dataset": "digits"}
    assert folder.made["packages"]["localgcl"] == "0.1.0"


def test_embed_command(run: Path, tmp_path: Path) -> None:
    assert main(["embed", str(run), "-o", str(tmp_path / "z.npy")]) == 0
    assert_golden(np.load(tmp_path / "z.npy"))


def test_evaluate_command(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(run), "--protocol", "knn", "--splits", "2"]) == 0
    printed = capsys.readouterr().out
    scores = {name: float(value) for name, value in re.findall(r"^(\S+) +([\d.]+) ±", printed, re.MULTILINE)}
    assert set(scores) == {"local-gcl", "random-init", "raw-features"}
    graph = lg.load("digits")
    direct = lg.evaluate(np.load(GOLDEN / "embeddings.npy"), graph, random_splits(graph, num=2), protocol="knn").mean
    # Two decimals are printed; and rounding might turn the votes of one of 1797 nodes.
    assert scores["local-gcl"] == pytest.approx(direct, abs=0.2)
    assert scores["local-gcl"] > 30  # 10% is chance


def test_a_finished_run_is_not_trained_again(run: Path) -> None:
    before = {path.name: path.read_bytes() for path in run.iterdir() if path.name != "embeddings.npy"}
    assert main(["train", "--resume", "--out", str(run), "--quiet"]) == 0
    assert {name: (run / name).read_bytes() for name in before} == before
    assert_golden(np.load(run / "embeddings.npy"))


def test_the_number_of_steps_among_the_weights(run: Path) -> None:
    """Version 0.1 kept it there when hard negatives were on."""
    config = (run / "config.toml").read_text()
    (run / "config.toml").write_text(config.replace('hard_negatives = "none"', 'hard_negatives = "progcl-mix"'))
    weights, facts = read_tensors(run / "weights.safetensors")
    write_tensors(run / "weights.safetensors", {**weights, "method.steps_done": torch.tensor(3)}, facts)
    model = lg.LocalGCL.load(run)
    assert model.model_.config.options.hard_negatives == "progcl-mix"
    assert_golden(model.transform(lg.load("digits")))
