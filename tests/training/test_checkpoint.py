"""A checkpoint gives back all of a run, the newest one counts, and a file that is not whole is never read."""

import hashlib
import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
import safetensors.torch
import torch

from localgcl.config import TrainingOptions
from localgcl.datasets import sbm
from localgcl.methods import Method, configure
from localgcl.training import Model
from localgcl.training.checkpoint import (
    Progress,
    has_checkpoint,
    load_checkpoint,
    remove_checkpoints,
    save_checkpoint,
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

    def load(self, folder: Path) -> Progress:
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
    half = tmp_path / ".checkpoint-00000099-0123456789abcdef.safetensors.localgcl-89abcdef.safetensors"
    half.write_bytes(b"half a file")
    assert not has_checkpoint(tmp_path)
    assert trained.load(tmp_path) == Progress()
    trained.save(tmp_path, Progress(step=2))
    progress = Training(1).load(tmp_path)
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
    assert progress.step == 2


def test_has_and_remove(trained: Training, tmp_path: Path) -> None:
    for name in ("weights.safetensors", "config.toml"):
        (tmp_path / name).touch()
    assert not has_checkpoint(tmp_path)
    assert trained.load(tmp_path) == Progress()
    remove_checkpoints(tmp_path)  # nothing to do is no error
    path = trained.save(tmp_path, Progress(step=2))
    assert has_checkpoint(tmp_path)
    (tmp_path / f"checkpoint-00000001-{'0' * 16}.safetensors").touch()
    remove_checkpoints(tmp_path)
    assert not has_checkpoint(tmp_path)
    assert not path.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.toml", "weights.safetensors"]


# Whole files with a right hash, of other content


def forge(folder: Path, old: Path, tensors: dict[str, torch.Tensor], progress: str | None) -> Path:
    """Puts another checkpoint in the place of `old`, under a name with the hash of its content."""
    old.unlink()
    content = safetensors.torch.save(tensors, None if progress is None else {"progress": progress})
    path = folder / f"checkpoint-00000002-{hashlib.sha256(content).hexdigest()[:16]}.safetensors"
    path.write_bytes(content)
    return path


NUMBERS = {"step": 2, "seconds": 1.0, "best_loss": 0.5, "best_step": 1}
WRONG_NUMBERS: list[str | None] = [
    None,
    "no JSON",
    "[]",
    "{}",
    "[" * 10_000,
    json.dumps({**NUMBERS, "best": {}}),
    *(json.dumps({**NUMBERS, name: value}) for name, value in (("step", "2"), ("step", -1), ("step", 2.5), ("step", True))),
    *(json.dumps({**NUMBERS, name: value}) for name, value in (("best_step", None), ("seconds", None), ("best_loss", "low"))),
    json.dumps({**NUMBERS, "seconds": math.nan}),
]


@pytest.mark.parametrize("progress", WRONG_NUMBERS, ids=range(len(WRONG_NUMBERS)))
def test_wrong_numbers_are_refused_by_name(progress: str | None, trained: Training, tmp_path: Path) -> None:
    old = trained.save(tmp_path, Progress(step=2))
    path = forge(tmp_path, old, safetensors.torch.load(old.read_bytes()), progress)
    with pytest.raises(ValueError, match=r"is damaged .* delete it and train again") as error:
        Training(1).load(tmp_path)
    assert str(path) in str(error.value)


def without(name: str) -> Callable[[dict[str, torch.Tensor]], object]:
    return lambda tensors: tensors.pop(next(key for key in tensors if key.startswith(name)))


def put(name: str, value: torch.Tensor) -> Callable[[dict[str, torch.Tensor]], object]:
    return lambda tensors: tensors.update({next((key for key in tensors if key.startswith(name)), name): value})


WRONG_TENSORS: dict[str, Callable[[dict[str, torch.Tensor]], object]] = {
    "no generator": without("generator"),
    "generator of another size": put("generator", torch.zeros(3, dtype=torch.uint8)),
    "generator of floats": put("generator", torch.zeros(5056)),
    "a weight missing": without("method.encoder"),
    "a weight of another shape": put("method.encoder", torch.ones(2)),
    "a weight of integers": put("method.encoder", torch.ones(6, 4, dtype=torch.int64)),
    "a weight that is NaN": put("method.encoder", torch.full((4, 6), math.nan)),
    "a weight that is unknown": put("method.unknown", torch.ones(2)),
    "a best weight alone": put("best.unknown", torch.ones(2)),
    "a tensor of no kind": put("other", torch.ones(2)),
    "a moment missing": without("optimiser.0.exp_avg"),
    "a moment of another shape": put("optimiser.0.exp_avg", torch.ones(2)),
    "a number of updates below one": put("optimiser.0.step", torch.tensor(-1.0)),
    "a moment of no parameter": put("optimiser.99.step", torch.ones(())),
    "a moment without number": put("optimiser.x.step", torch.ones(())),
    "nothing": lambda tensors: tensors.clear(),
}


@pytest.mark.parametrize("change", WRONG_TENSORS.values(), ids=WRONG_TENSORS)
def test_wrong_tensors_are_refused_by_name(
    change: Callable[[dict[str, torch.Tensor]], object], trained: Training, tmp_path: Path
) -> None:
    old = trained.save(tmp_path, Progress(step=2))
    tensors = safetensors.torch.load(old.read_bytes())
    change(tensors)
    path = forge(tmp_path, old, tensors, json.dumps(NUMBERS))
    other = Training(1)
    state = other.generator.get_state()
    with pytest.raises(ValueError, match=r"is damaged .* delete it and train again") as error:
        other.load(tmp_path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
    assert torch.equal(other.generator.get_state(), state)
