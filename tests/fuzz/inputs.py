"""Inputs by number, and what may come of one: a value, or an error that says in one line which file is wrong."""

import random
import traceback
import warnings
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from tests.datasets.small import Files
from tests.fuzz.mutations import mutate
from tests.fuzz.targets import TARGETS

ALLOWED: dict[type[BaseException], str] = {
    ValueError: "the content is wrong",
    OSError: "the file cannot be opened or read",
    FileNotFoundError: "the file is not there",
}
"""The exceptions that a reader may raise. Their subclasses are not allowed: those come from other libraries' insides."""

LONGEST_MESSAGE = 500  # characters: more than any message of ours needs, less than a row of a large file


class Finding(NamedTuple):
    """What is wrong with how a reader took an input."""

    kind: str
    """The exception and the place in our code that raised it: findings of one kind are one defect."""
    detail: str


def made(reader: str, number: int) -> Files:
    """The input of this number. Number 0 is the first seed, unchanged."""
    target = TARGETS[reader]
    rng = random.Random(f"{reader} {number}")
    if number == 0:
        return target.seeds[0]
    files = dict(rng.choice(target.seeds))
    name = rng.choice(target.changed)
    others = [content for seed in target.seeds for content in seed.values()]
    files[name] = mutate(rng, name, files[name], others)
    return files


def attempt(reader: str, files: Files, folder: Path) -> Finding | bool:
    """Reads the input: True if it was read, False if it was refused as it should be, else the finding."""
    target = TARGETS[reader]
    if target.on_disk:
        for name, content in files.items():
            (folder / name).write_bytes(content)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            target.read(files, folder)
    except Exception as error:
        fault = fault_of(error, tuple(files) if target.on_disk else (reader.partition("-")[0], *files, "data set"))
        return Finding(f"{fault} in {_place(error)}", f"{type(error).__name__}: {error}"[:300]) if fault else False
    return True


def fault_of(error: BaseException, names: tuple[str, ...]) -> str:
    """What is wrong with this exception; '' if a reader may raise it. A good message has one line and names a file."""
    if type(error) not in ALLOWED:
        return type(error).__name__
    cause: BaseException | None = error
    while cause is not None:
        # pyarrow reserves what a Parquet page header declares before it compares that with the page. The memory is never
        # touched, and the header is out of our reach.
        if isinstance(cause, MemoryError) and not isinstance(cause, pa.ArrowMemoryError):
            return "hidden MemoryError"
        cause = cause.__cause__ or cause.__context__
    message = str(error)
    if not message.isprintable():
        return "message of several lines or with control characters"
    if len(message) > LONGEST_MESSAGE:
        return "message without an end"
    return "" if any(name in message for name in names) else "message that names no file"


def _place(error: BaseException) -> str:
    """The last line of our own that the exception passed."""
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if "localgcl" in Path(frame.filename).parts]
    return f"{Path(ours[-1].filename).name}:{ours[-1].name}" if ours else "the fuzzer"
