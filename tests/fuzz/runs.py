"""Run folders: one file is changed, then the model is loaded and embeds, or the run is resumed.

Allowed: one line that names a file, or the same embedding as ever where the file does not matter. Weights with a bit flipped
must be refused; weights that somebody else wrote, with a right hash, may be any.
"""

import functools
import hashlib
import json
import re
import shutil
import tempfile
import warnings
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import jaxtyping
import torch
from torch import Tensor

from localgcl.graph import Graph
from localgcl.graph.prepare import column_statistics
from localgcl.methods import configure
from localgcl.training import Model, RunFolder, fit
from localgcl.training.checkpoint import Progress, save_checkpoint
from localgcl.training.run import TrainingFailed
from localgcl.training.step import make_optimiser

Files = Mapping[str, bytes]
Result = TypeVar("Result")

NODES = torch.arange(12)
GRAPH = Graph.from_edges(
    NODES, (NODES + 1) % 12, x=torch.stack([NODES.float(), (NODES % 3).float(), NODES.float().cos()], 1), name="ring"
)
GRAPH = GRAPH.with_features(GRAPH.x, ("a", "b", "c"))
CONFIG = configure(
    "local-gcl",
    {"dim": 4, "hidden": 3, "steps": 4, "scaling": "standard", "batch_norm": True, "negatives": "exact", "device": "cpu"},
)
ROWS = [{"step": step, "seconds": 0.5 * step, "loss": 3.0 - step, "rank": 2.0} for step in range(2)]
LARGEST = {"dim": 64, "hidden": 64, "layers": 4, "steps": 20, "num_features": 5000, "hard_pool": 5000, "hard_selected": 5000}
LARGEST["threads"] = 2
"""What a configuration may ask for and still be resumed here: more is allowed, but takes time, or more threads than a fuzzing
process may start."""

UNNAMED = ("failed-1", "the embeddings of", "feature columns", "feature values")
"""Errors of files that are whole, but not of this graph: weights that overflow, other names of columns."""
LONGEST = 2000  # characters: an unknown setting is answered with the list of those that are known


CHECKPOINT = "checkpoint.safetensors"
"""Under this name among the files of an input; in a run folder its name has the number of steps and a hash."""


def _content(folder: Path) -> Files:
    content = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    return {CHECKPOINT if name.startswith("checkpoint-") else name: content[name] for name in sorted(content)}


def _fresh(seed: int = 0) -> Model:
    model = Model.fresh(CONFIG.replace(seed=seed), 3, column_statistics(GRAPH, "standard"))
    model.feature_names = GRAPH.feature_names
    return model


