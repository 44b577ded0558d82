"""Checkpoints: model, optimiser and generator state in one file, written atomically, its hash in its name."""

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from localgcl.methods import Method
from localgcl.system.files import replacing
from localgcl.system.team import ALONE, Team
from localgcl.system.text import shown
from localgcl.training.weights import check_tensors, load_state, pack

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
    content = pack(tensors, {"progress": json.dumps(progress.numbers())})
    digest = hashlib.sha256(content).hexdigest()[:16]
    path = folder / f"checkpoint-{progress.step:08d}-{digest}.safetensors"
    with replacing(path) as temporary:
        temporary.write_bytes(content)
    for other in folder.glob(_PATTERN):
        if other != path:
            other.unlink()


def load_checkpoint(
    folder: Path | None,
    method: Method,
    optimiser: torch.optim.Optimizer,
    generator: torch.Generator,
    team: Team = ALONE,
) -> Progress:
    """Restores the newest checkpoint into the given objects, and returns how far it had come; the start when there is none.

    The first process of a team, which has the folder, reads it for all: they must not begin at different ones.

    Raises ValueError with the file's name if it is damaged, or if it is not a checkpoint of this method and optimiser.
    """
    paths = sorted(folder.glob(_PATTERN)) if folder is not None and team.rank == 0 else []
    path, content = team.broadcast((paths[-1], paths[-1].read_bytes()) if paths else (None, b""))
    if path is None:
        return Progress()
    try:
        if hashlib.sha256(content).hexdigest()[:16] != path.stem.rsplit("-", 1)[1]:
            raise ValueError("its content does not match the hash in its name")
        # Eight bytes hold the length of the header, which comes next.
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        progress = _progress(json.loads(header["__metadata__"]["progress"]))
        _restore(safetensors.torch.load(content), progress, method, optimiser, generator)
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{path} is damaged ({shown(error)}); delete it and train again") from error
    return progress


def _progress(numbers: Any) -> Progress:
    """The numbers of a checkpoint; ValueError unless they are those of `Progress.numbers`."""
    known = Progress().numbers()
    if not isinstance(numbers, dict) or set(numbers) != set(known):
        raise ValueError(f"its numbers are not {', '.join(known)}")
    for name, default in known.items():
        value = numbers[name]
        if type(value) not in {int, type(default)} or not (value >= 0 or name == "best_loss"):
            raise ValueError(f"{name} is {value!r}")
    return Progress(**numbers)


def _restore(
    tensors: dict[str, Tensor],
    progress: Progress,
    method: Method,
    optimiser: torch.optim.Optimizer,
    generator: torch.Generator,
) -> None:
    """Puts the tensors of a checkpoint in their places, once all of them are known to fit."""
    parts: dict[str, dict[str, Tensor]] = {"method": {}, "best": {}, "optimiser": {}, "generator": {}}
    for name, value in tensors.items():
        kind, _, rest = name.partition(".")
        parts[kind][rest] = value
    if parts["best"]:
        check_tensors(parts["best"], method.state_dict())
        progress.best = parts["best"]
    state = _moments(parts["optimiser"], optimiser)
    check_tensors(parts["generator"], {"": generator.get_state()})
    load_state(method, parts["method"])
    generator.set_state(parts["generator"][""])
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})


def _moments(stored: dict[str, Tensor], optimiser: torch.optim.Optimizer) -> dict[int, dict[str, Tensor]]:
    """Adam's state of each parameter, by the parameter's number; ValueError if it is not of that parameter's shape."""
    parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in stored.items():
        index, _, entry = name.partition(".")
        if not index.isdecimal() or int(index) >= len(parameters):
            raise ValueError(f"tensor optimiser.{name} belongs to no parameter")
        state.setdefault(int(index), {})[entry] = value
    for number, values in state.items():
        shapes = {"step": (), "exp_avg": parameters[number].shape, "exp_avg_sq": parameters[number].shape}
        if {name: value.shape for name, value in values.items()} != shapes or not float(values["step"]) >= 1:
            raise ValueError(f"the optimiser's tensors of parameter {number} are not those of Adam")
    return state


def has_checkpoint(folder: Path) -> bool:
    """True if there is a checkpoint to resume from."""
    return any(folder.glob(_PATTERN))


def remove_checkpoints(folder: Path) -> None:
    """Removes all checkpoints: a finished run needs none."""
    for path in folder.glob(_PATTERN):
        path.unlink()
