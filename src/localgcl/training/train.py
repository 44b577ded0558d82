"""Training and embedding into a run folder as a user asks, by one process or by a team (see `engines`)."""

import dataclasses
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from localgcl.config import Config
from localgcl.datasets.source import Source
from localgcl.graph import Graph
from localgcl.methods import DEFAULT, configure
from localgcl.methods.settings import choose_settings
from localgcl.recipes import read_recipe
from localgcl.system.devices import choose_device
from localgcl.system.team import ALONE, Team
from localgcl.system.text import shown
from localgcl.training.embedding import write_array
from localgcl.training.engines import Say
from localgcl.training.fit import fit
from localgcl.training.memory import reading_memory
from localgcl.training.model import Model
from localgcl.training.preflight import check_files, in_fitting_batches
from localgcl.training.run import EMBEDDINGS, RunFolder, default_folder
from localgcl.training.session import Callback


@dataclasses.dataclass(frozen=True)
class Request:
    """What a user asks of a training run. It can be pickled, for engines whose processes run elsewhere.

    Args:
        source: The graph, or where it comes from; None for that of the run that goes on.
        out: The run folder; by default runs/NAME.
        method: A name of `METHODS`; None where none was given.
        recipe: A recipe file; None for the data set's own.
        resume: Go on with the run in `out`.
        warm_start: A run folder whose weights to start from.
        force_memory: Start though the run is estimated to take more memory than there is.
        settings: Options by name.
        progress_bar: Show one on stderr.
    """

    source: Source | Graph | None
    out: str | os.PathLike[str] | None = None
    method: str | None = None
    recipe: str | os.PathLike[str] | None = None
    resume: bool = False
    warm_start: str | os.PathLike[str] | None = None
    force_memory: bool = False
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    progress_bar: bool = False

    def __call__(self, team: Team, say: Say) -> None:
        """The task of an engine: trains."""
        train(self, team, say)

    def check(self, workers: int) -> None:
        """Raises ValueError for what `workers` processes would refuse, before they are started."""
        source = self.read_source()
        if not isinstance(source, Source) or source.folder is None:
            raise ValueError(
                f"{workers} ranks train on a graph folder, and {source.name} is none; make one with localgcl convert"
            )
        if not self.resume:
            configure(self.method or DEFAULT, self.settings)

    def with_absolute_paths(self) -> "Request":
        """This request for processes that run in another folder."""
        source = self.read_source()
        assert isinstance(source, Source)
        source = Source(**source.to_dict())
        recipe, warm_start = (None if path is None else os.path.abspath(path) for path in (self.recipe, self.warm_start))
        out = self.folder.absolute()
        return dataclasses.replace(self, source=source, out=out, recipe=recipe, warm_start=warm_start, progress_bar=False)

    def read_source(self) -> Source | Graph:
        """The graph, or where it comes from."""
        if self.source is not None:
            return self.source
        if not self.resume or self.out is None:
            raise ValueError("there is no graph to train on; name a data set, give files or a graph, or resume a run with out=")
        return Source(**RunFolder.open(self.out).source)

    @property
    def folder(self) -> Path:
        """The run folder."""
        return Path(self.out or default_folder(self.read_source().name))


def train(
    request: Request,
    team: Team = ALONE,
    say: Say = lambda _: None,
    *,
    callbacks: tuple[Callback, ...] = (),
) -> Model:
    """Trains and embeds into a run folder. All processes of a team call this, each with the same request.

    A team that was started again goes on with the run in `request.out`, if there is one.

    Args:
        request: Graph, folder and settings.
        team: The processes that train together.
        say: Takes each line about what is done.
        callbacks: Called with each logged row (see `localgcl.training.Callback`).
    """
    source = request.read_source()
    known = source.to_dict() if isinstance(source, Source) else {}
    team.check_graph(source.folder if isinstance(source, Source) else None, f"train on a graph folder, and {source.name}")
    out = request.folder
    begun = RunFolder.open(out) if request.resume or (team.reduce is not None and (out / "config.toml").is_file()) else None
    run = begun if request.resume or team.is_restart(None if begun is None else begun.made) else None
    method = request.method or DEFAULT
    if run is None:
        configure(method, request.settings)  # raises if a setting is wrong, before a graph is read
    else:
        stored = read_recipe(request.recipe, source.name) if request.recipe else {}
        named = {"method": method} if request.method else {}
        run.check_same({**known, **stored, **request.settings, **named})
    if isinstance(source, Source) and source.edges is not None:
        check_files(source.edges, source.features, force=request.force_memory)
    graph = source.read() if isinstance(source, Source) else source
    if run is None:
        say(repr(graph))
        chosen = choose_config(
            method,
            graph,
            request.settings,
            say,
            dataset=source.dataset if isinstance(source, Source) else None,
            recipe=request.recipe,
            fitting=not request.force_memory and team.reduce is None,
        )
        config = team.broadcast(chosen)
    else:
        config = run.config
    if team.reduce is not None:
        say(
            f"{team.size} ranks share batches of {config.training.batch} nodes; negatives by random features, summed over ranks"
        )
    read_peak_bytes = 0  # of a graph that was not read here
    if isinstance(source, Source):
        structural = source.edges is not None and source.features is None
        read_peak_bytes = reading_memory(graph.num_nodes, graph.num_edges, graph.num_features, structural=structural)
    model = fit(
        graph,
        config,
        folder=out,
        source=known,
        resume=run is not None,
        warm_start=request.warm_start,
        team=team,
        callbacks=callbacks,
        progress_bar=request.progress_bar,
        force_memory=request.force_memory,
        read_peak_bytes=read_peak_bytes,
        say=say,
    )
    columns = write_array(out / EMBEDDINGS, model, graph, team, cache=out, progress_bar=request.progress_bar)
    if model.history:
        last = model.history[-1]
        say(f"{model.config.method}: {model.step} steps in {last['seconds']:.1f} s, loss {last['loss']:.4f}")
        if sent := team.summary():
            say(sent)
    say(f"{graph.num_nodes:,} embeddings of {columns} numbers in {shown(out)}")
    if graph.y is not None and known:
        say(f"next: localgcl evaluate {shlex.quote(shown(out))}")
    return model


def choose_config(
    method: str,
    graph: Graph,
    given: Mapping[str, Any],
    say: Say,
    *,
    dataset: str | None = None,
    recipe: str | os.PathLike[str] | None = None,
    fitting: bool = True,
    stored: bool = True,
) -> Config:
    """The settings of a new run on a graph; says why.

    Args:
        method: A name of `METHODS`.
        graph: As loaded.
        given: Settings that the user gave.
        say: Takes the lines that say what was chosen.
        dataset: The data set whose recipe is taken.
        recipe: A recipe file, instead.
        fitting: Take mini-batches where the whole graph does not fit the memory, unless `batch` is given or in the recipe.
        stored: Whether the run has a folder.
    """
    chosen = choose_settings(method, graph, dataset=dataset, recipe_file=recipe, given=given)
    say(chosen.explain())
    if not fitting or "batch" in {**chosen.values, **given}:
        return chosen.config
    config, line = in_fitting_batches(graph, chosen.config, choose_device(chosen.config.training.device), stored=stored)
    if line:
        say(line)
    return config
