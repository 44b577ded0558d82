"""`localgcl train` on a Ray cluster."""

import os
from functools import partial
from pathlib import Path
from typing import Any

from localgcl.datasets.source import Source
from localgcl.methods import configure
from localgcl.training.cluster.group import Say, run_ranks, storage_in
from localgcl.training.cluster.session import connected
from localgcl.training.ranks import Ranks
from localgcl.training.run import RunFolder, default_folder
from localgcl.training.together import train_together


def train_on_cluster(
    source: Source | None,
    out: str | os.PathLike[str] | None,
    workers: int,
    *,
    say: Say = lambda _: None,
    method: str | None = None,
    recipe: str | os.PathLike[str] | None = None,
    resume: bool = False,
    warm_start: str | os.PathLike[str] | None = None,
    force_memory: bool = False,
    **settings: Any,
) -> None:
    """`train_together` by workers of a Ray cluster; the arguments are as there. All machines see the folders.

    Each worker has `threads` threads, by default one, as under torchrun.
    """
    if source is None:
        assert out is not None, "a resumed run has a folder"
        source = Source(**RunFolder.open(out).source)
    if source.folder is None:
        raise ValueError(f"engine ray trains on a graph folder, and {source.name} is none; make one with localgcl convert")
    if not resume:
        configure(method or "local-gcl", settings)  # wrong settings are refused before anything is started
    out = Path(out or default_folder(source.name)).absolute()
    files = {"recipe": recipe, "warm_start": warm_start}
    options = {name: None if path is None else os.path.abspath(path) for name, path in files.items()} | settings
    options |= {"method": method, "resume": resume, "force_memory": force_memory}
    work = partial(_train, source.to_dict(), str(out), options)
    given = connected(workers, settings.get("threads") or 1, settings.get("device", "auto"))
    out.parent.mkdir(parents=True, exist_ok=True)
    with storage_in(out.parent) as storage, given as worker:
        run_ranks(work, workers, worker, storage, say)


def _train(source: dict[str, Any], out: str, options: dict[str, Any], ranks: Ranks, say: Say) -> None:
    train_together(Source(**source), out, ranks, say=say, **options)
