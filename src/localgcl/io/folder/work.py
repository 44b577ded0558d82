"""What the stages of a conversion share, and its state on disk: which are done, so that a killed conversion resumes.

A stage writes into OUT/.convert. When it is done, state.json there says so, with the hash of every file that it made. At the
end the files are moved to OUT, the header is written, and .convert is removed.
"""

import contextlib
import dataclasses
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from localgcl.graph.stored import HEADER, NAMES, WORK, FolderError, Header, declared, file_hash, read_header, write_header
from localgcl.io.folder.engine import Engine, parquet
from localgcl.io.folder.inputs import Inputs
from localgcl.io.folder.rows import EdgeRows, LabelRows
from localgcl.io.ids import unknown_node
from localgcl.system.files import locked, replacing
from localgcl.system.progress import progress
from localgcl.system.text import shown

STATE, LOCK, SPILL = "state.json", "lock", "spill"
_OVER = "choose another --out, or start over with --overwrite"

Facts = dict[str, Any]
"""Results of a stage for later stages and the header; JSON types only."""


@dataclasses.dataclass(frozen=True)
class Job:
    """One conversion.

    Args:
        inputs: The files.
        edges: The rows of the table of edges.
        labels: Those of the table of labels, if there is one.
        folder: Where stages write.
        engine: DuckDB.
        say: Takes a line for each stage that is done.
        bar: Whether to show progress bars.
        integers: Whether ids are integers.
        memory: Bytes that the process may take.
    """

    inputs: Inputs
    edges: EdgeRows
    labels: LabelRows | None
    folder: Path
    engine: Engine
    say: Callable[[str], None]
    bar: bool
    integers: bool
    memory: int

    @contextlib.contextmanager
    def stage(self, title: str, total: int, unit: str = "rows") -> Iterator[Callable[[int], object]]:
        """Yields a function to call with the number of rows done since its last call. `total` may be an estimate."""
        started = time.perf_counter()
        with progress(total, f" {unit}", title=title, shown=self.bar, unit_scale=True) as bar:
            yield bar.update
        self.say(f"{title}: {time.perf_counter() - started:.1f} s")

    def nodes(self, facts: Facts) -> str:
        """The SQL that gives all nodes: `id` and `row`."""
        if facts["numbered"]:
            kind = "BIGINT" if self.integers else "VARCHAR"
            return f"(SELECT range::{kind} AS id, range AS row FROM range({facts['nodes']}))"
        return f"(SELECT id, file_row_number AS row FROM {parquet(self.folder / 'ids.parquet')})"

    def refuse_unknown(self, facts: Facts, ids: str, place: str, mention: str, **streams: Any) -> None:
        """Raises ValueError that names the first id that is no node, and counts the others.

        Args:
            facts: What is known of the nodes.
            ids: A SELECT of the columns `id` and `place`, by which they are ordered.
            place: Where the ids stand, for messages.
            mention: What the user may drop.
            **streams: The tables of the SELECT, as for `Engine.rows`.
        """
        query = f"SELECT id, min(place) AS place FROM ({ids}) e ANTI JOIN {self.nodes(facts)} n ON n.id = e.id GROUP BY id"
        count, first = self.engine.rows(f"SELECT count(*), arg_min(id, (place, id)) FROM ({query})", **streams)[0]
        table = self.inputs.features or self.inputs.edges
        raise unknown_node(place, first, count, table.place, facts["nodes"] if facts["rows_are_nodes"] else None, mention)


def blocks(count: int, size: int) -> Iterator[slice]:
    """Slices of `size` rows that cover `count` rows."""
    return (slice(start, min(count, start + size)) for start in range(0, count, size))


