"""Fitted encodings in files, and what users give for one."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from localgcl.io.encode import Encoding
from localgcl.system.files import replacing
from localgcl.system.text import shown

AUTO = "auto"
FILE = "encoding.json"
"""The encoding in a run folder."""


def as_encoding(given: Any) -> Encoding | str | None:
    """What `encode` means: None, "auto" to fit one, or a fitted one, given as such, as `Graph.encoding` or as a file.

    Raises:
        ValueError: It is none of them.
        FileNotFoundError: There is no such file.
    """
    if given is None or given == AUTO or isinstance(given, Encoding):
        return given  # type: ignore[no-any-return]
    if isinstance(given, Mapping):
        return Encoding.from_dict(given)
    if not isinstance(given, str | os.PathLike):
        raise ValueError(f"encode is of type {type(given).__name__}; give 'auto', Graph.encoding, or a file encoding.json")
    path = Path(given)
    if not path.is_file():
        raise FileNotFoundError(f"encode is {shown(given)!r:.200}, which is no file; give 'auto', or encoding.json of a run")
    try:
        return Encoding.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{shown(path)} is damaged ({str(error)[:80]}); restore a copy or train again") from error


def write_encoding(folder: Path, encoding: Mapping[str, Any]) -> None:
    """Writes encoding.json into a folder."""
    with replacing(folder / FILE) as temporary:
        temporary.write_text(json.dumps(encoding, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
