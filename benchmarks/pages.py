"""Writes docs/results.md, docs/does-it-hold.md, docs/published.md and the README's sentence on accuracies.

python -m benchmarks.pages
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks import BENCH, ROOT, claims, published_page, results_page
from benchmarks.comparison import in_short
from benchmarks.evidence import Evidence
from benchmarks.files import write, write_between
from paper.bench import table
from paper.store import Store

PUBLISHED = "_static/published.svg"
START, END = "<!-- results: python -m benchmarks.pages -->", "<!-- end of results -->"


def write_pages(store: Store, docs: Path, readme: Path) -> list[Path]:
    """Writes the pages and the sentence from what is stored and nothing else; returns the paths."""
    results, studies = store.rows(), results_page.read_studies(store.folder)
    drawn = published_page.figure(results, docs / PUBLISHED)
    evidence = Evidence(results, {name: kept["rows"] for name, kept in studies.items()}, table.read(BENCH))
    return [
        write_between(readme, START, END, in_short(results)),
        write(docs / "results.md", results_page.page(store, docs / "_static" / "results")),
        write(docs / "does-it-hold.md", claims.page(evidence, docs / "_static" / "claims")),
        write(docs / "published.md", published_page.page(results, picture=PUBLISHED if drawn else "")),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description=__doc__)
    parser.add_argument("--results", type=Path, default=ROOT / "results", metavar="DIR", help="folder to read")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", metavar="DIR", help="folder of the pages")
    parser.add_argument("--readme", type=Path, default=ROOT / "README.md", metavar="FILE", help="whose sentence to replace")
    options = parser.parse_args(arguments)
    for path in write_pages(Store(options.results), options.docs, options.readme):
        print(f"written: {path}")


if __name__ == "__main__":
    main()
