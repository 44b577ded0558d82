"""docs/does-it-hold.md: the paper's claims, what was measured (`evidence`), and our verdicts (claims.toml)."""

import re
from pathlib import Path

from benchmarks.claim_figures import draw
from benchmarks.evidence import EVIDENCE, Evidence
from localgcl.config import read_toml
from localgcl.experiments.tables import pipes

CLAIMS = Path(__file__).with_name("claims.toml")
HOLDS = {"yes": "Holds", "in part": "Holds in part", "no": "Does not hold"}
_HEAD = """# Does it hold?

The paper's claims one by one, with what we measured and our verdict. `python -m benchmarks.pages` reads the numbers from the
results when it writes this page; the verdicts are written by hand. Tables and figures: [results](results.md).

"Beyond noise" is a difference whose 95% confidence interval does not hold zero; "level" is any other. "On shared seeds"
compares two rows on the seeds that both have. A mark †n says that in n runs of a method early stopping kept the initial
weights: it was not trained there."""


def page(evidence: Evidence, pictures: Path) -> str:
    """The page in Markdown: a list of the claims, then a section for each. Figures are written into the folder `pictures`."""
    claims = read_toml(CLAIMS)
    rows = [[f"[{claim['title']}](#{_anchor(claim['title'])})", claim["holds"]] for claim in claims.values()]
    sections = [
        f"## {claim['title']}\n\n**The paper:** {claim['said'].strip()}\n\n**Measured:** {EVIDENCE[name](evidence)}\n\n"
        f"{_figure(name, claim['title'], evidence, pictures)}**Verdict:** {claim['verdict'].strip()}"
        for name, claim in claims.items()
    ]
    return "\n\n".join([_HEAD, pipes(["claim", "holds"], rows), *sections]) + "\n"


def summary() -> str:
    """Which claims hold, hold in part, or do not, for the page of results."""
    titles = {holds: [claim["title"] for claim in read_toml(CLAIMS).values() if claim["holds"] == holds] for holds in HOLDS}
    lines = [f"- {name}: {'; '.join(titles[holds])}." for holds, name in HOLDS.items()]
    return "\n".join(
        ["The paper's claims, each with its evidence on its own page ([does it hold?](does-it-hold.md)):", "", *lines]
    )


def _figure(name: str, title: str, evidence: Evidence, pictures: Path) -> str:
    """The figure of a claim and an empty line; nothing where nothing was measured."""
    drawn = draw(name, evidence, pictures)
    return "" if drawn is None else f"![{title}](_static/claims/{drawn.name})\n\n"


def _anchor(title: str) -> str:
    """As Sphinx makes it from a heading."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
