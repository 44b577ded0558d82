"""The run folder: config.toml, metrics.csv, checkpoints, weights, embeddings. Resume, embed and report read only this."""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from localgcl.config import Config, read_toml
from localgcl.datasets.source import Source
from localgcl.io.encode import FILE as ENCODING
from localgcl.io.encode import write_encoding
from localgcl.methods import METHODS, configure
from localgcl.methods.plugins import missing_plugin
from localgcl.system.files import remove_leftovers, replacing
from localgcl.system.text import folder_name, shown
from localgcl.training.failed import is_vacant, reason_of_failure, require_resumable, set_aside
from localgcl.training.features import read_names, write_names
from localgcl.training.metrics import read_metrics, write_metrics


@dataclasses.dataclass(frozen=True)
class RunFolder:
    """A folder that holds one run. `source` says which graph it was trained on, `made` on which machine (see `provenance`)."""

    path: Path
    config: Config
    source: dict[str, Any]
    made: dict[str, Any]
    feature_names: tuple[str, ...] | None = None
    """The feature columns that it was trained on; None where they had no names."""
    encoding: Mapping[str, Any] | None = None
    """How they were made of a table's columns (see `Graph`), when the run is created."""

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
            write_names(path, feature_names)  # first: a folder is a run once it has a config.toml
        (path / ENCODING).unlink(missing_ok=True)  # of a killed process
        if encoding is not None:
            write_encoding(path, encoding)
        with replacing(run.config_file) as temporary:
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
    def config_file(self) -> Path:
        return self.path / "config.toml"

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
    def metrics(self) -> Path:
        return self.path / "metrics.csv"

    @property
    def embeddings(self) -> Path:
        return self.path / "embeddings.npy"

    def read_metrics(self) -> list[dict[str, Any]]:
        """The logged rows; ValueError names the file when it is damaged."""
        return read_metrics(self.metrics)

    def write_metrics(self, rows: list[dict[str, Any]]) -> None:
        """Writes all rows, whole or not at all."""
        write_metrics(self.metrics, rows)


def check_vacant(path: Path) -> None:
    """Raises FileExistsError unless a run can be written to `path`: nothing is there, or a folder that it may use."""
    failed = path.is_dir() and reason_of_failure(path) is not None and not (path / "weights.safetensors").exists()
    if path.exists() and not (path.is_dir() and (failed or is_vacant(path))):
        raise FileExistsError(
            f"{shown(path)} already exists; choose another folder, replace it with --overwrite, or continue it with --resume"
        )


def default_folder(name: str) -> Path:
    """runs/NAME for a graph of that name; a folder right within runs, whatever the name."""
    return Path("runs") / folder_name(name)


def _check_tables(tables: dict[str, Any]) -> None:
    """Raises ValueError unless a config.toml has the tables of a run, and a source that can be read."""
    for name, kind, what in (
        ("method", str, "a name"),
        ("settings", dict, "a table"),
        ("source", dict, "a table"),
        ("made", dict, "a table"),
    ):
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