class Work:
    """The folder OUT/.convert and its state.

    Args:
        out: The graph folder.
        inputs: Fingerprint of the files and options.
    """

    def __init__(self, out: Path, inputs: str) -> None:
        self.out, self.folder, self.inputs = out, out / WORK, inputs
        self.integers: bool | None = None
        """Whether ids are integers; None before the first rows of the files were read."""
        self.stages: dict[str, Facts] = {}
        self.hashes: dict[str, str] = {}

    @property
    def facts(self) -> Facts:
        """Results of all finished stages."""
        return {name: value for stage in self.stages.values() for name, value in stage.items()}

    def load(self) -> None:
        """Reads the state that an earlier process left, if there is one."""
        state = _read_state(self.folder)
        if state is not None:
            self.integers, self.stages, self.hashes = state["integers"], state["stages"], state["hashes"]

    def begin(self, *, integers: bool) -> None:
        """Starts anew: no stage is done."""
        self.integers, self.stages, self.hashes = integers, {}, {}
        self._save()

    def record(self, stage: str, facts: Facts) -> None:
        """Notes that a stage is done."""
        for name in facts["files"]:
            with (self.folder / name).open("r+b") as file:  # hashed once it is on the disk
                os.fsync(file.fileno())
            self.hashes[name] = file_hash(self.folder / name)
        self.stages[stage] = facts
        self._save()

    def publish(self, header: Header) -> Header:
        """Moves the files to their places and writes the header. It can be repeated after a kill."""
        for name in self.hashes:
            if (self.folder / name).exists():
                (self.folder / name).replace(self.out / name)
        return write_header(self.out, header, self.hashes)

    def clean(self) -> None:
        """Removes OUT/.convert."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _save(self) -> None:
        content = {"inputs": self.inputs, "integers": self.integers, "stages": self.stages, "hashes": self.hashes}
        with replacing(self.folder / STATE) as temporary:
            temporary.write_text(json.dumps(content), encoding="utf-8")


def finished(out: Path, inputs: str) -> Header | None:
    """The header of a complete graph folder made from these inputs; None if it has yet to be made.

    Raises:
        FolderError: The folder holds something else.
    """
    if out.exists() and not out.is_dir():
        raise FolderError(f"{shown(out)} is a file; {_OVER.partition(',')[0]}")
    if (out / HEADER).exists():
        if declared(out).inputs != inputs:
            raise FolderError(f"{shown(out)} holds a graph of other files or options; {_OVER}")
        try:
            return read_header(out)
        except FolderError:
            remove_ours(out)  # damaged: it is made again
    state = _read_state(out / WORK)
    if state is not None and state["inputs"] != inputs:
        raise FolderError(f"{shown(out)} holds a half-done conversion of other files or options; {_OVER}")
    if state is None and out.is_dir():
        _refuse_foreign(out)
    return None


def remove_ours(out: Path) -> None:
    """Removes what `localgcl convert` made in a folder, finished or not, and nothing else.

    Raises:
        FolderError: Header or state is damaged, so that it is unknown what was made.
    """
    if (out / WORK / LOCK).exists():
        with locked(out / WORK / LOCK, otherwise=_busy(out)):
            pass  # no other process converts into it
    names: set[str] = set()
    if (out / HEADER).exists():
        names |= set(declared(out).files)
    state = _read_state(out / WORK)
    names |= set() if state is None else set(state["hashes"])
    (out / HEADER).unlink(missing_ok=True)  # first: from now on nothing here reads as whole
    for name in names & set(NAMES):
        (out / name).unlink(missing_ok=True)
    if state is not None:
        shutil.rmtree(out / WORK)


@contextlib.contextmanager
def claimed(work: Work) -> Iterator[None]:
    """Makes OUT/.convert and holds its lock."""
    work.folder.mkdir(parents=True, exist_ok=True)
    (work.folder / LOCK).touch()
    with locked(work.folder / LOCK, otherwise=_busy(work.out)):
        shutil.rmtree(work.folder / SPILL, ignore_errors=True)
        (work.folder / SPILL).mkdir()
        yield


def _busy(out: Path) -> FolderError:
    return FolderError(f"another process converts into {shown(out)}; wait for it, or choose another --out")


def _refuse_foreign(out: Path) -> None:
    """Raises FolderError if a foreign file has a name that a conversion would write. Other files may stay."""
    inside = {entry.name for entry in os.scandir(out)} & {*NAMES, HEADER}
    if (out / WORK).exists():  # killed before it wrote its state
        found = {entry.name for entry in os.scandir(out / WORK)} - {LOCK, SPILL}
        inside |= {f"{WORK}/{name}" for name in found if not name.startswith(f".{STATE}.")}
    if inside:
        raise FolderError(f"{shown(out)} holds {min(inside)!r:.80}, which localgcl convert did not make; choose another --out")


def _read_state(folder: Path) -> dict[str, Any] | None:
    path = folder / STATE
    if not path.exists():
        return None
    try:
        state: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        known = {"inputs": str, "integers": (bool, type(None)), "stages": dict, "hashes": dict}
        if not all(isinstance(state[name], kind) for name, kind in known.items()):  # type: ignore[arg-type]
            raise TypeError(sorted(state))
    except (ValueError, KeyError, TypeError) as error:
        raise FolderError(
            f"{shown(path)} is damaged; delete the folder {shown(folder)} and run localgcl convert again"
        ) from error
    return state
