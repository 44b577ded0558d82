"""Before a run: what it takes and what there is. What does not fit is refused, and the largest dim that would fit is named.

A process that asks for more memory than there is gets killed by the system without a word, or makes the whole machine swap.
"""

import os
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch

from localgcl.config import Config
from localgcl.graph import Graph
from localgcl.io.sizes import FileSize, count_edges, file_size
from localgcl.methods import find_method
from localgcl.nn.encoders import encoder_kind
from localgcl.system.devices import free_device_memory
from localgcl.system.limits import available_memory, free_memory, resident_memory
from localgcl.system.memory import OutOfMemory
from localgcl.training.memory import LATE, Estimate, Sizes, estimate, mapped_memory, reading_memory

BATCHES, SAMPLED = (2048, 1024, 512, 256, 128), 5
"""Nodes of mini-batches that are tried where the whole graph does not fit, and neighbours of each node."""
_FORCE = "try it all the same with --force-memory (force_memory=True)"


class Room(NamedTuple):
    """Bytes that this process may use on the host, those it holds already among them, and on the GPU. None if unknown."""

    host: int | None
    card: int | None

    @classmethod
    def on(cls, device: torch.device) -> "Room":
        free = free_memory()
        # Where free memory cannot be read, all that is installed is an upper bound.
        return cls(available_memory() if free is None else free + resident_memory(), free_device_memory(device))

    def holds(self, host: int, card: int = 0) -> bool:
        return (self.host is None or host <= self.host) and (self.card is None or card <= self.card)


class Needs(NamedTuple):
    """Bytes that a run takes on the host and on the GPU, and the room for them."""

    host: int
    card: int
    room: Room

    @property
    def fit(self) -> bool:
        return self.room.holds(self.host, self.card)

    def lines(self) -> list[str]:
        """One line for the host, and one for the GPU if there is one."""
        lines = [f"memory: about {in_gib(self.host)} of {_available(self.room.host)}"]
        gpu = f"GPU memory: about {in_gib(self.card)} of {_available(self.room.card)}"
        return lines if self.room.card is None else [*lines, gpu]


def preflight(
    graph: Graph, config: Config, device: torch.device, *, force: bool = False, stored: bool = True, read_peak_bytes: int = 0
) -> "Needs":
    """What a run takes and what there is, before anything large is allocated.

    Args:
        graph: As read.
        config: All settings.
        device: Where it is trained.
        force: Go on though it does not fit.
        stored: Whether there is a run folder, into which checkpoints are written.
        read_peak_bytes: What reading the graph took at its peak, if known. It is over: it is shown, and refuses nothing.

    Raises:
        OutOfMemory: It does not fit, on the host or on the GPU. The message names the largest `dim` that would.
    """
    room = Room.on(device)
    if find_method(config.method).reads_from_disk(graph, config):
        host = mapped_memory(graph, config, device)
        if not (force or room.holds(host)):
            takes = f"training {config.method} on a graph folder takes about {in_gib(host)} of {_available(room.host)}"
            raise OutOfMemory(f"{takes}; take a smaller batch, or {_FORCE}")
        return Needs(host, 0, room)
    sizes = Sizes.of(graph, config.preparation)
    estimated = partial(estimate, sizes, device=device, stored=stored)
    need = estimated(config)
    # The process may hold more than the estimate knows of: another build of torch, or other graphs.
    held = max(need.held, resident_memory() + LATE)

    def fits(at: Estimate) -> bool:
        return room.holds(held + at.growth, at.device)

    if not (force or fits(need)):
        takes = f"training {config.method} with dim {config.encoder.dim} takes about {_too_much(held, need, room)}"
        raise OutOfMemory(f"{takes}; {_advice(held, estimated, config, fits)}, or {_FORCE}")
    return Needs(max(held + need.growth, read_peak_bytes), need.device, room)


