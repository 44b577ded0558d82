"""A checkpoint gives back all of a run, the newest one counts, and a file that is not whole is never read."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from localgcl.config import TrainingOptions
from localgcl.datasets import sbm
from localgcl.methods import Method, configure
from localgcl.training import Model
from localgcl.training.checkpoint import (
    Progress,
    has_checkpoint,
    load_checkpoint,
    read_tensors,
    remove_checkpoints,
    save_checkpoint,
    write_tensors,
)
from localgcl.training.step import make_optimiser

GRAPH = sbm(40, classes=2, features=6, mean_degree=6, seed=0)


class Training:
    """What a checkpoint holds: a method with batch norm, so that it has buffers too, its optimiser and its generator."""

    def __init__(self, seed: int) -> None:
        config = configure("local-gcl", {"dim": 4, "batch_norm": True, "negatives": "sorf", "num_features": 8, "seed": seed})
        self.method: Method = Model.fresh(config, 6, {}).method.train()
        self.optimiser = make_optimiser(self.method, TrainingOptions(), GRAPH)
        self.generator = torch.Generator().manual_seed(seed)
        self.batch = self.method.prepare(GRAPH)

    def step(self) -> float:
        loss = self.method.loss(self.batch, self.generator)["loss"]
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        return float(loss.detach())

    def save(self, folder: Path, progress: Progress) -> Path:
        save_checkpoint(folder, self.method, self.optimiser, self.generator, progress)
        (path,) = folder.glob("checkpoint-*")
        return path

    def load(self, folder: Path) -> Progress | None:
        return load_checkpoint(folder, self.method, self.optimiser, self.generator)


@pytest.fixture
def trained() -> Training:
    """Two steps in."""
    training = Training(0)
    training.step(), training.step()
    return training


def test_a_run_is_given_back_whole(trained: Training, tmp_path: Path) -> None:
    best = {name: torch.full_like(value, 7) for name, value in trained.method.state_dict().items()}
    trained.save(tmp_path, Progress(step=2, seconds=1.5, best_loss=0.25, best_step=1, best=best))
    other = Training(1)
    progress = other.load(tmp_path)

    assert progress is not None
    assert progress.numbers() == {"step": 2, "seconds": 1.5, "best_loss": 0.25, "best_step": 1}
    torch.testing.assert_close(progress.best, best, rtol=0, atol=0)
    torch.testing.assert_close(other.method.state_dict(), trained.method.state_dict(), rtol=0, atol=0)
    ours, theirs = (training.optimiser.state_dict() for training in (other, trained))
    assert {"exp_avg", "exp_avg_sq", "step"} <= set(theirs["state"][0])  # Adam's moments, not an empty state
    torch.testing.assert_close(ours["state"], theirs["state"], rtol=0, atol=0)
    assert torch.equal(other.generator.get_state(), trained.generator.get_state())
    # And whatever else there may be: the next steps are the same to the bit.
    assert [other.step() for _ in range(3)] == [trained.step() for _ in range(3)]


def test_a_run_that_has_no_best_weights_yet(trained: Training, tmp_path: Path) -> None:
    trained.save(tmp_path, Progress(step=2))
    progress = Training(1).load(tmp_path)
    assert progress is not None
    assert progress.best == {}
    assert progress.best_loss == math.inf


def test_the_newest_wins_and_older_ones_are_removed(trained: Training, tmp_path: Path) -> None:
    """Also older ones that a crash left between writing and removing; step 9 comes before step 10."""
    old = trained.save(tmp_path, Progress(step=9))
    content = old.read_bytes()
    trained.step()
    new = trained.save(tmp_path, Progress(step=10))
    assert not old.exists()

    old.write_bytes(content)
    other = Training(1)
    progress = other.load(tmp_path)
    assert progress is not None
    assert progress.step == 10
    torch.testing.assert_close(other.method.state_dict(), trained.method.state_dict(), rtol=0, atol=0)

    trained.step()
    newest = trained.save(tmp_path, Progress(step=11))
    assert [path.name for path in tmp_path.iterdir()] == [newest.name]
    assert newest != new


def test_the_same_state_has_the_same_name(trained: Training, tmp_path: Path) -> None:
    assert trained.save(tmp_path, Progress(step=2)) == trained.save(tmp_path, Progress(step=2))


@pytest.mark.parametrize("damage", ["a flipped bit", "a cut", "nothing in it"])
def test_a_damaged_file_is_refused_by_name(damage: str, trained: Training, tmp_path: Path) -> None:
    path = trained.save(tmp_path, Progress(step=2))
    content = path.read_bytes()
    flipped = content[:-1] + bytes([content[-1] ^ 1])
    path.write_bytes({"a flipped bit": flipped, "a cut": content[: len(content) // 2], "nothing in it": b""}[damage])
    other = Training(1)
    before = {name: value.clone() for name, value in other.method.state_dict().items()}
    with pytest.raises(ValueError, match=r"is damaged .* delete it and train again") as error:
        other.load(tmp_path)
    assert str(path) in str(error.value)
    torch.testing.assert_close(other.method.state_dict(), before, rtol=0, atol=0)  # nothing of it was taken over


def test_a_temporary_file_left_behind_is_ignored(trained: Training, tmp_path: Path) -> None:
    """A process that is killed while it writes leaves a file under the temporary name of `replacing`."""
    half = tmp_path / ".checkpoint-00000099-0123456789abcdef.safetensors.89abcdef.safetensors"
    half.write_bytes(b"half a file")
    assert not has_checkpoint(tmp_path)
    assert trained.load(tmp_path) is None
    trained.save(tmp_path, Progress(step=2))
    progress = Training(1).load(tmp_path)
    assert progress is not None
    assert progress.step == 2


def test_a_write_that_fails_keeps_the_older_one(trained: Training, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = trained.save(tmp_path, Progress(step=2))

    def full(file: Path, content: bytes) -> None:
        with file.open("wb") as opened:
            opened.write(content[:100])
        raise OSError("No space left on device")

    trained.step()
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        save_checkpoint(tmp_path, trained.method, trained.optimiser, trained.generator, Progress(step=3))
    assert list(tmp_path.iterdir()) == [path]
    progress = Training(1).load(tmp_path)
    assert progress is not None
    assert progress.step == 2


def test_has_and_remove(trained: Training, tmp_path: Path) -> None:
    for name in ("weights.safetensors", "config.toml"):
        (tmp_path / name).touch()
    assert not has_checkpoint(tmp_path)
    assert trained.load(tmp_path) is None
    remove_checkpoints(tmp_path)  # nothing to do is no error
    path = trained.save(tmp_path, Progress(step=2))
    assert has_checkpoint(tmp_path)
    (tmp_path / f"checkpoint-00000001-{'0' * 16}.safetensors").touch()
    remove_checkpoints(tmp_path)
    assert not has_checkpoint(tmp_path)
    assert not path.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.toml", "weights.safetensors"]


# Weights

WRITE = """
import sys, torch
from pathlib import Path
from localgcl.training.checkpoint import write_tensors
tensors = {name: torch.arange(3.0) for name in ("b", "a", "method.encoder.weight")}
facts = {"step": 3, "num_inputs": 6}
order = list if sys.argv[2] == "1" else reversed
write_tensors(Path(sys.argv[1]), {name: tensors[name] for name in order(list(tensors))}, dict(order(list(facts.items()))))
"""


def test_the_same_content_gives_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    """Whatever the order of names, and whatever the salt of hashes in Python."""
    paths = [tmp_path / f"{salt}.safetensors" for salt in ("1", "2")]
    for path in paths:
        salted = {**os.environ, "PYTHONHASHSEED": path.stem}
        subprocess.run([sys.executable, "-c", WRITE, path, path.stem], env=salted, check=True)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    tensors, facts = read_tensors(paths[0])
    assert set(tensors) == {"a", "b", "method.encoder.weight"}
    assert facts == {"step": 3, "num_inputs": 6}


def test_tensors_come_back_as_they_went(tmp_path: Path) -> None:
    tensors = {
        "transposed": torch.arange(6.0).reshape(2, 3).T,
        "counter": torch.tensor(2**40),
        "double": torch.tensor([1 / 3], dtype=torch.float64),
        "none": torch.empty(0, 4),
    }
    write_tensors(tmp_path / "w.safetensors", tensors, {"step": 0})
    back, facts = read_tensors(tmp_path / "w.safetensors")
    assert facts == {"step": 0}
    torch.testing.assert_close(back, tensors, rtol=0, atol=0)
    assert [path.name for path in tmp_path.iterdir()] == ["w.safetensors"]


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
def test_a_truncated_file_is_refused_by_name(share: float, tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    write_tensors(path, {"a": torch.arange(1000.0)}, {"step": 0})
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match="is damaged or not a weights file") as error:
        read_tensors(path)
    assert str(path) in str(error.value)


def test_a_file_of_another_program_is_refused_by_name(tmp_path: Path) -> None:
    """Whole safetensors files, but without what `write_tensors` adds to them."""
    import safetensors.torch

    path = tmp_path / "other.safetensors"
    for metadata in (None, {"format": "pt"}, {"facts": "no JSON"}):
        safetensors.torch.save_file({"a": torch.ones(2)}, path, metadata)
        with pytest.raises(ValueError, match=r"other\.safetensors is damaged or not a weights file"):
            read_tensors(path)
