"""Training by one process: one call from a graph to a run folder."""

import os
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from localgcl.config import Config
from localgcl.datasets.source import Source
from localgcl.graph import Graph
from localgcl.io.parts import write_npy
from localgcl.nn.memory import encoder_stacks
from localgcl.ops.costs import explain
from localgcl.system.devices import choose_device
from localgcl.system.files import replacing
from localgcl.system.progress import counted
from localgcl.system.text import shown
from localgcl.training.asked import Asked, trained_line, written_line
from localgcl.training.callbacks import Callback
from localgcl.training.fit import fit
from localgcl.training.memory import reading_memory
from localgcl.training.model import Model
from localgcl.training.preflight import check_files, in_fitting_batches
from localgcl.training.run import RunFolder, default_folder


def train_alone(
    source: Source | Graph | None,
    out: str | os.PathLike[str] | None,
    *,
    method: str | None = None,
    recipe: str | os.PathLike[str] | None = None,
    resume: bool = False,
    warm_start: str | os.PathLike[str] | None = None,
    callbacks: tuple[Callback, ...] = (),
    say: Callable[[str], None] = lambda _: None,
    progress_bar: bool = False,
    force_memory: bool = False,
    **settings: Any,
) -> Model:
    """`localgcl.train` in this process, on a graph or on where it comes from. The arguments are as there."""
    if source is None and resume and out is not None:
        source = Source(**RunFolder.open(out).source)
    if source is None:
        raise ValueError("there is no graph to train on; name a data set, give files or a graph, or resume a run with out=")
    known = source.to_dict() if isinstance(source, Source) else {}
    out, asked = Path(out or default_folder(source.name)), Asked(method, recipe, settings)
    run = RunFolder.open(out) if resume else None
    if run is None:
        asked.check()
    else:
        asked.check_resumed(run, source.name, known)
    if isinstance(source, Source) and source.edges is not None:
        check_files(source.edges, source.features, force=force_memory)
    graph = source.read() if isinstance(source, Source) else source
    if run is None:
        chosen = asked.choose(graph, source.dataset if isinstance(source, Source) else None, say)
        config = chosen.config
        if not force_memory:
            config = in_fitting_memory(config, graph, {**chosen.values, **settings}, say)
        for line in _form_of_negatives(config, graph):
            say(line)
    else:
        config = run.config
    model = fit(
        graph,
        config,
        folder=out,
        source=known,
        resume=resume,
        warm_start=warm_start,
        callbacks=callbacks,
        progress_bar=progress_bar,
        force_memory=force_memory,
        reading=_reading(source, graph),
        say=say,
    )
    columns = 0
    with replacing(RunFolder.open(out).embeddings) as temporary, temporary.open("wb") as file:
        blocks = (block.numpy() for block in model.embed_blocks(graph, cache=out))
        rows = counted(blocks, graph.num_nodes, "nodes", title="embedding", shown=progress_bar)
        _, columns = write_npy(file, rows, graph.num_nodes)
    following = f"next: localgcl evaluate {shlex.quote(shown(out))}" if graph.y is not None and known else ""
    for line in (trained_line(model), written_line(graph.num_nodes, columns, out), following):
        if line:
            say(line)
    return model


def in_fitting_memory(
    config: Config, graph: Graph, known: Mapping[str, Any], say: Callable[[str], None], *, stored: bool = True
) -> Config:
    """The settings, with mini-batches where the whole graph does not fit the memory.

    Args:
        config: The settings.
        graph: As loaded.
        known: Settings that the user or a recipe gave; with `batch` among them, nothing is changed.
        say: Takes the line that says so.
        stored: Whether the run has a folder.
    """
    if "batch" in known:
        return config
    config, line = in_fitting_batches(graph, config, choose_device(config.training.device), stored=stored)
    if line:
        say(line)
    return config


def _reading(source: Source | Graph, graph: Graph) -> int:
    """Bytes that reading the graph took at its peak; 0 where it was not read here."""
    if isinstance(source, Graph):
        return 0
    structural = source.edges is not None and source.features is None
    return reading_memory(graph.num_nodes, graph.num_edges, graph.num_features, structural=structural)


def _form_of_negatives(config: Config, graph: Graph) -> list[str]:
    """What negatives="auto" takes and what it costs, for methods that have the choice."""
    if getattr(config.options, "negatives", None) != "auto":
        return []
    batch, parts = config.training.batch, encoder_stacks(graph.num_features, config.encoder)
    rows, widest = min(batch or graph.num_nodes, graph.num_nodes), max(stack[-1] for stack in parts)
    device, per = choose_device(config.training.device), "step" if len(parts) == 1 else "step and channel"
    return [explain(rows, widest, config.options.num_features, config.options.temperature, device, per=per)]
