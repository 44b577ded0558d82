"""features.json of a run folder: the names of the feature columns, so that new files are matched by name.

config.toml holds only their number: people read that file, and 10,000 names would bury the settings.
"""

import json
from pathlib import Path
from typing import Any

from localgcl.graph.checks import column_names
from localgcl.system.files import replacing

FILE = "features.json"


def write_names(folder: Path, names: tuple[str, ...]) -> None:
    """Writes the names, in the order of the columns."""
    with replacing(folder / FILE) as temporary:
        temporary.write_text(json.dumps({"names": names}, indent=0) + "\n", encoding="utf-8")


def read_names(folder: Path, count: Any) -> tuple[str, ...] | None:
    """The `count` names that were written; None for a run without names, as all were before names were kept."""
    if count is None:
        return None
    path = folder / FILE
    if type(count) is not int or count < 1:
        raise ValueError(f"{folder / 'config.toml'}: feature_names is {count!r}, not a count; restore a copy or train again")
    try:
        names = json.loads(path.read_text(encoding="utf-8"))["names"]
        return column_names(names, count)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{path} is missing, which names the {count} feature columns; restore a copy") from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"{path} is damaged ({error}); restore a copy or train again") from error
