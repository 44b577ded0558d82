"""The run folder: config.toml, metrics.csv, checkpoints, weights, embeddings. Resume, embed and report read only this."""

import csv
import dataclasses
import os
from pathlib import Path
from typing import Any

import tomli_w

from localgcl.config import Config, read_toml
from localgcl.methods import configure
from localgcl.system.files import replacing


@dataclasses.dataclass(frozen=True)
class RunFolder:
    """A folder that holds one run. `source` says which graph it was trained on, `made` on which machine (see `provenance`)."""

    path: Path
    config: Config
    source: dict[str, Any]
    made: dict[str, Any]

    @classmethod
    def create(
        cls, path: str | os.PathLike[str], config: Config, source: dict[str, Any], made: dict[str, Any] | None = None
    ) -> "RunFolder":
        """Makes the folder; one that already holds something is refused, so that nothing of the user's is overwritten."""
        path = Path(path)
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise FileExistsError(f"{path} already exists; choose another folder, delete it, or continue it with --resume")
        path.mkdir(parents=True, exist_ok=True)
        run = cls(path, config, dict(source), dict(made or {}))
        tables = {"method": config.method, "source": run.source, "settings": config.flat(), "made": _without_none(run.made)}
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
        tables = read_toml(path / "config.toml")
        missing = {"method", "settings"} - set(tables)
        if missing:
            raise ValueError(f"{path / 'config.toml'} lacks {' and '.join(sorted(missing))}; restore a copy or train again")
        return cls(path, configure(tables["method"], tables["settings"]), tables.get("source", {}), tables.get("made", {}))

    def check_same(self, given: dict[str, Any]) -> None:
        """Raises ValueError if a given graph, method or setting differs from that of this run, which is to be resumed."""
        ours = {"method": self.config.method, **self.source, **self.config.flat()}
        for name, value in given.items():
            if ours.get(name) != value:
                raise ValueError(
                    f"{self.path} was started with {name.replace('_', '-')} {ours.get(name)!r}, not {value!r}; "
                    "a resumed run keeps its graph and settings: leave that out, or start another run"
                )

    @property
    def config_file(self) -> Path:
        return self.path / "config.toml"

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
        """The logged rows; empty cells are left out."""
        if not self.metrics.exists():
            return []
        with self.metrics.open(newline="") as file:
            return [{name: float(value) for name, value in row.items() if value} for row in csv.DictReader(file)]

    def write_metrics(self, rows: list[dict[str, Any]]) -> None:
        """Writes all rows, whole or not at all: a killed run leaves the last complete log."""
        names = list(dict.fromkeys(name for row in rows for name in row))
        with replacing(self.metrics) as temporary, temporary.open("w", newline="") as file:
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            writer.writerows(rows)


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    """Drops unknown values, because TOML has no null."""
    return {
        name: _without_none(value) if isinstance(value, dict) else value for name, value in values.items() if value is not None
    }
