"""fit: from a graph and a configuration to a trained model, by one process or by a team."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from localgcl.config import Config
from localgcl.graph import Graph
from localgcl.graph.prepare import column_statistics, match_features, prepare
from localgcl.methods import find_method
from localgcl.methods.parts import warn_of_unused_weights
from localgcl.methods.plugins import origin_of
from localgcl.methods.settings import untrained
from localgcl.system.files import remove_leftovers
from localgcl.system.memory import explained
from localgcl.system.provenance import describe
from localgcl.system.team import ALONE, Team
from localgcl.system.threads import reproducible
from localgcl.training.checkpoint import has_checkpoint, remove_checkpoints
from localgcl.training.fitter import fitter_of
from localgcl.training.model import Model, statistics_for
from localgcl.training.preflight import preflight
from localgcl.training.run import RunFolder, TrainingFailed, mark_failed, require_resumable
from localgcl.training.session import Callback, Interrupted, Session, Stream, TensorBoard


def fit(
    graph: Graph,
    config: Config,
    *,
    folder: str | os.PathLike[str] | None = None,
    source: dict[str, Any] | None = None,
    resume: bool = False,
    warm_start: str | os.PathLike[str] | None = None,
    team: Team = ALONE,
    callbacks: Sequence[Callback] = (),
    progress_bar: bool = False,
    force_memory: bool = False,
    read_peak_bytes: int = 0,
    say: Callable[[str], None] = lambda _: None,
) -> Model:
    """Trains `config.method` on `graph`. The graph comes as loaded: preparation is part of the configuration.

    Args:
        graph: The graph; its labels and splits are not looked at.
        config: Every setting.
        folder: Run folder to write; must be new or empty unless `resume`.
        source: Where the graph comes from, stored in the run folder so that it can be read again.
        resume: Continue the run in `folder` with that run's configuration. A finished run is returned unchanged.
        warm_start: A run folder whose weights to start from.
        team: The processes that train together. All of them call this function; the first one writes the run folder, which
            all of them see.
        callbacks: Called with each logged row (see `Callback`); one that raises `StopTraining` ends training.
        progress_bar: Show one on stderr.
        force_memory: Start though the run is estimated to take more memory than there is.
        read_peak_bytes: What reading the graph took at its peak, if known.
        say: Takes the lines about memory and about what was chosen.

    Raises:
        OutOfMemory: The run is estimated not to fit, which is found before anything large is allocated, or did not fit.
    """
    place = None if folder is None else Path(folder)
    run = _resumed(place, team) if resume and place is not None else None
    if run is not None and team.broadcast(run.weights.exists() and not has_checkpoint(run.path)):
        return Model.load(run)
    start = None if warm_start is None else Model.load(warm_start)
    if run is not None:
        graph = match_features(graph, run.feature_names)
    elif start is not None:
        graph = start.matched(graph)
    require_shareable(graph, config, team)
    device: torch.device = team.device(config.training.device)
    for line in preflight(
        graph, config, device, force=force_memory, stored=place is not None, read_peak_bytes=read_peak_bytes
    ).lines():
        say(line)
    # A resumed run takes the number of threads that it was started with: another one would change the rounding.
    threads = config.training.threads or (0 if run is None else run.made.get("threads", 0))
    with (
        explained(f"training {config.method} with dim {config.encoder.dim}", "take a smaller dim, or fewer layers"),
        reproducible(threads, config.training.deterministic, config.training.tf32 and device.type == "cuda"),
    ):
        # Broadcast: files of rows are named after them, and other machines may round otherwise.
        statistics = team.broadcast(statistics_for(graph, config) if team.rank == 0 else {})
        model = Model.fresh(config, graph.num_features, statistics)
        prepared = model.prepared(graph, place)
        model.feature_names = graph.feature_names if run is None else run.feature_names
        model.structural = graph.structural
        method = model.method
        method.check(prepared)
        warn_of_unused_weights(config.method, method.unweighted, prepared)
        fitter = fitter_of(method)
        if start is not None:
            _start_from(model, start)
        known = {} if run is None else run.made.get("chosen", {})
        method.resolve(graph.num_nodes, device, shared=team.reduce is not None, known=known)
        for line in [] if team.reduce is not None else method.choices(graph.num_nodes, device):
            say(line)
        callbacks = [*callbacks, *_tensorboard(config, place)]
        if place is not None and run is None:
            run = _new_run(place, model, source or {}, graph.encoding, team)
        method.to(device)
        generator = torch.Generator(device).manual_seed(config.training.seed)
        own = run if team.rank == 0 else None
        session = Session(generator, team, own, resume, callbacks, progress_bar)
        with _stored(model, own):
            model.history = fitter(method, Stream(method, prepared.to(device), team), session)
    return model


def require_shareable(graph: Graph, config: Config, team: Team) -> None:
    """Raises ValueError if a team of ranks cannot train so: their results would not be those of one process."""
    if team.reduce is None:
        return
    kind, batch = find_method(config.method), config.training.batch
    if (reason := kind.unshareable(config)) is not None:
        raise ValueError(f"{team.size} ranks cannot share this run: {reason}")
    if not team.size <= batch < graph.num_nodes:
        raise ValueError(
            f"batch is {batch}, but {team.size} ranks share batches of a graph of {graph.num_nodes} nodes; take {team.size} or "
            "more, and fewer than the nodes"
        )
    if not kind.reads_from_disk(graph, config):
        raise ValueError(f"the features of {graph.name} are sparse, but ranks read dense rows; convert a dense table")


def random_init(graph: Graph, config: Config, device: str = "cpu") -> Float[Tensor, "n d"]:
    """Embeddings by the encoder of `config` with its initial weights: what a run is measured against."""
    return fit(graph, untrained(config).replace(device=device)).embed(graph)


def raw_features(graph: Graph, config: Config) -> Tensor:
    """The features as `config` scales them; sparse ones stay sparse, except where columns are standardised."""
    preparation = config.preparation
    return prepare(graph, preparation, column_statistics(graph, preparation.scaling)).x


def _resumed(path: Path, team: Team) -> RunFolder:
    """The run to go on with."""
    run = RunFolder.open(path)
    require_resumable(path)
    if team.rank == 0:
        remove_leftovers(path)
    return run


def _tensorboard(config: Config, place: Path | None) -> list[Callback]:
    """The callback that writes TensorBoard events, if asked for. A missing TensorBoard raises before anything is written."""
    if not config.training.tensorboard:
        return []
    if place is None:
        raise ValueError("tensorboard events go into the run folder; name one (folder= or --out)")
    return [TensorBoard(place / "tensorboard")]


@contextmanager
def _stored(model: Model, run: RunFolder | None) -> Iterator[None]:
    """Stores the model after training, and after an interruption; marks a run that failed."""
    try:
        yield
    except Interrupted as interrupt:
        model.history = interrupt.rows
        model.finish(run)
        raise
    except TrainingFailed as error:
        if run is None:
            raise
        raise mark_failed(run.path, error) from error
    model.finish(run)
    if run is not None:
        remove_checkpoints(run.path)


def _new_run(
    path: Path, model: Model, source: dict[str, Any], encoding: Mapping[str, Any] | None, team: Team
) -> RunFolder | None:
    """The run folder, which the first process makes and all see; None for the others.

    It records machine and versions, team, plug-in, and what was chosen for graph and machine.
    """
    run = None
    if team.rank == 0:
        chosen = {"chosen": model.method.chosen} if model.method.chosen else {}
        made = describe() | team.made() | origin_of(model.config.method) | chosen
        run = RunFolder.create(path, model.config, source, made, model.feature_names, encoding)
    team.barrier()
    if not path.is_dir():
        raise FileNotFoundError(f"there is no run folder at {path}; every machine needs it at the same path")
    return run


def _start_from(model: Model, other: Model) -> None:
    try:
        model.method.load_state_dict(other.method.state_dict())
    except RuntimeError as error:
        raise ValueError(f"the run to start from has other layers than this configuration: {error}") from error