def in_fitting_batches(graph: Graph, config: Config, device: torch.device, *, stored: bool = True) -> tuple[Config, str]:
    """The settings with mini-batches, where the whole graph does not fit and they do, and a line that says so.

    Otherwise the settings as they are and an empty line: `preflight` then passes or refuses them.
    """
    training, whole = config.training, preflight(graph, config, device, force=True, stored=stored)
    if training.batch or whole.fit or find_method(config.method).fitter != "steps":
        return config, ""
    for batch in (size for size in BATCHES if size < graph.num_nodes):
        smaller = config.replace(batch=batch, sampled=training.sampled or SAMPLED)
        needs = preflight(graph, smaller, device, force=True, stored=stored)
        if needs.fit:
            return smaller, (
                f"the whole graph takes about {_largest(whole)}, mini-batches of {batch} nodes with up to "
                f"{smaller.training.sampled} neighbours of each node {_largest(needs, short=True)}: taking these "
                "(--batch 0 asks for the whole graph)"
            )
    return config, ""


def _largest(needs: Needs, *, short: bool = False) -> str:
    """What a run takes and what there is: of the GPU where that decides."""
    on_card = needs.room.card is not None and (needs.card > needs.room.card or needs.room.holds(needs.host))
    taken, room = (needs.card, needs.room.card) if on_card else (needs.host, needs.room.host)
    place = " on the GPU" if on_card else ""
    return f"{in_gib(taken)}{place}" if short else f"{in_gib(taken)} of {_available(room)}{place}"


def check_files(edges: str | os.PathLike[str], features: str | os.PathLike[str] | None, *, force: bool = False) -> None:
    """Raises OutOfMemory if the graph in these files takes more memory than there is, before they are read."""
    links, table = count_edges(edges), FileSize(0, 0) if features is None else file_size(features)
    if force or links is None or table is None:
        return
    # As if the graph had one node, whose features all these numbers are.
    size, room = reading_memory(1, links, table.cells), Room.on(torch.device("cpu"))
    if not room.holds(size):
        named = f"{edges}" if features is None else f"{edges} and {features}"
        raise OutOfMemory(
            f"reading {named} takes about {in_gib(size)} of {_available(room.host)}; "
            f"take a part of the graph or a machine with more memory, or {_FORCE}"
        )


def largest_dim(estimated: Callable[[Config], Estimate], config: Config, fits: Callable[[Estimate], bool]) -> int | None:
    """The largest dim below that of `config` whose estimate fits, other settings being equal; None if there is none."""
    low, high = smallest_dim(config) - 1, config.encoder.dim
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(estimated(config.replace(dim=middle))) else (low, middle)
    return low if low >= smallest_dim(config) else None


def smallest_dim(config: Config) -> int:
    """The smallest dim that these settings allow: one column a channel of hops."""
    return encoder_kind(config.encoder).smallest_dim(config.encoder)


def in_gib(number: int) -> str:
    """Bytes in GiB, with a decimal below 100."""
    size = number / 2**30
    return f"{size:.1f} GiB" if size < 100 else f"{size:,.0f} GiB"


def _too_much(held: int, need: Estimate, room: Room) -> str:
    """What does not fit: need and room, of the host or else of the GPU."""
    if not room.holds(held + need.growth):
        return f"{in_gib(held + need.growth)} of {_available(room.host)}"
    return f"{in_gib(need.device)} of {_available(room.card)} on the GPU"


def _advice(held: int, estimated: Callable[[Config], Estimate], config: Config, fits: Callable[[Estimate], bool]) -> str:
    fitting = largest_dim(estimated, config, fits)
    if fitting is not None:
        return f"take dim {fitting}, the largest that fits"
    smallest = smallest_dim(config)
    least = estimated(config.replace(dim=smallest))
    gpu = f" and {in_gib(least.device)} on the GPU" if least.device else ""
    takes = f"dim {smallest} takes about {in_gib(held + least.growth)}{gpu}"
    return f"no dim fits ({takes}): take fewer or narrower layers, a smaller graph or a machine with more memory"


def _available(number: int | None) -> str:
    return "an unknown amount" if number is None else f"{in_gib(number)} available"
