"""table-hyperparameters: Local-GCL's printed settings beside this library's recipes."""

from collections.abc import Mapping, Sequence
from typing import Any

from localgcl.datasets import names
from localgcl.experiments.tables import Table
from localgcl.methods import configure
from localgcl.recipes import recipes
from paper.printed import printed_settings
from paper.store import StudyRow

_HEADINGS = {
    "encoder": "encoder",
    "steps": "steps",
    "layers": "layers",
    "learning_rate": "learning rate",
    "weight_decay": "weight decay",
    "dim": "d",
    "num_features": "D",
    "temperature": "τ",
}
Settings = Mapping[str, Any]


def measure() -> list[StudyRow]:
    """The printed settings above the recipe for each graph that has one; what differs is bold."""
    known = recipes("local-gcl-single")
    defaults = configure("local-gcl", {}).flat()
    rows = []
    for graph in (name for name in names() if name in known):
        ours = configure("local-gcl", known[graph]).flat()
        settings = printed_settings(graph)
        theirs = None if settings is None else configure("local-gcl", settings).flat()
        if theirs is not None:
            rows.append(_row(graph, "printed", theirs, defaults, theirs))
        rows.append(_row(graph, "recipe", ours, defaults, theirs or ours))
    return rows


def _row(graph: str, name: str, values: Settings, defaults: Settings, against: Settings) -> StudyRow:
    shown = {heading: _marked(_value(values[key]), values[key] != against[key]) for key, heading in _HEADINGS.items()}
    return {"graph": graph, "settings": name, **shown, "other options": _others(values, defaults, against)}


def table(rows: Sequence[StudyRow]) -> Table:
    """The settings with their caption."""
    return Table(
        name="table-hyperparameters",
        title="Settings of Local-GCL with one encoder: printed, and in the recipes",
        caption=(
            "Printed settings above the recipe of each graph; bold is where the recipe differs. Recipes were picked by "
            "validation accuracy; recipes/local-gcl-single.toml says how, and where test accuracy led to another search."
        ),
        columns=list(rows[0]),
        rows=[list(row.values()) for row in rows],
        notes=[
            "The paper prints no settings for graphs without a printed row. Options not listed have the library's defaults.",
            "Batch normalisation in a printed MLP is taken from the code family it stems from.",
            "Printed settings use SORF for the negative term; recipes leave the choice between it and the exact term to the "
            "library.",
        ],
    )


def _others(values: Settings, defaults: Settings, against: Settings) -> str:
    """Options outside the printed table that are not at their default, or that differ from `against`."""
    # How the negative term is computed would be bold in every row; a note says it once.
    keys = (key for key in values if key not in _HEADINGS and key != "negatives")
    shown = [key for key in keys if values[key] != defaults[key] or values[key] != against[key]]
    return ", ".join(_marked(f"{key}={_value(values[key])}", values[key] != against[key]) for key in shown)


def _marked(cell: str, differs: bool) -> str:
    return f"**{cell}**" if differs else cell


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and 0 < value < 0.01:
        return f"{value:.0e}".replace("e-0", "e-")
    return f"{value:g}" if isinstance(value, float) else str(value)
