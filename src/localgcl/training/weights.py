"""Weights in files: safetensors with a few facts and a hash of the whole file, and checks before a model takes them over."""

import hashlib
import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from localgcl.config import Config, Scaling
from localgcl.methods import METHODS, Method
from localgcl.system.files import replacing
from localgcl.system.text import shown

_LOG = logging.getLogger(__name__)
_BLANK = "0" * 64


def pack(tensors: dict[str, Tensor], metadata: dict[str, str]) -> bytes:
    """The bytes of a safetensors file."""
    return safetensors.torch.save({name: value.contiguous().cpu() for name, value in tensors.items()}, metadata)


def write_tensors(path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
    """Writes a safetensors file. The same content always gives the same bytes.

    The metadata hold the facts and the SHA-256 of the file, computed with 64 zeros in its place: one file, so that no crash
    can part the two.
    """
    # One entry, because safetensors writes several in an order that changes from process to process.
    content = pack(tensors, {"sealed": json.dumps({**facts, "sha256": _BLANK}, sort_keys=True)})
    digest = hashlib.sha256(content).hexdigest()
    with replacing(path) as temporary:
        temporary.write_bytes(content.replace(_seal(_BLANK), _seal(digest), 1))


def read_tensors(path: str | os.PathLike[str]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What `write_tensors` wrote; ValueError names the file when it is damaged."""
    content = Path(path).read_bytes()
    try:
        with safe_open(path, framework="pt") as file:
            metadata: dict[str, str] = file.metadata() or {}
        if "sealed" in metadata:
            facts = dict(json.loads(metadata["sealed"]))
            digest = str(facts.pop("sha256"))
            if hashlib.sha256(content.replace(_seal(digest), _seal(_BLANK), 1)).hexdigest() != digest:
                raise ValueError("its content does not match its hash")
        else:
            facts = dict(json.loads(metadata["facts"]))
            _LOG.info("%s has no hash, as the first version wrote it: damage to it would not be noticed", path)
        return safetensors.torch.load(content), facts
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{path} is damaged or not a weights file ({shown(error)}); train again or restore a copy") from error


def _seal(digest: str) -> bytes:
    """The hash as the header has it: JSON within JSON, so quotes are escaped once. Quotes within a fact are escaped twice."""
    return rf"\"sha256\": \"{digest}\"".encode()


# Checks: names, shapes, types and values


def declared_method(config: Config, num_inputs: int) -> Method | None:
    """The method that `config` declares, on torch's meta device: its tensors have shapes and take no memory.

    None for a method that computes with values when it is built, which tensors without memory do not have.
    """
    try:
        with torch.device("meta"):
            return METHODS[config.method](num_inputs, config)
    except (RuntimeError, NotImplementedError):
        return None


def check_tensors(stored: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """Raises ValueError unless every expected tensor is stored, with its shape and type. More of them may be stored."""
    for name, tensor in expected.items():
        if name not in stored:
            raise ValueError(f"tensor {name} is missing")
        ours, theirs = _form(stored[name]), _form(tensor)
        if ours != theirs:
            raise ValueError(f"tensor {name} is {ours}, expected {theirs}")


def check_statistics(stored: Mapping[str, Tensor], scaling: Scaling, num_inputs: int) -> None:
    """Raises ValueError unless these are column statistics that `scaling` needs: finite ones, and nothing to divide by zero."""
    column = torch.empty(num_inputs, device="meta")
    expected = {"mean": column, "deviation": column} if scaling == "standard" else {}
    if set(stored) != set(expected):
        names = ", ".join(sorted(stored)) or "none"
        raise ValueError(f"the column statistics are {names}, and scaling is {scaling}")
    check_tensors(stored, expected)
    for name, values in stored.items():
        if not bool(torch.isfinite(values).all()) or (name == "deviation" and bool((values <= 0).any())):
            raise ValueError(f"the column statistics ({name}) have values that are not numbers, or not above 0")


def load_state(method: nn.Module, stored: Mapping[str, Tensor]) -> None:
    """Loads the weights into a method; ValueError, in one line, if they are not its own or not numbers."""
    check_tensors(stored, method.state_dict())
    try:
        method.load_state_dict(dict(stored))
    except RuntimeError as error:  # tensors that the method does not have
        raise ValueError(" ".join(str(error).split())) from error
    if (name := broken_tensor(method)) is not None:
        raise ValueError(f"tensor {name} has NaN or infinite values")


def broken_tensor(method: nn.Module) -> str | None:
    """The first parameter with NaN or infinite values, or the first buffer with NaN (it may mask with infinities)."""
    for name, parameter in method.named_parameters():
        if not bool(torch.isfinite(parameter).all()):
            return name
    return next((name for name, buffer in method.named_buffers() if bool(torch.isnan(buffer).any())), None)


def _form(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} of shape {tuple(tensor.shape)}"
