"""What a run is asked for, and the lines that are said of it: shared by one process and by many ranks."""

import dataclasses
import os
from collections.abc import Callable, Mapping
from typing import Any

from localgcl.graph import Graph
from localgcl.methods import configure
from localgcl.methods.settings import Chosen, choose_settings
from localgcl.recipes import read_recipe
from localgcl.system.text import shown
from localgcl.training.model import Model
from localgcl.training.run import RunFolder

DEFAULT = "local-gcl"
"""The method where none is named."""


@dataclasses.dataclass(frozen=True)
class Asked:
    """Method, recipe and settings that the user gave.

    Args:
        method: A name of `METHODS`; None where none was given.
        recipe: A recipe file; None for the data set's own.
        settings: Options by name.
    """

    method: str | None
    recipe: str | os.PathLike[str] | None
    settings: Mapping[str, Any]

    def check(self) -> None:
        """Raises ValueError if a setting is wrong. No graph is needed, so this comes before one is read."""
        configure(self.method or DEFAULT, self.settings)

    def check_resumed(self, run: RunFolder, name: str, source: Mapping[str, Any]) -> None:
        """Raises ValueError if this differs from the run to go on with.

        Args:
            run: The run.
            name: Name of the graph, by which a recipe file is read.
            source: Where the graph comes from.
        """
        stored = read_recipe(self.recipe, name) if self.recipe else {}
        method = {"method": self.method} if self.method else {}
        run.check_same({**source, **stored, **self.settings, **method})

    def choose(self, graph: Graph, dataset: str | None, say: Callable[[str], None]) -> Chosen:
        """The settings of a new run on `graph`, which may be a known data set; says why."""
        method = self.method or DEFAULT
        chosen = choose_settings(method, graph, dataset=dataset, recipe_file=self.recipe, given=self.settings)
        for line in (repr(graph), chosen.explain()):
            say(line)
        return chosen


def trained_line(model: Model) -> str:
    """Steps, time and loss of a trained model; empty if it was not trained."""
    if not model.history:
        return ""
    last = model.history[-1]
    return f"{model.config.method}: {model.step} steps in {last['seconds']:.1f} s, loss {last['loss']:.4f}"


def written_line(num_nodes: int, columns: int, out: str | os.PathLike[str]) -> str:
    """How many embeddings were written, and where."""
    return f"{num_nodes:,} embeddings of {columns} numbers in {shown(out)}"
