"""The run folder: config.toml, names of features, metrics.csv, checkpoints, weights, embeddings, and why a run failed.

Resume, embed and report read only this.
"""

import csv
import dataclasses
import json
import logging
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from localgcl.config import Config, read_toml
from localgcl.datasets.source import Source
from localgcl.graph.checks import column_names
from localgcl.io.encode import FILE as ENCODING
from localgcl.io.encode import write_encoding
from localgcl.methods import METHODS, configure
from localgcl.methods.plugins import missing_plugin
from localgcl.system.files import remove_leftovers, replacing
from localgcl.system.text import folder_name, shown

_LOG = logging.getLogger(__name__)
EMBEDDINGS = "embeddings.npy"
_NAMES = "features.json"
_ALWAYS = frozenset({"step", "seconds", "loss"})  # columns of metrics.csv
_OURS = (
    *("config.toml", "features.json", "encoding.json", "metrics.csv", "tensorboard"),
    *("checkpoint-*.safetensors", "failed.txt"),
)
"""Files of a run without weights. The mark comes last: it stays until all others are moved."""


@dataclasses.dataclass(frozen=True)
class RunFolder:
    """A folder that holds one run. `source` says which graph it was trained on, `made` on which machine (see `provenance`)."""

    path: Path
    config: Config
    source: dict[str, Any]
    made: dict[str, Any]
    feature_names: tuple[str, ...] | None = None
    """The feature columns that it was trained on; None where they had no names."""

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        config: Config,
        source: dict[str, Any],
        made: dict[str, Any] | None = None,
        feature_names: tuple[str, ...] | None = None,
        encoding: Mapping[str, Any] | None = None,
    ) -> "RunFolder":
        """Makes the folder; one that already holds something is refused, so that nothing of the user's is overwritten.

        A run that failed makes room: it moves to a folder of its own within (see `failed`).
        """
        path = Path(path)
        if path.is_dir():
            remove_leftovers(path)
        if not (path.is_dir() and set_aside(path)):
            check_vacant(path)
        path.mkdir(parents=True, exist_ok=True)
        run = cls(path, config, dict(source), dict(made or {}), feature_names)
        tables: dict[str, Any] = {"method": config.method, "source": run.source, "settings": config.flat()}
        tables["made"] = _without_none(run.made)
        if feature_names is not None:
            tables["feature_names"] = len(feature_names)
            with replacing(path / _NAMES) as temporary:  # first: a folder is a run once it has a config.toml
                temporary.write_text(json.dumps({"names": feature_names}, indent=0) + "\n", encoding="utf-8")
        (path / ENCODING).unlink(missing_ok=True)  # of a killed process
        if encoding is not None:
            write_encoding(path, encoding)
        with replacing(path / "config.toml") as temporary:
            temporary.write_bytes(tomli_w.dumps(tables).encode())
        return run

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "RunFolder":
        """Reads an existing run folder's configuration."""
        path = Path(path)
        if not (path / "config.toml").is_file():
            raise FileNotFoundError(
                f"{path} is not a run folder (it has no config.toml); make one with: localgcl train --out {path}"
            )
        tables = {"source": {}, "made": {}, **read_toml(path / "config.toml")}
        try:
            _check_tables(tables)
            config = configure(tables["method"], tables["settings"])
            config.replace(threads=tables["made"].get("threads", 0))  # checks it: a resumed run takes this number
        except ValueError as error:
            remedy = missing_plugin(tables, METHODS) or "restore a copy or train again"
            raise ValueError(f"{path / 'config.toml'}: {error}; {remedy}") from error
        return cls(path, config, tables["source"], tables["made"], read_names(path, tables.get("feature_names")))

    def check_same(self, given: dict[str, Any]) -> None:
        """Raises ValueError if this run failed, or if a given graph, method or setting differs from its own."""
        require_resumable(self.path)
        ours = {"method": self.config.method, **self.source, **self.config.flat()}
        for name, value in given.items():
            if ours.get(name) != value:
                raise ValueError(
                    f"{self.path} was started with {name.replace('_', '-')} {ours.get(name)!r}, not {value!r:.100}; "
                    "a resumed run keeps its graph and settings: leave that out, or start another run"
                )

    @property
    def encoding_file(self) -> Path | None:
        """How features were made of a table's columns; None where they were numbers."""
        path = self.path / ENCODING
        return path if path.is_file() else None

    @property
    def encoded(self) -> dict[str, Any]:
        """Fields of `Source` that encode files as those of the run. An encoding knows what to drop."""
        return {} if self.encoding_file is None else {"encode": str(self.encoding_file), "drop": None}

    @property
    def graph_source(self) -> Source:
        """The graph that it was trained on, encoded as it was then, whatever its files hold now."""
        source = Source(**self.source)
        return source if source.edges is None else dataclasses.replace(source, **self.encoded)

    @property
    def weights(self) -> Path:
        return self.path / "weights.safetensors"

    @property
    def embeddings(self) -> Path:
        return self.path / EMBEDDINGS

    def read_metrics(self) -> list[dict[str, Any]]:
        """The logged rows; empty cells are left out. ValueError names the file when it is damaged."""
        path = self.path / "metrics.csv"
        if not path.exists():
            return []
        try:
            with path.open(newline="", encoding="utf-8") as file:
                reader = csv.DictReader(file, strict=True)
                if reader.fieldnames and not _ALWAYS.issubset(reader.fieldnames):
                    raise ValueError(f"its first line does not name {', '.join(sorted(_ALWAYS))}")
                return [_numbers(row) for row in reader]
        except (OSError, ValueError, csv.Error) as error:
            raise ValueError(f"{path} is damaged ({shown(error)}); restore a copy or delete it") from error

    def write_metrics(self, rows: list[dict[str, Any]]) -> None:
        """Writes all rows, whole or not at all: a killed run leaves the last complete log."""
        names = list(dict.fromkeys(name for row in rows for name in row))
        with replacing(self.path / "metrics.csv") as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            writer.writerows(rows)


