"""The command line. Thin: it parses, calls the library, prints. Options are made from the dataclasses of `config`.

Exit codes: 0 done, 1 the input or the run is at fault (one line on stderr says what to do), 2 the command line is
wrong, 130 stopped by Ctrl-C (the run folder is usable and can be resumed).

torch takes seconds to import, so each command imports what it needs when it runs.
"""

import argparse
import logging
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localgcl._version import __version__
from localgcl.config import EncoderOptions, LocalGCLWarning, Preparation, TrainingOptions
from localgcl.parsers import add_options, add_source, command_parser, early_method

if TYPE_CHECKING:
    from localgcl.evaluation import Scores


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of `localgcl`; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    overview = argparse.ArgumentParser(
        prog="localgcl",
        description="Node embeddings for graphs: no labels, no augmentations, linear in the graph.",
        epilog="Start with: localgcl train digits    Help on a command: localgcl train --help",
    )
    overview.add_argument("--version", action="version", version=f"localgcl {__version__}")
    commands = overview.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (_, text) in COMMANDS.items():
        commands.add_parser(name, help=text, add_help=False)
    # Only the command's name is parsed here; its own parser takes the rest.
    chosen = overview.parse_args(arguments[:1])
    return _guarded(COMMANDS[chosen.command][0], arguments[1:])


