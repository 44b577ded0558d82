"""`localgcl train`: from a graph to a run folder."""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from localgcl.commands.options import add_group, add_source, early_method
from localgcl.config import EncoderOptions, Preparation, TrainingOptions
from localgcl.datasets.source import Source
from localgcl.methods import METHODS, configure, find_method
from localgcl.ops.costs import explain
from localgcl.recipes import Chosen, read_recipe, settings_for
from localgcl.system.devices import choose_device
from localgcl.system.files import replacing
from localgcl.training import RunFolder, fit

DESCRIPTION = (
    "Learn node embeddings from a graph, without labels. Settings not given come from the data set's recipe, or are "
    "chosen from the graph's statistics."
)
_OWN = ("dataset", "edges", "features", "labels", "method", "recipe", "out", "resume", "warm_start", "quiet", "debug")


def add_options(parser: argparse.ArgumentParser, arguments: list[str]) -> None:
    """The method decides which options exist."""
    method = early_method(arguments)
    kind = find_method(method)
    add_source(parser)
    parser.add_argument("--method", metavar="M", help=f"one of {', '.join(METHODS)} (default: local-gcl)")
    parser.add_argument("--recipe", metavar="FILE", help="settings from a recipe file, such as localgcl tune writes")
    parser.add_argument("--out", metavar="DIR", help="run folder to write (default: runs/NAME)")
    parser.add_argument("--resume", action="store_true", help="go on with the run in --out after an interruption")
    parser.add_argument("--warm-start", metavar="RUN", help="start from the weights of another run")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    groups = {"graph": Preparation, "encoder": EncoderOptions, "training": TrainingOptions, method: kind.Options}
    for title, group in groups.items():
        add_group(parser, title, group, kind.defaults)


def run(options: argparse.Namespace) -> None:
    """Trains, embeds the graph, and prints what was done."""
    settings: dict[str, Any] = {name: value for name, value in vars(options).items() if name not in _OWN}
    say: Callable[[str], None] = (lambda _: None) if options.quiet else print
    if options.resume and options.out is None and not (options.dataset or options.edges):
        raise ValueError("--resume needs --out DIR, the run folder to go on with")
    if options.resume and not (options.dataset or options.edges):
        source = Source(**RunFolder.open(str(options.out)).source)
    else:
        source = Source(options.dataset, options.edges, options.features, options.labels)
    out, recipe, method = options.out or f"runs/{source.name}", options.recipe, options.method
    if options.resume:
        folder, asked = RunFolder.open(out), {**(read_recipe(recipe, source.name) if recipe else {}), **settings}
        folder.check_same({**source.to_dict(), **asked, **({"method": method} if method else {})})
        config, graph = folder.config, source.read()
    else:
        graph, method = source.read(), method or "local-gcl"
        if recipe is not None:
            chosen = Chosen(read_recipe(recipe, source.name), {"recipe": f"the recipe in {recipe}"})
        else:
            chosen = settings_for(method, graph, source.dataset, find_method(method).defaults)
        config = configure(method, {**chosen.values, **settings})
        say(repr(graph))
        say(chosen.explain(settings))
        if getattr(config.options, "negatives", None) == "auto":
            shape = graph.num_nodes, config.encoder.dim, config.options.num_features
            say(explain(*shape, config.options.temperature, choose_device(config.training.device)))
    model = fit(
        graph,
        config,
        folder=out,
        source=source.to_dict(),
        resume=options.resume,
        warm_start=options.warm_start,
        progress_bar=not options.quiet,
    )
    embeddings = model.embed(graph).numpy()
    with replacing(RunFolder.open(str(out)).embeddings) as temporary, temporary.open("wb") as file:
        np.save(file, embeddings)
    if model.history:
        last = model.history[-1]
        say(f"{config.method}: {model.step} steps in {last['seconds']:.1f} s, loss {last['loss']:.4f}")
    say(f"{embeddings.shape[0]:,} embeddings of {embeddings.shape[1]} numbers in {out}")
    if graph.y is not None:
        say(f"next: localgcl evaluate {out}")
