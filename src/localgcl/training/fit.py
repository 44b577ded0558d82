"""One call from a graph to a trained model."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from localgcl.config import Config
from localgcl.graph import Graph
from localgcl.graph.names import match_features
from localgcl.methods.parts import warn_of_unused_weights
from localgcl.methods.plugins import origin_of
from localgcl.ops.negatives import Reduce
from localgcl.system.devices import choose_device
from localgcl.system.files import remove_leftovers
from localgcl.system.memory import explained
from localgcl.system.provenance import describe
from localgcl.system.team import ALONE, Team
from localgcl.system.threads import reproducible
from localgcl.training.callbacks import Callback, TensorBoard
from localgcl.training.checkpoint import has_checkpoint, remove_checkpoints
from localgcl.training.failed import TrainingFailed, mark_failed, require_resumable
from localgcl.training.loop import Interrupted, train
from localgcl.training.mapped import compute_rows, on_device, prepared_for, statistics_for
from localgcl.training.model import Model
from localgcl.training.preflight import preflight
from localgcl.training.ranks import Ranks
from localgcl.training.run import RunFolder
from localgcl.training.sharing import require_shareable


def fit(
    graph: Graph,
    config: Config,
    *,
    folder: str | os.PathLike[str] | None = None,
    source: dict[str, Any] | None = None,
    resume: bool = False,
    warm_start: str | os.PathLike[str] | None = None,
    reduce: Reduce | None = None,
    callbacks: Sequence[Callback] = (),
    progress_bar: bool = False,
    force_memory: bool = False,
    reading: int = 0,
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
        reduce: Sums a vector over ranks, where several of them train one model (see `Method.batches`). With `Ranks`, all of
            them call this function; the first one writes the run folder, which all of them see.
        callbacks: Called with each logged row (see `Callback`); one that raises `StopTraining` ends training.
        progress_bar: Show one on stderr.
        force_memory: Start though the run is estimated to take more memory than there is.
        reading: Bytes that reading the graph took at its peak, if known.
        say: Takes the lines about memory.

    Raises:
        OutOfMemory: The run is estimated not to fit, which is found before anything large is allocated, or did not fit.
    """
    threads, run = config.training.threads, None
    ranks = reduce if isinstance(reduce, Ranks) else None
    team: Team = ranks or ALONE
    if resume and folder is not None:
        run = RunFolder.open(folder)
        require_resumable(run.path)
        if team.rank == 0:
            remove_leftovers(run.path)
        if team.told(_is_finished(run)):
            return Model.load(run)
        threads = threads or run.made.get("threads", 0)  # the number it was started with: another one would change the rounding
        graph = match_features(graph, run.feature_names)
    start = None if warm_start is None else Model.load(warm_start)
    if start is not None and run is None:
        graph = start.matched(graph)  # its weights belong to its columns, in its order
    if ranks is not None:
        require_shareable(graph, config, ranks.size)
    device = (choose_device if ranks is None else ranks.device)(config.training.device)
    needs = preflight(graph, config, device, force=force_memory, stored=folder is not None, reading=reading)
    for line in needs.lines():
        say(line)
    with (
        explained(f"training {config.method} with dim {config.encoder.dim}", "take a smaller dim, or fewer layers"),
        reproducible(threads, config.training.deterministic, config.training.tf32 and device.type == "cuda"),
    ):
        # Told: files of rows are named after them, and other machines may round otherwise.
        statistics = team.told(statistics_for(graph, config) if team.rank == 0 else {})
        prepared = prepared_for(graph, config, statistics, None if folder is None else Path(folder))
        model = Model.fresh(config, graph.num_features, statistics)
        model.feature_names = graph.feature_names if run is None else run.feature_names
        model.structural = graph.structural
        model.method.check(prepared)
        warn_of_unused_weights(config.method, model.method.unweighted, prepared)
        if start is not None:
            _start_from(model, start)
        callbacks = [*callbacks, *_tensorboard(config, folder)]
        if folder is not None and run is None:
            made = describe() | ({} if ranks is None else ranks.made()) | origin_of(config.method)
            run = _new_run(RunFolder(Path(folder), config, source or {}, made, model.feature_names, graph.encoding), team)
        model.method.to(device)
        prepared = on_device(prepared, device)
        if ranks is not None:
            compute_rows(prepared, model.method.encoder, ranks)
        try:
            if model.method.trained:
                model.history = train(
                    model.method,
                    prepared,
                    config.training,
                    reduce=reduce,
                    run=run,
                    resume=resume,
                    callbacks=callbacks,
                    progress_bar=progress_bar,
                )
            else:
                model.method.refresh_statistics(next(model.method.batches(prepared)))
            _finish(model, run if team.rank == 0 else None)
        except Interrupted as interrupt:
            model.history = interrupt.rows
            _finish(model, run if team.rank == 0 else None)
            raise
        except TrainingFailed as error:
            if run is None or team.rank > 0:
                raise
            raise mark_failed(run.path, error) from error
        if run is not None and team.rank == 0:
            remove_checkpoints(run.path)
    return model


def _is_finished(run: RunFolder) -> bool:
    """Whether a run has weights and no checkpoint."""
    return run.weights.exists() and not has_checkpoint(run.path)


def _new_run(run: RunFolder, team: Team) -> RunFolder:
    """The run folder, made by the first process."""
    if team.rank == 0:
        run = RunFolder.create(run.path, run.config, run.source, run.made, run.feature_names, run.encoding)
    team.barrier()
    if not run.path.is_dir():
        raise FileNotFoundError(f"there is no run folder at {run.path}; every machine needs it at the same path")
    return run


def _finish(model: Model, run: RunFolder | None) -> None:
    model.method.eval()
    model.step = int(model.history[-1]["step"]) + 1 if model.history else 0
    if run is not None:
        model.save(run)


def _start_from(model: Model, other: Model) -> None:
    try:
        model.method.load_state_dict(other.method.state_dict())
    except RuntimeError as error:
        raise ValueError(f"the run to start from has other layers than this configuration: {error}") from error


def _tensorboard(config: Config, folder: str | os.PathLike[str] | None) -> list[Callback]:
    """The callback that writes TensorBoard events, if asked for. A missing TensorBoard raises before anything is written."""
    if not config.training.tensorboard:
        return []
    if folder is None:
        raise ValueError("tensorboard events go into the run folder; name one (folder= or --out)")
    return [TensorBoard(Path(folder) / "tensorboard")]