def _guarded(command: Callable[[list[str]], None], arguments: list[str]) -> int:
    """Runs a command; what the user can mend becomes one line on stderr, a bug keeps its traceback."""
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    warnings.showwarning = _one_line_warning
    notes, handler = logging.getLogger("localgcl"), _Notes()
    before = notes.level
    notes.addHandler(handler)
    notes.setLevel(logging.WARNING if "--quiet" in arguments else logging.INFO)
    try:
        command(arguments)
    except KeyboardInterrupt as interrupt:
        print(f"localgcl: {interrupt or 'stopped'}", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has gone, as in `localgcl datasets | head`
        sys.stderr.close()
        return 1
    except (ValueError, TypeError, OSError, ImportError) as error:
        if debug:
            raise
        print(f"localgcl: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    finally:
        notes.removeHandler(handler)
        notes.setLevel(before)
    return 0


class _Notes(logging.Handler):
    """What the library logs (a mode it chose, for example), one line each on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        print(f"localgcl: note: {record.getMessage()}", file=sys.stderr)


def _one_line_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, LocalGCLWarning):
        print(f"localgcl: note: {message}", file=sys.stderr)


# train


def train(arguments: list[str]) -> None:
    """localgcl train"""
    method = early_method(arguments)
    from localgcl.methods import METHODS, find_method

    kind = find_method(method)
    parser = command_parser(
        "train",
        "Learn node embeddings from a graph, without labels. Settings not given come from the data set's recipe, or are "
        "chosen from the graph's statistics.",
    )
    add_source(parser)
    parser.add_argument("--method", metavar="M", help=f"one of {', '.join(METHODS)} (default: local-gcl)")
    parser.add_argument("--recipe", metavar="FILE", help="settings from a recipe file, such as localgcl tune writes")
    parser.add_argument("--out", metavar="DIR", help="run folder to write (default: runs/NAME)")
    parser.add_argument("--resume", action="store_true", help="go on with the run in --out after an interruption")
    parser.add_argument("--warm-start", metavar="RUN", help="start from the weights of another run")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    groups = {"graph": Preparation, "encoder": EncoderOptions, "training": TrainingOptions, method: kind.Options}
    for title, group in groups.items():
        add_options(parser, title, group, kind.defaults)
    given = vars(parser.parse_args(arguments))
    shared = ("dataset", "edges", "features", "labels", "method", "recipe", "out", "resume", "warm_start", "quiet")
    settings = {name: value for name, value in given.items() if name not in (*shared, "debug")}
    _train(settings=settings, **{name: given[name] for name in shared})


def _train(
    *,
    dataset: str | None,
    edges: str | None,
    features: str | None,
    labels: str | None,
    method: str | None,
    recipe: str | None,
    out: str | None,
    resume: bool,
    warm_start: str | None,
    quiet: bool,
    settings: dict[str, Any],
) -> None:
    import numpy as np

    from localgcl.atomic import replacing
    from localgcl.costs import explain
    from localgcl.datasets.source import Source
    from localgcl.devices import choose_device
    from localgcl.methods import configure, find_method
    from localgcl.recipes import Chosen, read_recipe, settings_for
    from localgcl.training import RunFolder, fit

    say: Callable[[str], None] = (lambda _: None) if quiet else print
    if resume and out is None and not (dataset or edges):
        raise ValueError("--resume needs --out DIR, the run folder to go on with")
    if resume and not (dataset or edges):
        source = Source(**RunFolder.open(str(out)).source)
    else:
        source = Source(dataset, edges, features, labels)
    out = out or f"runs/{source.name}"
    if resume:
        run, asked = RunFolder.open(out), {**(read_recipe(recipe, source.name) if recipe else {}), **settings}
        run.check_same({**source.to_dict(), **asked, **({"method": method} if method else {})})
        config, graph = run.config, source.read()
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
        graph, config, folder=out, source=source.to_dict(), resume=resume, warm_start=warm_start, progress_bar=not quiet
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


# embed


def embed(arguments: list[str]) -> None:
    """localgcl embed"""
    parser = command_parser("embed", "Embed the nodes of a graph with a trained run. Nodes and edges may be new to it.")
    parser.add_argument("run", metavar="RUN", help="run folder of localgcl train")
    parser.add_argument("graph", nargs="?", metavar="GRAPH", help="data set or edge file (default: the graph of the run)")
    parser.add_argument("--features", metavar="F", help="feature file that goes with an edge file")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help=".npy, .parquet, .csv, .tsv, .txt or .faiss")
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    parser.add_argument("--device", default="cpu", help="cpu or cuda (default: cpu)")
    options = parser.parse_args(arguments)

    from localgcl.datasets.source import Source
    from localgcl.export import write_embeddings
    from localgcl.training import Model, RunFolder

    run = RunFolder.open(options.run)
    if options.graph is None:
        source = Source(**run.source)
    elif options.features is not None or Path(options.graph).suffix:
        source = Source(edges=options.graph, features=options.features)
    else:
        source = Source(dataset=options.graph)
    model, graph = Model.load(run, options.device), source.read()
    write_embeddings(options.output, model.embed(graph).numpy(), graph.node_ids, overwrite=options.force)
    print(f"{graph.num_nodes:,} embeddings in {options.output}")


# evaluate


def evaluate(arguments: list[str]) -> None:
    """localgcl evaluate"""
    parser = command_parser(
        "evaluate",
        "Score embeddings: a linear classifier on top, its settings picked on validation nodes. For a run folder the untrained "
        "encoder and the raw features are scored beside it. Several run folders (one a seed) are averaged.",
    )
    parser.add_argument("what", nargs="+", metavar="RUN|FILE", help="run folders, or one table of embeddings")
    parser.add_argument("--labels", metavar="F", help="label file for a table of embeddings (first column the node id)")
    parser.add_argument("--protocol", default="linear", metavar="P", help="linear, sklearn, knn, kmeans... (default: linear)")
    parser.add_argument("--splits", type=int, metavar="N", help="random 10/10/80 splits where none are given (default: 20)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of random splits and classifiers (default: 0)")
    parser.add_argument("--no-baselines", action="store_true", help="leave out random-init and raw-features")
    parser.add_argument("--device", default="cpu", help="cpu or cuda (default: cpu)")
    options = parser.parse_args(arguments)
    if all(Path(path).is_dir() for path in options.what):
        _evaluate_runs(options)
    elif len(options.what) == 1:
        _evaluate_table(options)
    else:
        raise ValueError("give run folders, or one file of embeddings, not a mixture")


def _evaluate_table(options: argparse.Namespace) -> None:
    from localgcl.comparison import score_table

    if options.labels is None:
        raise ValueError("a table of embeddings needs --labels FILE (first column the node id, second the class)")
    shared = {"protocol": options.protocol, "seed": options.seed, "device": options.device}
    _print_scores({"embeddings": score_table(options.what[0], options.labels, num_splits=options.splits or 20, **shared)})


def _evaluate_runs(options: argparse.Namespace) -> None:
    from localgcl.comparison import compare_runs

    rows = compare_runs(
        options.what,
        protocol=options.protocol,
        num_splits=options.splits,
        seed=options.seed,
        baselines=not options.no_baselines,
        device=options.device,
    )
    _print_scores(rows)


def _print_scores(rows: "dict[str, Scores]") -> None:
    width = max(map(len, rows))
    for name, scores in rows.items():
        extra = "".join(f"   {metric} {sum(values) / len(values):.2f}" for metric, values in scores.extra.items())
        print(f"{name:{width}}  {scores.mean:6.2f} ± {scores.std:.2f}{extra}")
    any_row = next(iter(rows.values()))
    print(f"({any_row.metric} in %, {any_row.over}; {any_row.protocol})")


# lists


def datasets(arguments: list[str]) -> None:
    """localgcl datasets"""
    command_parser("datasets", "The graphs that can be named, and whether their files are here.").parse_args(arguments)
    from localgcl.datasets.catalogue import CATALOGUE

    print(
        f"{'name':16} {'nodes':>9} {'edges':>11} {'features':>9} {'classes':>8} {'homophily':>10}  {'splits':10} kind of edges"
    )
    for entry in CATALOGUE.values():
        homophily = "" if entry.homophily is None else f"{entry.homophily:.3f}"
        sizes = f"{entry.nodes:>9,} {entry.edges:>11,} {entry.features:>9,} {entry.classes:>8} {homophily:>10}"
        print(f"{entry.name:16} {sizes}  {entry.splits:10} {entry.kind}")
    print("Files are kept under LOCALGCL_HOME (default ~/.cache/localgcl); digits needs none.")


def methods(arguments: list[str]) -> None:
    """localgcl methods"""
    parser = command_parser(
        "methods", "The methods that can be named with --method, and what a step costs on a graph of your size."
    )
    sizes = (  # of ogbn-arxiv
        ("nodes", 169_343, "number of nodes"),
        ("edges", 2_315_598, "number of edges, both directions counted"),
        ("features", 128, "number of feature columns"),
        ("dim", 256, "embedding dimension"),
    )
    for name, default, text in sizes:
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=f"{text} (default: {default:,})")
    options = parser.parse_args(arguments)
    from localgcl.methods.overview import overview

    rows = overview(options.nodes, options.edges, options.features, options.dim)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())
    size = f"{options.nodes:,} nodes, {options.edges:,} edges, {options.features:,} features, dim {options.dim}"
    print(f"(memory: estimated for {size})")


def tune(arguments: list[str]) -> None:
    """localgcl tune"""
    method = early_method(arguments)
    parser = command_parser(
        "tune",
        "Search settings by accuracy on validation nodes; the labels of test nodes are hidden. Repeat the command to go on "
        "after an interruption. Options of localgcl train that are given here stay as given.",
    )
    from localgcl.search.command import add_tune_options, carry_out

    add_tune_options(parser, method)
    carry_out(parser.parse_args(arguments), print)


def bench(arguments: list[str]) -> None:
    """localgcl bench"""
    parser = command_parser(
        "bench", "Measure time and memory of the library's parts beside plain PyTorch; rows go to one table."
    )
    from localgcl.bench.command import add_options
    from localgcl.bench.command import bench as carry_out

    add_options(parser)
    carry_out(parser.parse_args(arguments), print)


def reproduce(arguments: list[str]) -> None:
    """localgcl reproduce"""
    parser = command_parser(
        "reproduce",
        "Run an experiment of the paper again: what has a result is not run again, what has none is run, then tables and plots "
        "are printed and written, with the paper's numbers beside ours.",
    )
    from localgcl.reproduce.command import add_options
    from localgcl.reproduce.command import reproduce as carry_out

    add_options(parser)
    carry_out(parser.parse_args(arguments), print)


COMMANDS: dict[str, tuple[Callable[[list[str]], None], str]] = {
    "train": (train, "learn embeddings from a graph"),
    "embed": (embed, "write the embeddings of a graph, also of new nodes"),
    "evaluate": (evaluate, "score embeddings with labels"),
    "tune": (tune, "search settings on validation nodes"),
    "datasets": (datasets, "list the graphs that can be named"),
    "methods": (methods, "list the methods"),
    "bench": (bench, "measure speed and memory"),
    "reproduce": (reproduce, "run the paper's tables, figures and theorems"),
}


if __name__ == "__main__":
    sys.exit(main())
