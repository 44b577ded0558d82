"""CPU or GPU, by name."""

import os

import torch


def choose_device(name: str) -> torch.device:
    """The device called `name`; "auto" is a GPU where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ValueError(f"device is {name!r}; choose auto, cpu, cuda, cuda:0, cuda:1...") from error
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"device is {name!r}; choose auto, cpu, cuda, cuda:0, cuda:1...")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ValueError(f"device is {name!r}, but torch sees {torch.cuda.device_count()} GPUs here; choose cpu or auto")
    return device


def device_memory(device: torch.device | str) -> int:
    """Bytes of memory that a device has in all: the card's, or the machine's."""
    device = torch.device(device)
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    if not hasattr(os, "sysconf"):
        raise ValueError("the machine's memory cannot be read on this system; choose the mode (faithful or scalable) yourself")
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def in_bytes(number: int) -> str:
    """A number of bytes for reading: 1536 is '1.5 KiB'."""
    size, unit = float(number), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
