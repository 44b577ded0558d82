"""Checkpoints: model, optimiser and generator state in one file, written atomically, its hash in its name."""

import dataclasses
import hashlib
import json
import os
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from localgcl.methods import Method
from localgcl.system.files import replacing

_PATTERN = "checkpoint-*.safetensors"


@dataclasses.dataclass
class Progress:
    """How far a run has come: together with the tensors, all that resuming needs."""

    step: int = 0
    seconds: float = 0.0
    best_loss: float = float("inf")
    best_step: int = 0
    best: dict[str, Tensor] = dataclasses.field(default_factory=dict)
    """The weights that gave `best_loss`; empty unless the best weights are kept."""

    def numbers(self) -> dict[str, float | int]:
        """All but the tensors."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "best"}


def save_checkpoint(
    folder: Path, method: Method, optimiser: torch.optim.Optimizer, generator: torch.Generator, progress: Progress
) -> None:
    """Writes a checkpoint, then removes the older ones."""
    tensors = {f"method.{name}": value for name, value in method.state_dict().items()}
    for index, state in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{index}.{name}": torch.as_tensor(value) for name, value in state.items()}
    tensors |= {f"best.{name}": value for name, value in progress.best.items()}
    tensors["generator"] = generator.get_state()
    content = _packed(tensors, {"progress": json.dumps(progress.numbers())})
    digest = hashlib.sha256(content).hexdigest()[:16]
    path = folder / f"checkpoint-{progress.step:08d}-{digest}.safetensors"
    with replacing(path) as temporary:
        temporary.write_bytes(content)
    for other in folder.glob(_PATTERN):
        if other != path:
            other.unlink()


def load_checkpoint(
    folder: Path, method: Method, optimiser: torch.optim.Optimizer, generator: torch.Generator
) -> Progress | None:
    """Restores the newest checkpoint into the given objects; None when there is none."""
    paths = sorted(folder.glob(_PATTERN))
    if not paths:
        return None
    path = paths[-1]
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest()[:16] != path.stem.rsplit("-", 1)[1]:
        raise ValueError(f"{path} is damaged (its content does not match the hash in its name); delete it and train again")
    with safe_open(path, framework="pt") as file:
        progress = Progress(**json.loads(file.metadata()["progress"]))
    tensors = safetensors.torch.load(content)
    generator.set_state(tensors.pop("generator"))
    state: dict[int, dict[str, Tensor]] = {}
    weights: dict[str, Tensor] = {}
    for name, value in tensors.items():
        kind, _, rest = name.partition(".")
        if kind == "method":
            weights[rest] = value
        elif kind == "best":
            progress.best[rest] = value
        else:
            index, _, entry = rest.partition(".")
            state.setdefault(int(index), {})[entry] = value
    method.load_state_dict(weights)
    groups = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": state, "param_groups": groups})
    return progress


def has_checkpoint(folder: Path) -> bool:
    """True if there is a checkpoint to resume from."""
    return any(folder.glob(_PATTERN))


def remove_checkpoints(folder: Path) -> None:
    """Removes all checkpoints: a finished run needs none."""
    for path in folder.glob(_PATTERN):
        path.unlink()


def write_tensors(path: Path, tensors: dict[str, Tensor], numbers: dict[str, int]) -> None:
    """Writes a safetensors file, whole or not at all. The same content always gives the same bytes."""
    # One entry, because safetensors writes several in an order that changes from process to process.
    metadata = {"facts": json.dumps(numbers, sort_keys=True)}
    with replacing(path) as temporary:
        temporary.write_bytes(_packed(tensors, metadata))


def _packed(tensors: dict[str, Tensor], metadata: dict[str, str]) -> bytes:
    return safetensors.torch.save({name: value.contiguous().cpu() for name, value in tensors.items()}, metadata)


def read_tensors(path: str | os.PathLike[str]) -> tuple[dict[str, Tensor], dict[str, int]]:
    """What `write_tensors` wrote; ValueError names the file when it is damaged."""
    try:
        with safe_open(path, framework="pt") as file:
            numbers: dict[str, int] = json.loads(file.metadata()["facts"])
            return {name: file.get_tensor(name) for name in file.keys()}, numbers  # noqa: SIM118 - not a mapping
    except (SafetensorError, TypeError, KeyError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is damaged or not a weights file ({error}); train again or restore a copy") from error