def check_vacant(path: Path) -> None:
    """Raises FileExistsError unless a run can be written to `path`: nothing is there, or a folder that it may use.

    Such a folder holds a run that failed, or at most attempts that failed, names of features and an encoding. These two are
    written before the config.toml that makes a folder a run: alone, they are what a killed process left.
    """
    if not path.exists():
        return
    failed = path.is_dir() and reason_of_failure(path) is not None and not (path / "weights.safetensors").exists()
    left = re.compile(r"failed-\d+|(features|encoding)\.json")
    if not (failed or (path.is_dir() and all(left.fullmatch(entry.name) for entry in path.iterdir()))):
        raise FileExistsError(
            f"{shown(path)} already exists; choose another folder, replace it with --overwrite, or continue it with --resume"
        )


def default_folder(name: str) -> Path:
    """runs/NAME for a graph of that name; a folder right within runs, whatever the name."""
    return Path("runs") / folder_name(name)


def _check_tables(tables: dict[str, Any]) -> None:
    """Raises ValueError unless a config.toml has the tables of a run, and a source that can be read."""
    for name in ("method", "settings", "source", "made"):
        kind, what = (str, "a name") if name == "method" else (dict, "a table")
        if name not in tables:
            raise ValueError(f"it lacks {name}")
        if not isinstance(tables[name], kind):
            raise ValueError(f"{name} is {tables[name]!r}, not {what}")
    known = [field.name for field in dataclasses.fields(Source)]
    for name, value in tables["source"].items():
        if name not in known or not isinstance(value, str):
            raise ValueError(f"source has {name} = {value!r}; it names files or a data set, with {', '.join(known)}")


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    """Drops unknown values, because TOML has no null."""
    return {
        name: _without_none(value) if isinstance(value, dict) else value for name, value in values.items() if value is not None
    }


def _numbers(row: dict[str, Any]) -> dict[str, Any]:
    """The numbers of a row of metrics.csv, without empty cells; ValueError if the row is damaged."""
    values = {name: float(value) for name, value in row.items() if name is not None and value}
    if None in row or not _ALWAYS.issubset(values) or not 0 <= values["step"] < math.inf:
        cells = f"{list(row.values())!r:.200}"
        raise ValueError(f"a row lacks {', '.join(sorted(_ALWAYS))}, or has more cells than columns: {cells}")
    return values


# Names of the feature columns: config.toml holds only their number, because people read that file


def read_names(folder: Path, count: Any) -> tuple[str, ...] | None:
    """The names of the `count` feature columns, in their order; None for a run without names, as all once were."""
    if count is None:
        return None
    path = folder / _NAMES
    if type(count) is not int or count < 1:
        raise ValueError(f"{folder / 'config.toml'}: feature_names is {count!r}, not a count; restore a copy or train again")
    try:
        names = json.loads(path.read_text(encoding="utf-8"))["names"]
        return column_names(names, count)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{path} is missing, which names the {count} feature columns; restore a copy") from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"{path} is damaged ({error}); restore a copy or train again") from error


# Runs that failed: training would fail again from the same state. The folder says why, and can be used again


class TrainingFailed(ValueError):
    """Training cannot go on, and resuming would repeat it: the loss is not finite, or the method cannot be trusted."""


def mark_failed(folder: Path, error: TrainingFailed) -> TrainingFailed:
    """Stores in the run folder why it failed. Returns the error with the command that goes on."""
    (folder / "failed.txt").write_text(f"{error}\n", encoding="utf-8")
    return TrainingFailed(f"{error}, and repeat the command: {_remedy(folder)}")


def require_resumable(folder: Path) -> None:
    """Raises TrainingFailed if the run in `folder` failed."""
    if (reason := reason_of_failure(folder)) is not None:
        raise TrainingFailed(
            f"{folder} failed, and resuming it would repeat that: {reason}; leave --resume out: {_remedy(folder)}"
        )


def set_aside(folder: Path) -> bool:
    """Moves a failed run to a folder of its own, failed-1 and so on, within its run folder; False if there is none.

    Files of the user's stay where they are: no run writes to them.
    """
    reason = reason_of_failure(folder)
    if reason is None or (folder / "weights.safetensors").exists():
        return False
    place = _next(folder)
    place.mkdir()
    for pattern in _OURS:
        for path in folder.glob(pattern):
            path.rename(place / path.name)
    _LOG.info("the run in %s had failed (%s); it is now in %s", folder, reason, place)
    return True


def reason_of_failure(folder: Path) -> str | None:
    """Why the run in `folder` failed; None if it did not."""
    mark = folder / "failed.txt"
    return " ".join(mark.read_text("utf-8", "replace").split()) if mark.is_file() else None


def _next(folder: Path) -> Path:
    """The first of failed-1, failed-2... that is not there yet."""
    number = 1
    while (folder / f"failed-{number}").exists():
        number += 1
    return folder / f"failed-{number}"


def _remedy(folder: Path) -> str:
    return f"the failed run moves to {_next(folder)}"
