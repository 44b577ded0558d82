"""CPU or GPU: which one a name means and how much memory it has."""

import torch

from localgcl.system.limits import available_memory


def choose_device(name: str) -> torch.device:
    """The device called `name`; "auto" is the GPU if there is one, else the CPU."""
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


def free_device_memory(device: torch.device | str) -> int | None:
    """Bytes that this process may still allocate on a GPU, what torch has reserved but does not use included; None on a CPU."""
    device = torch.device(device)
    if device.type != "cuda":
        return None
    free, _ = torch.cuda.mem_get_info(device)
    return int(free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device))


def device_memory(device: torch.device | str) -> int:
    """Bytes of memory of a GPU; for the CPU those of the machine, or of this process's container where it may use less."""
    device = torch.device(device)
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    memory = available_memory()
    if memory is None:
        raise ValueError("the machine's memory cannot be read on this system; choose the mode (faithful or scalable) yourself")
    return memory
