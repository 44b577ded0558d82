"""Training by many ranks: one call from a graph folder to a run folder."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from localgcl.datasets.source import Source
from localgcl.training.asked import Asked, trained_line, written_line
from localgcl.training.fit import fit
from localgcl.training.model import Model
from localgcl.training.ranks import Ranks
from localgcl.training.run import RunFolder, default_folder
from localgcl.training.shards import write_array


def train_together(
    source: Source | None,
    out: str | os.PathLike[str] | None,
    ranks: Ranks,
    *,
    method: str | None = None,
    recipe: str | os.PathLike[str] | None = None,
    resume: bool = False,
    warm_start: str | os.PathLike[str] | None = None,
    say: Callable[[str], None] = lambda _: None,
    progress_bar: bool = False,
    force_memory: bool = False,
    **settings: Any,
) -> Model:
    """`localgcl.train` on a graph folder by all ranks, each of which calls this. The arguments are as there.

    Ranks that were started again go on with the run in `out`, if there is one: its graph and settings must be those given.
    """
    if source is None:
        assert out is not None, "a resumed run has a folder"
        source = Source(**RunFolder.open(out).source)
    ranks.require_folder(source.folder)
    if source.folder is None:
        raise ValueError(
            f"{ranks.size} ranks train on a graph folder, and {source.name} is none; make one with localgcl convert"
        )
    ranks.require_same(source.folder)
    out = Path(out or default_folder(source.name))
    resume = resume or ranks.began(_made(out))
    known, asked = source.to_dict(), Asked(method, recipe, settings)
    if resume:
        run = RunFolder.open(out)
        asked.check_resumed(run, source.name, known)
        graph, config = source.read(), run.config
    else:
        asked.check()
        graph = source.read()
        config = ranks.told(asked.choose(graph, None, say).config)
    say(f"{ranks.size} ranks share batches of {config.training.batch} nodes; negatives by random features, summed over ranks")
    quiet = {"say": say, "progress_bar": progress_bar} if ranks.rank == 0 else {}
    model = fit(
        graph,
        config,
        folder=out,
        source=known,
        resume=resume,
        warm_start=warm_start,
        reduce=ranks,
        force_memory=force_memory,
        **quiet,  # type: ignore[arg-type]
    )
    columns = write_array(RunFolder.open(out).embeddings, model, graph, out, ranks)
    if model.history:
        sent = ranks.traffic
        say(trained_line(model))
        say(
            f"each rank summed {sent.negatives / 2**20:.1f} MiB for negatives and {sent.gradients / 2**20:.1f} MiB of "
            f"gradients, in {sent.seconds:.1f} s"
        )
    say(written_line(graph.num_nodes, columns, out))
    return model


def _made(out: Path) -> dict[str, Any] | None:
    """What made the run in `out`; None if there is none."""
    return RunFolder.open(out).made if (out / "config.toml").is_file() else None
