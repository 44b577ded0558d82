"""What an experiment is made of: lines, each a method with settings, run on graphs."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from localgcl.datasets.storage import cache_root
from localgcl.methods import configure
from localgcl.methods.settings import untrained
from localgcl.recipes import recipe
from paper.cells import Cell, Splits
from paper.printed import printed_settings


@dataclasses.dataclass(frozen=True)
class Line:
    """A row of a table.

    Args:
        label: Its name in our tables.
        method: The method; random-init and raw-features take encoder and features from Local-GCL's recipe.
        changes: Settings that differ from where they start.
        start: "recipe": published for the method and graph, else picked on validation (`localgcl tune`). "single": Local-GCL's
            recipes with one encoder, as in the paper. "printed": those the paper prints for it. "equal": picked on validation
            with as few trials as the other methods had (space "small", five trials, one seed). "defaults": the method's own.
        seeds: How many.
        printed: The paper's name of the row, where it is not the label.
        ranked: Whether it had no larger budget than the others, so that it may be compared with them.
        value: Where the line is one point of a curve, its place on the axis.
        graphs: Only these graphs of the experiment; empty means all.
        protocol: The evaluator.
        probe: Settings of the evaluator that differ from its preset.
        splits: "own": those of the graph, or a random one for each seed if it has none. "random": a random one in any case.
            "fresh": a random one of the sizes of the public split of a citation graph.
        published: Test accuracy in the method's own publication.
        note: What a reader must know of this line alone.
    """

    label: str
    method: str
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    start: Literal["recipe", "single", "printed", "equal", "defaults"] = "recipe"
    seeds: int = 5
    printed: str = ""
    ranked: bool = True
    value: int | None = None
    graphs: tuple[str, ...] = ()
    protocol: str = "linear"
    probe: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    splits: Splits = "own"
    published: float | None = None
    note: str = ""

    def settings(self, graph: str) -> dict[str, Any] | None:
        """All settings on this graph; None where nobody has published or picked any.

        A graph without its duplicated nodes has the settings of the whole graph: nothing was searched on it.
        """
        graph = graph.removesuffix("-filtered")
        if self.method in ("random-init", "raw-features"):
            parent = recipe("local-gcl-single", graph)
            if parent is None:
                return None
            flat = untrained(configure("local-gcl", parent)).flat()
            kept = ("scaling", "symmetrise", "drop_loops", "parallel_edges")  # all that raw features depend on
            return {name: value for name, value in flat.items() if self.method == "random-init" or name in kept}
        names = {"recipe": self.method, "single": f"{self.method}-single", "equal": f"{self.method}-equal"}
        if self.start == "printed":
            found = printed_settings(graph)
        else:
            found = {} if self.start == "defaults" else recipe(names[self.start], graph)
        return None if found is None else {**found, **self.changes}

    def cell(self, graph: str, seed: int, *, timed: bool) -> Cell | None:
        settings = self.settings(graph)
        if settings is None:
            return None
        return Cell(configure(self.method, settings), graph, seed, timed, self.protocol, self.probe, self.splits)


@dataclasses.dataclass(frozen=True)
class Experiment:
    """Lines by graphs.

    Args:
        title: One line.
        text: One sentence on what the lines have in common and what is compared.
        lines: The rows, in the order in which they are run and shown.
        graphs: The columns; "arxiv" becomes arxiv-structure where its features are not at hand.
        layout: "accuracy": a row a line, a column a graph. "costs": accuracy, time and memory of each graph.
            "validation": accuracy on validation and test, time and memory. "curve": a column for each value of the lines.
            "published": a row for each line and graph, beside the accuracy of the method's own publication.
        table: The paper's label of the table it repeats.
        timed: Whether times are compared: then cells run one at a time, after a warm-up.
        axis: What the values of a curve are.
        notes: More that a reader must know, a sentence each.
        recipes_tried: By label and graph, how many recipes were evaluated on test nodes, where it was more than one.
    """

    title: str
    text: str
    lines: tuple[Line, ...]
    graphs: tuple[str, ...]
    layout: Literal["accuracy", "costs", "validation", "curve", "published"] = "accuracy"
    table: str = ""
    timed: bool = False
    axis: str = ""
    notes: tuple[str, ...] = ()
    recipes_tried: Mapping[tuple[str, str], int] = dataclasses.field(default_factory=dict)

    def cells(self, graphs: Sequence[str] = (), labels: Sequence[str] = (), seeds: int | None = None) -> Iterator[Cell]:
        """What there is to run, the most important first; `graphs`, `labels` and `seeds` leave some of it out."""
        for line, graph in self.part(graphs, labels, seeds).places():
            for seed in range(line.seeds):
                cell = line.cell(graph, seed, timed=self.timed)
                if cell is not None:
                    yield cell

    def part(self, graphs: Sequence[str] = (), labels: Sequence[str] = (), seeds: int | None = None) -> "Experiment":
        """The experiment on these graphs, with these rows (by label or method) and at most so many seeds; empty means all."""
        columns = tuple(graph for graph in self.columns() if not graphs or graph in graphs)
        lines = tuple(
            dataclasses.replace(line, seeds=line.seeds if seeds is None else min(seeds, line.seeds))
            for line in self.lines
            if (not labels or {line.label, line.method} & set(labels)) and (not line.graphs or set(line.graphs) & set(columns))
        )
        return dataclasses.replace(self, lines=lines, graphs=columns)

    def columns(self) -> tuple[str, ...]:
        """The graphs as they are at hand."""
        return tuple(arxiv() if graph == "arxiv" else graph for graph in self.graphs)

    def places(self) -> list[tuple[Line, str]]:
        """Every line with every graph that it is run on."""
        columns = self.columns()
        return [(line, graph) for line in self.lines for graph in columns if not line.graphs or graph in line.graphs]


def arxiv() -> str:
    """The published task where its features are at hand, else the same graph with features made from its edges."""
    return "arxiv" if (cache_root() / "ogbn_arxiv/raw/node-feat.csv.gz").exists() else "arxiv-structure"
