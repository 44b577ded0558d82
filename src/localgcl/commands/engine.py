"""Options that choose what runs a command: this process, torchrun's ranks, or a cluster."""

import argparse

from localgcl.training.engines import ENGINES, Engine, choose_engine

ENGINE = ("engine", "workers")
"""What `add_engine` reads."""


def add_engine(parser: argparse.ArgumentParser) -> None:
    """A cluster and its workers."""
    section = parser.add_argument_group("engine")
    section.add_argument(
        "--engine", choices=list(ENGINES), help="ray: run on the cluster of RAY_ADDRESS, or on one started on this machine"
    )
    section.add_argument("--workers", type=int, metavar="K", help="processes on the cluster")


def read_engine(options: argparse.Namespace) -> Engine:
    """The engine that was asked for, or that of this process."""
    given = vars(options)
    return choose_engine(options.engine, options.workers, given.get("threads") or 1, given.get("device", "auto"))
