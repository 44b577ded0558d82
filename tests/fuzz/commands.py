"""Command lines, drawn from the options that the commands really have, on a path of 60 nodes.

Allowed: done (0), one line that says what is wrong (1), wrong usage (2). No traceback, no other file changed, nothing left half
written. What takes long by design is made small: steps, sizes, trials, splits.
"""

import contextlib
import dataclasses
import functools
import importlib
import io
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from localgcl.commands import COMMANDS, main
from localgcl.config import Config
from localgcl.system.memory import OutOfMemory
from localgcl.training import fit
from localgcl.training.run import TrainingFailed
from tests.fuzz.runs import FINISHED, INTERRUPTED, LARGEST, LONGEST, is_type_of_option, step_and_hash

# Once, for all processes that are forked from this one.
MODULES = {name: importlib.import_module(f"localgcl.commands.{name}") for name in COMMANDS}

Files = Mapping[str, bytes]
NAME = "command.argv"
"""One argument a line."""

ALLOWED = (ValueError, TrainingFailed, ImportError, ModuleNotFoundError, OutOfMemory)
"""The exceptions whose message the command line prints, besides those of the system. Subclasses come from insides."""


def _table(header: str, rows: list[tuple[object, ...]]) -> bytes:
    return "".join(f"{line}\n" for line in (header, *(",".join(map(str, row)) for row in rows))).encode()


def _embeddings() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.arange(2 * N, dtype=np.float32).reshape(N, 2))
    return buffer.getvalue()


N = 60
EDGES = [(i, i + 1) for i in range(N - 1)]
TABLES: Files = {
    "edges.csv": _table("source,target", list(EDGES)),
    "x.csv": _table("id,a,b,c", [(i, i % 5, i % 2, i / 10) for i in range(N)]),
    "y.csv": _table("id,label", [(i, i % 2) for i in range(N)]),
    "z.npy": _embeddings(),
    "recipe.toml": b'[edges]\nencoder = "gcn"\ndim = 4\nsteps = 2\nnegatives = "exact"\n',
    "space.toml": b"dim = [2, 4]\ntemperature = [0.4, 0.6]\n",
    "notes.txt": b"mine\n",
}
FOLDERS = {"": TABLES, "run": FINISHED, "partial": INTERRUPTED[0], "failed": INTERRUPTED[1], "empty": {}}
SOURCE = "--edges edges.csv --features x.csv --labels y.csv"
FAST = "--encoder gcn --dim 4 --steps 2 --device cpu"
SEEDS = (
    f"train {SOURCE} {FAST} --negatives exact --out new",
    f"train {SOURCE} --recipe recipe.toml --out new/er --quiet",
    f"train {SOURCE} {FAST} --method dgi --out new",
    f"train {SOURCE} {FAST} --method grace --out new",
    f"train {SOURCE} {FAST} --hidden 3 --batch-norm --out new --warm-start run",
    f"train --edges edges.csv {FAST} --out failed",
    "train --resume --out partial",
    "embed run -o new.csv",
    "embed run --edges edges.csv --features x.csv -o new.parquet",
    "embed run --edges edges.csv --features x.csv -o z.npy --force",
    "evaluate run --protocol knn --splits 2",
    "evaluate z.npy --labels y.csv --protocol kmeans",
    f"tune {SOURCE} --trials 1 --seeds 1 --splits 1 --protocol knn --space space.toml --encoder gcn --device cpu",
    f"compare {SOURCE} --methods dgi local-gcl --seeds 1 --protocol knn --set steps=2 dim=8 --device cpu --out new",
    "datasets",
    "methods --nodes 10",
    "--help",
)


def content(command: str) -> Files:
    """An input: a command whose arguments are separated by blanks, as a file."""
    return {NAME: command.replace(" ", "\n").encode()}


def call(files: Files, folder: Path) -> object:
    """Runs the command in a folder with the tables, a finished run, an interrupted one, a failed one and an empty folder."""
    arguments = files[NAME].decode("utf-8", "surrogateescape").replace("\0", "").split("\n")
    place = folder / "commands"
    shutil.rmtree(place, ignore_errors=True)
    for name, there in FOLDERS.items():
        (place / name).mkdir(parents=True)
        for file, text in there.items():
            (place / name / step_and_hash(file, text)).write_bytes(text)
    source = "".join(
        f'{name} = "{place / file}"\n' for name, file in (("edges", "edges.csv"), ("features", "x.csv"), ("labels", "y.csv"))
    )
    for run in ("run", "partial", "failed"):
        path = place / run / "config.toml"
        path.write_text(path.read_text().replace("[source]\n", f"[source]\n{source}", 1))
    (place / "failed" / "failed.txt").write_text("the loss became nan\n")
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    code = _code(arguments, place)
    after = {path for path in place.rglob("*") if path.is_file()}
    if any(".localgcl-" in path.name for path in after):
        raise AssertionError("a temporary file is left")
    if "--force" not in arguments:
        lost = [path.name for path in before if not _is_kept(path, before[path], place)]
        if lost:
            raise AssertionError(f"changed or removed: {lost}")
    if code:
        raise ValueError(f"{NAME}: exit code {code}")
    return code


