"""Space: which values of which options a search may try."""

import dataclasses
import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from localgcl.config import read_toml, suggestion
from localgcl.methods import configure

Settings = dict[str, Any]
OWN = ("seed", "device")
"""Options that a search sets itself: seeds are what a trial averages over, and the device is the same for all."""


@dataclasses.dataclass(frozen=True)
class Space:
    """Values by option, in the order given; a point of the space has one value for each option.

    Example:
        >>> space = Space({"dim": (64, 128), "layers": (1, 2)})
        >>> space.size, next(space.points())
        (4, {'dim': 64, 'layers': 1})
    """

    values: Mapping[str, tuple[Any, ...]]

    @classmethod
    def checked(cls, values: Mapping[str, Any], method: str) -> "Space":
        """A space whose every value the method accepts; ValueError otherwise, before the first trial is run."""
        if not values:
            raise ValueError("the space is empty; give it at least one option, such as temperature = [0.5, 1.0]")
        known = {}
        for option, given in values.items():
            if option in OWN:
                raise ValueError(f"{option} cannot be searched: a trial is run on all its seeds, on one device; leave it out")
            if not isinstance(given, Sequence) or isinstance(given, str) or not given:
                raise ValueError(f"{option} is {given!r}; a space gives each option a list of values, such as [0.5, 1.0]")
            # The configuration converts to the declared type: 1 and 1.0 are one value, not two.
            known[option] = tuple(dict.fromkeys(configure(method, {option: value}).flat()[option] for value in given))
        return cls(known)

    @property
    def size(self) -> int:
        return math.prod(len(values) for values in self.values.values())

    def points(self) -> Iterator[Settings]:
        """All points, the last option changing fastest."""
        for values in itertools.product(*self.values.values()):
            yield dict(zip(self.values, values, strict=True))

    def without(self, options: Mapping[str, Any]) -> "Space":
        """The space of the other options."""
        return Space({option: values for option, values in self.values.items() if option not in options})

    def including(self, point: Settings) -> "Space":
        """The space with the values of `point` added."""
        return Space({option: tuple(dict.fromkeys([*values, point[option]])) for option, values in self.values.items()})


def read_space(name: str | os.PathLike[str] | None, method: str) -> Space:
    """A space by name (None: the method's first), or from a TOML file of lines such as `temperature = [0.5, 1.0]`."""
    if name is not None and (Path(name).suffix == ".toml" or Path(name).is_file()):
        return Space.checked(read_toml(name), method)
    with resources.as_file(resources.files(__package__) / "spaces" / f"{method}.toml") as file:
        tables: dict[str, Any] = read_toml(file) if file.is_file() else {}
    if not tables:
        raise ValueError(f"method {method!r} has no space of its own; give a TOML file of lines such as dim = [256, 512]")
    if name is not None and str(name) not in tables:
        raise ValueError(
            f"method {method!r} has no space {str(name)!r}{suggestion(str(name), tables)}; a TOML file will do, too"
        )
    return Space.checked(tables[str(name or next(iter(tables)))], method)
