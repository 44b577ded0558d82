"""The one rule that decides between a method's faithful form and its scalable one."""

import dataclasses
import logging
import warnings
from typing import Literal

import torch

from localgcl.config import Config, LocalGCLWarning
from localgcl.system.devices import device_memory
from localgcl.system.memory import in_bytes

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
    asked: Mode, bytes_needed: int, device: torch.device, *, what: str, stacklevel: int = 2, quiet: bool = False
) -> Literal["faithful", "scalable"]:
    """The form to take, decided before anything is allocated.

    "auto" is faithful if `bytes_needed` fit a quarter of the device's memory: the card's, or the machine's for a CPU. The
    logger "localgcl" logs the choice. "faithful" beyond that quarter stays faithful, with a warning.

    Args:
        asked: The user's `mode` option.
        bytes_needed: Memory of one step of the faithful form, beyond the parameters.
        device: The device it will run on.
        what: What the bytes are for, such as "GRACE's pairs of 169,343 nodes".
        stacklevel: As in `warnings.warn`.
        quiet: Say nothing: an earlier batch logged the choice.
    """
    if asked == "scalable":
        return "scalable"
    total = device_memory(device)
    fits = fits_quarter(bytes_needed, device)
    sizes = f"{what}: {in_bytes(bytes_needed)} of {in_bytes(total)} on {device}"
    if asked == "auto":
        chosen: Literal["faithful", "scalable"] = "faithful" if fits else "scalable"
        if not quiet:
            _log.info("mode %s chosen for %s", chosen, sizes)
        return chosen
    if not (fits or quiet):
        warnings.warn(
            f"mode is faithful, and it needs {sizes}; if that runs out of memory, take mode scalable",
            LocalGCLWarning,
            stacklevel=stacklevel,
        )
    return "faithful"
