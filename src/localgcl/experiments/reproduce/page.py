"""The pages "Results" and "Does it hold?" and the README's table, made from what was stored and nothing else."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from localgcl.experiments.reproduce import claims, layouts, plots, tried
from localgcl.experiments.reproduce.experiments import EXPERIMENTS
from localgcl.experiments.reproduce.store import Row, Store
from localgcl.experiments.reproduce.studies import STUDIES, read
from localgcl.experiments.reproduce.table import markdown
from localgcl.system.files import replacing

START, END = "<!-- results: localgcl reproduce page -->", "<!-- end of results -->"
_HEAD = """# Results

Every figure on this page comes from the folder `results`, to which `localgcl reproduce NAME` adds; the page is written by
`localgcl reproduce page`. Results are stored by their settings, with seed, hardware, date and commit; each look at test labels
is entered in `results/ledger.csv`. Recipes and the logs of their searches (`results/tuning`) were committed before test labels
were looked at with them. What has not been run says so.

Splits: public on Cora, Citeseer and PubMed; ten given ones on Chameleon, Squirrel and Actor; on the others seed s draws
10/10/80%, the same nodes for all methods. The classifier is the same for all: [](evaluation.md)."""
_CLAIMS_HEAD = """# Does it hold?

The claims of the paper one by one, with what we measured. The evidence is read from the results by `localgcl reproduce page`
when the page is written; the verdicts are ours, in words. Tables and figures: [](results.md)."""


def write(store: Store, docs: Path, readme: Path | None) -> list[Path]:
    """Writes docs/results.md with its pictures, docs/does-it-hold.md and, where given, the table of the README."""
    results, studies = store.rows(), _studies(store.folder)
    pictures = docs / "_static" / "results"
    pictures.mkdir(parents=True, exist_ok=True)
    written = [docs / "results.md", docs / "does-it-hold.md"]
    recipes = {row["recipe"] for row in results.values()}
    looks = f"Below are {len(recipes)} recipes; test labels were looked at {store.looks(recipes)} times with them."
    below = tried.table(results, store.folder / "tuning")
    searched = [markdown(below).rstrip()] if below is not None else []
    parts = [*_experiments(results, pictures), *searched, *_study_parts(studies, pictures)]
    _replace(written[0], "\n\n".join([_HEAD, looks, *parts]) + "\n")
    evidence = claims.Evidence(results, {name: kept["rows"] for name, kept in studies.items()})
    _replace(written[1], "\n\n".join([_CLAIMS_HEAD, *claims.page(evidence)]) + "\n")
    if readme is not None:
        (main, *_) = layouts.tables("table-main", EXPERIMENTS["table-main"], results)
        without = (layouts.NOT_RUN, layouts.NO_SETTINGS)
        rows = [row for row in main.rows if not all(cell.startswith(without) for cell in row[1:])]
        body = "\n".join(markdown(dataclasses.replace(main, rows=rows)).splitlines()[2:])
        before, _, rest = readme.read_text().partition(START)
        if not rest:
            raise ValueError(f"{readme} has no line {START!r} to write the table after")
        _replace(readme, f"{before}{START}\n{body}\n{END}{rest.partition(END)[2]}")
        written.append(readme)
    return written


def _experiments(results: Mapping[tuple[str, int], Row], pictures: Path) -> list[str]:
    parts = []
    for name, experiment in EXPERIMENTS.items():
        drawn = layouts.points(experiment, results)
        if not drawn:
            parts.append(f"## {experiment.title}\n\n`localgcl reproduce {name}`: not run yet.")
            continue
        (first, *others) = layouts.tables(name, experiment, results)
        parts.append(markdown(first).rstrip() + f" `localgcl reproduce {name}`.")
        if experiment.layout == "curve":
            if experiment.timed:
                plots.scale(drawn, pictures / f"{name}.svg")
            else:
                plots.sensitivity(drawn, pictures / f"{name}.svg", option="dim" if experiment.axis == "d" else "num_features")
            parts.append(f"![{experiment.title}](_static/results/{name}.svg)")
        parts += [markdown(table).replace("## ", "### ", 1).rstrip() for table in others]
    return parts


def _study_parts(studies: Mapping[str, Any], pictures: Path) -> list[str]:
    parts = []
    for name, study in STUDIES.items():
        if name not in studies:
            parts.append(f"## {study.title}\n\n`localgcl reproduce {name}`: not run yet.")
            continue
        parts.append(markdown(study.show(studies[name])).rstrip() + f" `localgcl reproduce {name}`.")
        if study.plot is not None:
            study.plot(studies[name]["rows"], pictures / f"{name}.svg")
            parts.append(f"![{study.title}](_static/results/{name}.svg)")
    return parts


def _studies(folder: Path) -> dict[str, Any]:
    paths = {name: folder / f"{name}.json" for name in STUDIES}
    return {name: read(path) for name, path in paths.items() if path.exists()}


def _replace(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