def _is_kept(path: Path, content: bytes, place: Path) -> bool:
    """True if the file is as it was, or was set aside; a resumed run gives up its checkpoint and writes its log again."""
    if path.parent == place / "partial" and (path.name.startswith("checkpoint-") or path.name == "metrics.csv"):
        return True
    places = path, path.parent / "failed-1" / path.name
    return any(where.is_file() and where.read_bytes() == content for where in places)


def _code(arguments: list[str], place: Path) -> int:
    """The exit code. Half of the command lines go through the handler of errors, the others show what it would hide."""
    debug = sum(map(len, arguments)) % 2 == 0
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", errors) for errors in ("strict", "backslashreplace"))
    where = os.getcwd()
    os.chdir(place)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _small():
            code = main([*arguments[:1], "--debug", *arguments[1:]] if debug and arguments[0] in COMMANDS else arguments)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
        if code == 2 and "error: " not in _text(err):
            raise AssertionError(f"wrong usage without a word: {_text(err)[-300:]}") from stop
    except Exception as error:
        ours = type(error) in ALLOWED and len(str(error)) < LONGEST
        if not (ours or isinstance(error, OSError) or is_type_of_option(error)):
            raise
        return 1
    finally:
        os.chdir(where)
    if code not in (0, 1, 2):
        raise AssertionError(f"exit code {code}")
    lines = _text(err).splitlines()
    if code == 1 and not (lines and lines[-1].startswith("localgcl: error: ") and lines[-1].isprintable()):
        raise AssertionError(f"not one line: {lines[-3:]}")
    if "Traceback" in _text(err):
        raise AssertionError(f"a traceback: {lines[-3:]}")
    return code


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode("utf-8")


@contextlib.contextmanager
def _small() -> Iterator[None]:
    """Cuts what is large to what takes milliseconds, after it was read and checked; no data set is downloaded."""

    def small_fit(graph: Any, config: Config, **others: Any) -> Any:
        values = {name: min(value, LARGEST[name]) for name, value in config.flat().items() if name in LARGEST}
        return fit(graph, config.replace(**{**values, "threads": 0}), **others)

    search, evaluate = MODULES["tune"].tune, MODULES["evaluate"]

    def small_tune(*arguments: Any, **others: Any) -> Any:
        limits = {"trials": 2, "seeds": 1, "splits": 1, "redraws": 1, "finalists": 1, "final_seeds": 1, "jobs": 1}
        protocol = "knn" if others["protocol"] in SLOW else others["protocol"]
        return search(
            *arguments, **{**others, **{name: min(others[name], most) for name, most in limits.items()}, "protocol": protocol}
        )

    comparing = MODULES["compare"].compare

    def small_compare(*arguments: Any, **others: Any) -> Any:
        small = {"seeds": 1, "splits": min(others["splits"], 2), "jobs": 1, "methods": (others["methods"] or ("dgi",))[:2]}
        protocol = "knn" if others["protocol"] in SLOW else others["protocol"]
        return comparing(*arguments, **{**others, **small, "protocol": protocol})

    with contextlib.ExitStack() as stack:
        for target in ("training.train.fit", "experiments.search.trials.fit", "experiments.compare.comparing.fit"):
            stack.enter_context(mock.patch(f"localgcl.{target}", small_fit))
        for target, stub in {
            "tune.tune": small_tune,
            "compare.compare": small_compare,
            "evaluate.compare_runs": functools.partial(_quick, evaluate.compare_runs),
            "evaluate.score_table": functools.partial(_quick, evaluate.score_table),
        }.items():
            stack.enter_context(mock.patch(f"localgcl.commands.{target}", stub))
        stack.enter_context(mock.patch.dict("os.environ", {"LOCALGCL_HOME": "home"}))
        stack.enter_context(mock.patch("urllib.request.urlopen", _offline))
        yield


def _quick(score: Callable[..., Any], *arguments: Any, **others: Any) -> Any:
    *files, options = arguments
    protocol = "knn" if options.protocol in SLOW else options.protocol
    return score(*files, dataclasses.replace(options, protocol=protocol, splits=min(options.splits or 2, 2)), **others)


SLOW = ("linear", "dgi", "gca", "cca-ssg", "grace", "bgrl", "mvgrl", "gmi", "sugrl", "afgrl", "af-gcl", "sklearn")


def _offline(*_: Any, **__: Any) -> None:
    raise OSError("no network here")