def finished() -> Files:
    """The files of a run that is finished."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        _fresh().save(folder)
        RunFolder.open(folder).write_metrics(ROWS)
        return _content(folder)


def interrupted(*, best: bool) -> Files:
    """The files of a run that was killed after its second step; with the best weights so far, or without."""
    with tempfile.TemporaryDirectory() as name:
        config = CONFIG.replace(keep="best" if best else "last")
        run = RunFolder.create(Path(name) / "run", config, {}, {"threads": 1}, GRAPH.feature_names)
        run.write_metrics(ROWS)
        method = _fresh().method
        optimiser = make_optimiser(method, config.training, GRAPH)
        for parameter in method.parameters():
            parameter.grad = torch.ones_like(parameter)
        optimiser.step()
        weights = {name: value.clone() for name, value in method.state_dict().items()}
        progress = Progress(2, 1.0, 2.5, 1, weights if best else {})
        save_checkpoint(run.path, method, optimiser, torch.Generator().manual_seed(0), progress)
        return _content(run.path)


FINISHED = finished()
INTERRUPTED = interrupted(best=False), interrupted(best=True)


def load(files: Files, folder: Path) -> object:
    """Loads the run and embeds the graph."""
    run = _written(files, folder)
    changed = [name for name, content in files.items() if content != FINISHED[name]]
    z = _named(changed, lambda: Model.load(run).embed(GRAPH))
    if changed in ([], ["metrics.csv"]) and not torch.equal(z, _expected()):
        raise AssertionError(f"another embedding after a change of {changed}")
    if "weights.safetensors" in changed and not _sealed(files["weights.safetensors"]):
        raise AssertionError("damaged weights were loaded")
    return z


def resume(files: Files, folder: Path) -> object:
    """Resumes the run and embeds the graph. Most changed checkpoints get a name with the hash of their content."""
    named = dict(files)
    checkpoint = named.pop(CHECKPOINT)
    known = [seed[CHECKPOINT] for seed in INTERRUPTED]
    right = checkpoint in known or zlib.crc32(checkpoint) % 4
    named[step_and_hash(CHECKPOINT, checkpoint if right else known[0])] = checkpoint
    changed = [
        name.removesuffix(".safetensors") for name in files if not any(seed[name] == files[name] for seed in INTERRUPTED)
    ]
    run = _written(named, folder)
    opened = _named(changed, lambda: RunFolder.open(run))
    settings = opened.config.flat()
    settings["threads"] = settings["threads"] or opened.made.get("threads", 0)
    for name, largest in LARGEST.items():
        if settings.get(name, 0) > largest:
            raise ValueError(f"run refused: {name} = {settings[name]} takes longer than the fuzzer waits")
    others = [name for name in changed if name != "config.toml"]  # settings that cannot be had are named, not their file
    return _named(others, lambda: fit(GRAPH, opened.config, folder=run, resume=True).embed(GRAPH))


def step_and_hash(name: str, content: bytes) -> str:
    """The name of a file in a run folder."""
    return f"checkpoint-00000002-{hashlib.sha256(content).hexdigest()[:16]}.safetensors" if name == CHECKPOINT else name


def _written(files: Files, folder: Path) -> Path:
    run = folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    run.mkdir()
    for name, content in files.items():
        (run / name).write_bytes(content)
    return run


def _named(changed: list[str], action: Callable[[], Result]) -> Result:
    """What the action returns. An error that is expected must name a changed file, not only the folder."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return action()
    except (ValueError, OSError, TypeError) as error:
        if is_type_of_option(error):
            raise ValueError(f"run refused: {type(error).__name__}") from error
        message = str(error)
        if changed and not any(name in message for name in (*changed, *UNNAMED)):
            raise AssertionError(f"an error that names none of {changed}: {error}") from error
        if type(error) in (ValueError, TrainingFailed) and len(message) < LONGEST and message.isprintable():
            raise ValueError(f"run refused: {message[:300]}") from error
        raise


def is_type_of_option(error: Exception) -> bool:
    """True for what jaxtyping says of options while tests run, before `Checked` sees their types."""
    return isinstance(error, jaxtyping.TypeCheckError) and "Options.__init__" in str(error)


@functools.cache
def _expected() -> Tensor:
    return _fresh().embed(GRAPH)


SEAL = re.compile(rb'\\"sha256\\": \\"([0-9a-f]{64})\\"')


def _zeroed(content: bytes) -> bytes:
    return SEAL.sub(rb'\\"sha256\\": \\"' + b"0" * 64 + rb'\\"', content, count=1)


def _sealed(content: bytes) -> bool:
    """True if the file has a hash that is right, or is of the first version, which had none."""
    found = SEAL.search(content)
    return b'"facts"' in content if found is None else hashlib.sha256(_zeroed(content)).hexdigest().encode() == found[1]


# Changes of what is in a file


