"""Files of tensors: safetensors with a few facts and a hash of the whole file, written whole or not at all."""

import hashlib
import json
import logging
import os
from pathlib import Path
from typing import Any

import safetensors.torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

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
