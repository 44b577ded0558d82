"""Small parts that several methods share."""

import dataclasses
import logging
import math
import warnings
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from localgcl.config import Config, LocalGCLWarning
from localgcl.graph import Graph
from localgcl.system.devices import device_memory
from localgcl.system.memory import in_bytes


def require_edges(graph: Graph, why: str) -> None:
    """Raises ValueError when no two nodes are connected; `why` says what the method then lacks."""
    if graph.neighbourhoods.num_entries == 0:
        raise ValueError(
            f"no two of the {graph.num_nodes} nodes are connected, so {why}; "
            "add edges, for example a k-nearest-neighbour graph of the features (scikit-learn's kneighbors_graph)"
        )


def require_two_nodes(graph: Graph, why: str) -> None:
    """Raises ValueError for a graph of one node; `why` says what the method then lacks."""
    if graph.num_nodes < 2:
        raise ValueError(f"the graph has one node, and {why}; give at least two")


def require_positives(graph: Graph, positives: str) -> None:
    """Raises ValueError when a method that compares a node with its other view, or with its neighbours, cannot do so."""
    require_two_nodes(graph, "its columns have no spread")
    if positives == "neighbours":
        require_edges(graph, "there are no positive pairs")


def warn_of_unused_weights(name: str, unweighted: str, graph: Graph) -> None:
    """Says once which part of the method `name` ignores the weights of a graph that has any (see `Method.unweighted`)."""
    if graph.weights is not None and unweighted:
        warnings.warn(f"{name}: {unweighted} ignore edge weights; all edges count alike there", LocalGCLWarning, stacklevel=3)


def require_gcn(config: Config, why: str) -> None:
    """Raises ValueError for an encoder that does not average over neighbours; `why` says what the method then lacks."""
    if config.encoder.encoder != "gcn":
        raise ValueError(f"encoder is {config.encoder.encoder!r}, but {why}; take encoder gcn")


def momentum(step: int, steps: int, start: float) -> float:
    r"""$m_t = 1 - (1 - m_0) (1 + \cos(\pi t / T)) / 2$: the momentum of a target network, from $m_0$ up to 1 (BYOL, BGRL).

    Args:
        step: t, from 0.
        steps: T, the number of training steps.
        start: $m_0$, such as 0.99.
    """
    return 1 - (1 - start) * (1 + math.cos(math.pi * step / steps)) / 2


@torch.no_grad()
def follow(target: nn.Module, online: nn.Module, momentum: float) -> None:
    r"""$\theta_{target} \leftarrow m\, \theta_{target} + (1 - m)\, \theta_{online}$, of parameters only: buffers stay."""
    targets: list[Tensor] = list(target.parameters())
    sources: list[Tensor] = list(online.parameters())
    if [parameter.shape for parameter in targets] != [parameter.shape for parameter in sources]:
        raise ValueError("target and online networks have parameters of different shapes; build both from the same options")
    torch._foreach_lerp_(targets, sources, 1 - momentum)


class Bilinear(nn.Module):
    r"""The discriminator $D(h, s) = h^T W s + b$, computed as $(h W) \cdot s$: O(n d k), nothing is expanded over rows.

    W starts uniform within $\pm\sqrt{6 / (d k + k)}$ and b at zero, as in the published codes of DGI, MVGRL and GMI: they apply
    Glorot's rule to a tensor of shape (1, d, k), for which it counts d k inputs.
    """

    def __init__(self, dim: int, other_dim: int | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(1, dim, other_dim or dim))[0])
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, h: Float[Tensor, "n d"], s: Float[Tensor, " k"] | Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        """Scores of each row against one summary s, or against its own row of s."""
        if s.ndim == 1:
            return h @ (self.weight @ s) + self.bias
        return ((h @ self.weight) * s).sum(1) + self.bias


Mode = Literal["auto", "faithful", "scalable"]
"""Type of a method's `mode` option; `MODE_HELP` is its help text."""
MODE_HELP = "faithful: as published; scalable: memory linear in the graph; auto: faithful where it fits a quarter of the memory"

_SHARE = 4
_log = logging.getLogger("localgcl")


def fits_quarter(bytes_needed: int, device: torch.device) -> bool:
    """Whether `bytes_needed` fit a quarter of the device's memory: the condition of mode "auto" for the faithful form."""
    return bytes_needed <= device_memory(device) // _SHARE


def in_mode(config: Config, bytes_needed: int, device: torch.device) -> Config:
    """The settings with the form that mode "auto" takes, where the method has two and the choice is left."""
    if getattr(config.options, "mode", None) != "auto":
        return config
    mode: Mode = "faithful" if fits_quarter(bytes_needed, device) else "scalable"
    return dataclasses.replace(config, options=dataclasses.replace(config.options, mode=mode))


def choose_mode(
    asked: Mode, bytes_needed: int, device: torch.device, *, what: str, quiet: bool = False
) -> Literal["faithful", "scalable"]:
    """The form to take, decided before anything is allocated.

    "auto" is faithful if `bytes_needed` fit a quarter of the device's memory: the card's, or the machine's for a CPU. The
    logger "localgcl" logs the choice. "faithful" beyond that quarter stays faithful, with a warning.

    Args:
        asked: The user's `mode` option.
        bytes_needed: Memory of one step of the faithful form, beyond the parameters.
        device: The device it will run on.
        what: What the bytes are for, such as "GRACE's pairs of 169,343 nodes".
        quiet: Say nothing: an earlier batch logged the choice.
    """
    if asked == "scalable":
        return "scalable"
    fits = fits_quarter(bytes_needed, device)
    chosen: Literal["faithful", "scalable"] = "faithful" if fits or asked == "faithful" else "scalable"
    if not quiet:
        sizes = f"{what}: {in_bytes(bytes_needed)} of {in_bytes(device_memory(device))} on {device}"
        if asked == "auto":
            _log.info("mode %s chosen for %s", chosen, sizes)
        elif not fits:
            message = f"mode is faithful, and it needs {sizes}; if that runs out of memory, take mode scalable"
            warnings.warn(message, LocalGCLWarning, stacklevel=2)
    return chosen
