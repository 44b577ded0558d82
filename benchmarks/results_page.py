"""docs/results.md: a summary, a heading for each table and figure, and where the numbers come from."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import claims, searches
from benchmarks.comparison import Place, explained, listed, long_table, places, sentence
from localgcl.experiments.tables import Table, markdown
from localgcl.methods import METHODS
from paper import lookup, plots
from paper.experiments import EXPERIMENTS
from paper.store import Results, Store
from paper.studies import STUDIES, read
from paper.tables import tables

_WHAT = """# Results

## Summary

{methods} self-supervised methods, the untrained encoder and the raw features are compared on seven common graphs, on three
heterophilous ones, two of them also without duplicated nodes, and on the graph of ogbn-arxiv. Embeddings are frozen, and one
linear probe scores all of them ([evaluation](evaluation.md)). Each method has its authors' published settings, else the best of
a few trials on validation nodes; where more than one recipe of a method was evaluated on test nodes, a mark says so. Local-GCL
takes part with the settings that the paper prints (on heterophilous graphs: with as few trials as the others); its recipes,
searched longer, are shown and not ranked."""
_LEADERS = """Test accuracy in %, means over the seeds that both rows have. The difference is local-gcl minus the best other,
with a 95% confidence interval; the untrained encoder has the encoder settings of our longer searched recipes."""
_SPLITS = """Splits are public on Cora, Citeseer, PubMed and arXiv, ten public ones on the heterophilous graphs, and elsewhere
drawn with each seed (10/10/80%), the same nodes for all methods. What has not been run says so."""
_SOURCE = """## Where the numbers come from

`python -m paper NAME` adds results to the folder `results`, and `python -m benchmarks.pages` writes this page from it. A
result is stored with its settings, seed, hardware, date and commit ([details](reproducing.md)); {entered} results were entered
from a printed log.

Recipes and the logs of their searches (`results/tuning`) were committed before they were evaluated on test nodes, except for
the numbers of steps on arxiv-structure: those are the best on validation among the runs of figure-scale, which are evaluated on
test nodes at once. `results/ledger.csv` has {ledger} evaluations on test nodes, those of this page among them.
`results/ledger-history.csv` has {history} by earlier scripts, entered later from the repository's history. What other commands
evaluated, and what was stopped before it was stored, is in neither."""


def page(store: Store, pictures: Path) -> str:
    """The page in Markdown; figures are written into the folder `pictures`."""
    results, studies = store.rows(), read_studies(store.folder)
    pictures.mkdir(parents=True, exist_ok=True)
    parts, sources = [], []
    for name, experiment in EXPERIMENTS.items():
        if experiment.layout == "published":
            continue  # has a page of its own
        drawn = lookup.points(experiment, results)
        if not drawn:
            parts.append(f"## {experiment.title}\n\n`python -m paper {name}`: not run yet.")
            continue
        (first, *others) = tables(name, experiment, results)
        parts.append(_shown(first))
        if plots.curve(drawn, experiment, pictures / f"{name}.svg"):
            parts.append(f"![{experiment.title}](_static/results/{name}.svg)")
        parts += [_shown(table, level=3) for table in others]
        sources.append(_made(name, first))
    below = searches.table(results, store.folder / "tuning")
    parts += [] if below is None else [_shown(below)]
    for name, study in STUDIES.items():
        if name not in studies:
            parts.append(f"## {study.title}\n\n`python -m paper {name}`: not run yet.")
            continue
        table = study.show(studies[name])
        parts.append(_shown(table))
        if study.plot is not None:
            study.plot(studies[name]["rows"], pictures / f"{name}.svg")
            parts.append(f"![{study.title}](_static/results/{name}.svg)")
        sources.append(_made(name, table))
    entered = sum(row["source"] != "run" for row in results.values())
    end = _SOURCE.format(entered=entered, ledger=len(store.ledger.rows()), history=len(store.history.rows()))
    return "\n\n".join([*_summary(results), *parts, end, "\n".join(sources)]) + "\n"


def read_studies(folder: Path) -> dict[str, Any]:
    """What each study has measured, by name; those that were never run are left out."""
    paths = {name: folder / f"{name}.json" for name in STUDIES}
    return {name: read(path) for name, path in paths.items() if path.exists()}


def _summary(results: Results) -> list[str]:
    said = [_WHAT.format(methods=sum(kind.learns for kind in METHODS.values()))]
    if standing := places("table-main", results):
        further = places("table-heterophily", results)
        every = [*standing, *further]
        said += [f"{sentence(standing)} {_heterophily(further)}".strip(), long_table(every)]
        said += [" ".join([_LEADERS, *explained(every)])]
    return [*said, claims.summary(), _SPLITS]


def _heterophily(standing: Sequence[Place]) -> str:
    """What the heterophilous graphs show, in words made from the numbers."""
    behind = [place.name for place in standing if place.behind]
    floor = [place.name for place in standing if place.untrained is not None and place.untrained > max(place.ours, place.best)]
    said = []
    if behind:
        said.append(f"With equal budgets it is clearly behind the best other method on {listed(behind)}.")
    if floor:
        said.append(f"An untrained encoder with searched settings is above all of them on {listed(floor)}.")
    return " ".join(said)


def _shown(table: Table, level: int = 2) -> str:
    return markdown(table, level=level, source=False).rstrip()


def _made(name: str, table: Table) -> str:
    return f"- {table.title} (`python -m paper {name}`): {table.source}"
