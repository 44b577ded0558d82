"""Training by many ranks: one call from a graph folder to a run folder."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from localgcl.datasets.source import Source
from localgcl.methods import configure
from localgcl.methods.settings import choose_settings
from localgcl.recipes import read_recipe
from localgcl.system.text import shown
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
    if source.folder is None:
        raise ValueError(
            f"{ranks.size} ranks train on a graph folder, and {source.name} is none; make one with localgcl convert"
        )
    ranks.require_same(source.folder)
    out = Path(out or default_folder(source.name))
    resume = resume or ranks.began(_made(out))
    known, asked = source.to_dict(), {**settings, **({"method": method} if method else {})}
    if resume:
        run, stored = RunFolder.open(out), read_recipe(recipe, source.name) if recipe else {}
        run.check_same({**known, **stored, **asked})
        graph, config = source.read(), run.config
    else:
        configure(method or "local-gcl", settings)  # wrong settings are refused before the graph is read
        graph = source.read()
        chosen = choose_settings(method or "local-gcl", graph, recipe_file=recipe, given=settings)
        config = ranks.told(chosen.config)
        for line in (repr(graph), chosen.explain()):
            say(line)
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
        last, sent = model.history[-1], ranks.traffic
        say(f"{config.method}: {model.step} steps in {last['seconds']:.1f} s, loss {last['loss']:.4f}")
        say(
            f"each rank summed {sent.negatives / 2**20:.1f} MiB for negatives and {sent.gradients / 2**20:.1f} MiB of "
            f"gradients, in {sent.seconds:.1f} s"
        )
    say(f"{graph.num_nodes:,} embeddings of {columns} numbers in {shown(out)}")
    return model


def _made(out: Path) -> dict[str, Any] | None:
    """What made the run in `out`; None if there is none."""
    return RunFolder.open(out).made if (out / "config.toml").is_file() else None
