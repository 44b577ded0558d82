"""Which engine runs a command: this process, torchrun's ranks, or a cluster."""

import argparse

from localgcl.training.joining import started_by_torchrun

ENGINE = ("engine", "workers")
"""What `add_engine` reads."""


def add_engine(parser: argparse.ArgumentParser) -> None:
    """A cluster and its workers."""
    section = parser.add_argument_group("engine")
    section.add_argument(
        "--engine", choices=["ray"], help="run on a Ray cluster: that of RAY_ADDRESS, or one started on this machine"
    )
    section.add_argument("--workers", type=int, metavar="K", help="processes on the cluster")


def cluster_workers(options: argparse.Namespace) -> int | None:
    """How many workers of a cluster to use; None without a cluster."""
    if options.engine is None:
        if options.workers is not None:
            raise ValueError(f"workers is {options.workers}, but there is no engine; add --engine ray")
        return None
    if options.workers is None:
        raise ValueError(f"engine is {options.engine}, but the number of workers is not given; add --workers K")
    if started_by_torchrun():
        raise ValueError(f"engine is {options.engine}, which starts the processes itself; leave torchrun out")
    workers: int = options.workers
    return workers