def inside_safetensors(rng: Random, content: bytes) -> bytes:
    """Another header, or other tensors; mostly with a right hash."""
    size = int.from_bytes(content[:8], "little")
    header, body = json.loads(content[8 : 8 + size]), content[8 + size :]
    if rng.random() < 0.3:
        at = rng.randrange(max(1, len(body) - 3))
        value = rng.choice((float("nan"), float("inf"), 0.0, -1.0, 1e38, 1e-45))
        body = body[:at] + torch.tensor(value).numpy().tobytes() + body[at + 4 :]
    else:
        header = _other_header(rng, header)
    text = json.dumps(header, separators=(",", ":")).encode()
    content = len(text).to_bytes(8, "little") + text + body
    if rng.random() < 0.85:
        zeroed = _zeroed(content)
        digest = hashlib.sha256(zeroed).hexdigest().encode()
        content = zeroed.replace(b"0" * 64, digest, 1) if SEAL.search(zeroed) else zeroed
    return content


ODD: tuple[Any, ...] = (0, -1, 1, 2**31, 2**63, 2**70, 1.5, True, None, "", "7", [], [0], {}, float("nan"), float("inf"), 1e308)


def _other_header(rng: Random, header: dict[str, Any]) -> dict[str, Any]:
    names = [name for name in header if name != "__metadata__"]
    choice, name = rng.randrange(8), rng.choice(names)
    if choice == 0:
        del header[rng.choice([*names, "__metadata__"])]
    elif choice == 1:
        header[rng.choice(("method.x", "statistics.mean", "other", "", "optimiser.0.step", "best.x", name.upper()))] = (
            header.pop(name)
        )
    elif choice == 2:
        header[name]["dtype"] = rng.choice(("F64", "F32", "F16", "BF16", "I64", "I32", "U8", "BOOL", "F8_E4M3", "C64", "X", 7))
    elif choice == 3:
        header[name]["shape"] = rng.choice(([], [0], [1], [2**40], [-1], [0, 2**62, 2**62], [3, 4], [4, 3], [12], "x", [1.5]))
    elif choice == 4:
        header[name]["data_offsets"] = rng.choice(([0, 0], [0, 4], [2**63, 2**64], [-4, 0], [4], []))
    elif choice == 5 and len(names) > 1:
        other = rng.choice(names)
        header[name], header[other] = header[other], header[name]
    else:
        metadata = header["__metadata__"]
        key = rng.choice(list(metadata))
        facts = json.loads(metadata[key])
        facts[rng.choice([*facts, "more"])] = rng.choice(ODD)
        if rng.random() < 0.2:
            del facts[rng.choice(list(facts))]
        # The same text for the hash as `json.dumps(..., sort_keys=True)` writes, so that it can be made right again.
        metadata[key] = json.dumps(facts, sort_keys=True) if rng.random() < 0.9 else rng.choice(("", "[]", "7", "[" * 2000))
    return header


def _words(text: str) -> list[str]:
    return text.split("|")


VALUES = _words(
    '0|-1|1|3|8|65536|65537|1000000000|1.5|nan|-inf|1e308|true|false|""|"x"|"gcn"|"mlp"|"hops"|"cuda"|"exact"|"sorf"'
)
VALUES += _words('"best"|[]|[1]|["X"]|"standard"|"l2"|{}|{a = 1}|2020-01-01|1979-05-27T07:32:00Z|"\\u0000"')
VALUES += ["9" * 400, "0x" + "f" * 500, "[" * 300]
METHODS = ("dgi", "grace", "raw-features", "random-init", "bgrl", "", "lokal", "../x")


def inside_toml(rng: Random, content: bytes) -> bytes:
    """Other values, lines that are missing or twice, and other tables."""
    lines = content.decode().split("\n")
    at = rng.choice([place for place, line in enumerate(lines) if line])
    choice, (name, equals, _) = rng.randrange(8), lines[at].partition(" = ")
    if choice == 0:
        del lines[at]
    elif choice == 1:
        lines.insert(rng.randrange(len(lines)), lines[at])
    elif choice == 2:
        lines[at] = rng.choice(("[settings]", "[source]", "[made]", "[[made]]", "[settings.dim]", "source = 3", "made = 1"))
    elif choice == 3:
        lines[0] = f'method = "{rng.choice(METHODS)}"'
    elif equals:
        lines[at] = f"{name} = {rng.choice(VALUES)}"
    return "\n".join(lines).encode()
