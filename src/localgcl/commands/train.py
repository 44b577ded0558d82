"""`localgcl train`: from a graph to a run folder."""

import argparse
import contextlib
import shlex
from pathlib import Path

import numpy as np

from localgcl.commands import COMMON
from localgcl.commands.options import (
    ENGINE,
    SOURCE,
    add_engine,
    add_settings,
    add_source,
    early_method,
    read_engine,
    read_source,
)
from localgcl.commands.output import Result, dated, sayer
from localgcl.datasets.source import Source
from localgcl.methods import METHODS
from localgcl.system.files import check_there, check_writable
from localgcl.system.text import shown
from localgcl.training.engines import Say
from localgcl.training.replacement import check_replaceable, replaced_run
from localgcl.training.run import RunFolder, check_vacant, default_folder
from localgcl.training.train import Request

DESCRIPTION = (
    "Learn node embeddings from a graph, without labels. Settings not given come from the data set's recipe, or are "
    "chosen from the graph's statistics."
)
_OWN = (*SOURCE, *ENGINE, "method", "recipe", "out", "overwrite", "resume", "warm_start", "force_memory", *COMMON)


def add_options(parser: argparse.ArgumentParser, arguments: list[str]) -> None:
    """The method decides which options exist."""
    add_source(parser)
    parser.add_argument("--method", metavar="M", help=f"one of {', '.join(METHODS)} (default: local-gcl)")
    parser.add_argument("--recipe", metavar="FILE", help="settings from a recipe file, such as localgcl tune writes")
    parser.add_argument(
        "--out", metavar="DIR", help="run folder to write (default: runs/NAME); {date} and {time} in it are those of the start"
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace the run in --out; it stays until the new one is whole"
    )
    parser.add_argument("--resume", action="store_true", help="go on with the run in --out after an interruption")
    parser.add_argument("--warm-start", metavar="RUN", help="start from the weights of another run")
    parser.add_argument("--force-memory", action="store_true", help="train though it is estimated not to fit the memory")
    add_engine(parser)
    add_settings(parser, early_method(arguments))


def run(options: argparse.Namespace) -> Result | None:
    """Trains, embeds the graph, and prints what was done. A team of torchrun or of a cluster trains one run together."""
    settings = {name: value for name, value in vars(options).items() if name not in _OWN}
    engine = read_engine(options)
    with engine.joined():
        source = None
        if options.dataset or options.edges or not options.resume:
            source = read_source(options)
        elif options.out is None:
            raise ValueError("--resume needs --out DIR, the run folder to go on with")
        out = _folder(options, source, together=engine.size is not None)
        quiet = options.quiet or not engine.first
        say: Say = (lambda _: None) if quiet else sayer(options)
        asked = options.method, options.recipe, options.resume, options.warm_start, options.force_memory
        with replaced_run(out) if options.overwrite else contextlib.nullcontext(out) as folder:
            task = Request(source, folder, *asked, settings=settings, progress_bar=not quiet)
            engine.run(task, _renamed(say, folder, out))
        if not engine.first:
            return None
        say(f"next: localgcl report {shlex.quote(shown(out))}")
        return _result(out)


def _folder(options: argparse.Namespace, source: Source | None, *, together: bool) -> Path:
    """The run folder. That it can be written to is checked before a graph is read."""
    given = options.out and dated(options.out)
    if together and (given != options.out or options.overwrite):
        raise ValueError(
            "--overwrite, {date} and {time} are for one process; name a new folder, such as --out runs/NAME-$(date +%F)"
        )
    if options.resume:
        if options.overwrite:
            raise ValueError("--resume goes on with a run and --overwrite replaces it; leave one of them out")
        return Path(given) if given else default_folder(_known(source).name)
    out = Path(given or default_folder(_known(source).name))
    check_writable(out)
    if options.overwrite:
        check_replaceable(out)
    elif not together:  # ranks that are started again go on with their run
        check_vacant(out)
    for named in (options.recipe, options.warm_start):
        if named is not None:
            check_there(named)
    return out


def _known(source: Source | None) -> Source:
    assert source is not None, "a run without a graph is resumed, and has a folder"
    return source


def _renamed(say: Say, folder: Path, out: Path) -> Say:
    """Lines about a run name the folder that it will have."""
    return lambda line: say(line.replace(str(folder), str(out)))


def _result(out: Path) -> Result:
    run = RunFolder.open(out)
    last = (run.read_metrics() or [{}])[-1]
    rows, columns = np.load(run.embeddings, mmap_mode="r").shape
    return {
        "run": out,
        "method": run.config.method,
        "nodes": rows,
        "dim": columns,
        "steps": int(last["step"]) + 1 if last else 0,
        "seconds": last.get("seconds"),
        "loss": last.get("loss"),
        "embeddings": run.embeddings,
        "settings": run.config.flat(),
        "source": run.source,
    }
