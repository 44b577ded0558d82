"""Tables of results, where their numbers come from, and four ways to show them: Markdown, LaTeX, text, HTML for notebooks."""

import dataclasses
import re
import textwrap
from collections.abc import Mapping, Sequence

from localgcl.system.text import html_table

_BOLD = re.compile(r"\*\*(.+?)\*\*")
_NUMBER = re.compile(r"[-+]?[\d.,]+(e[-+]?\d+)?( ± [\d.,]+)?%?|OOM|-|")
_NUMBER_PARTS = re.compile(r"(?<=\d) (?=± \d)|(?<=±) (?=\d)|(?<=\d) (?=\(\d+\))|(?<=[\d)]) (?=[†‡]\d)|(?<=,) (?=[-+]\d)")
_SPECIALS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "<": "$<$",
    ">": "$>$",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "\N{MINUS SIGN}": "$-$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "√": r"$\surd$",
    "²": "$^2$",
    "\N{EN DASH}": "--",
    "φ": r"$\phi$",
    "τ": r"$\tau$",
    "λ": r"$\lambda$",
    "†": r"\dag{}",
    "‡": r"\ddag{}",
}


@dataclasses.dataclass(frozen=True)
class Table:
    """A table to print and to write. Cells are text, ready to show.

    Args:
        name: The experiment's name, such as "theorem-error"; also the name of its files.
        title: One line.
        caption: What the columns are, and one thing to notice: at most two sentences.
        columns: Headings.
        rows: One list of cells a row, as many as there are columns.
        notes: What marks in cells and headings mean, and what holds for some cells alone.
        source: Where the numbers come from: how many results, evaluator, hardware, dates, commits.
    """

    name: str
    title: str
    caption: str
    columns: list[str]
    rows: list[list[str]]
    notes: list[str] = dataclasses.field(default_factory=list)
    source: str = ""


def markdown(table: Table, *, level: int = 2, source: bool = True) -> str:
    """Heading of the given level, pipe table, caption, notes, and unless it is left out the source.

    Example:
        >>> table = Table("t", "Accuracy", "One seed.", ["method", "cora"], [["dgi", "**82.3** †"]], ["† untrained"], "A GPU")
        >>> print(markdown(table))
        ## Accuracy
        <BLANKLINE>
        | method | cora |
        |---|---|
        | dgi | **82.3** † |
        <BLANKLINE>
        One seed.
        <BLANKLINE>
        - † untrained
        <BLANKLINE>
        Source: A GPU
        <BLANKLINE>
    """
    notes = ["\n".join(f"- {note}" for note in table.notes)] if table.notes else []
    parts = [f"{'#' * level} {table.title}", pipes(table.columns, table.rows), table.caption, *notes]
    return "\n\n".join(parts + [f"Source: {table.source}"] * (source and bool(table.source))) + "\n"


def pipes(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; columns of numbers are aligned to the right.

    Example:
        >>> print(pipes(["method", "cora"], [["dgi", "**82.3**"]]))
        | method | cora |
        |---|---:|
        | dgi | **82.3** |
    """
    # A number keeps its deviation, and how many it is the mean of, on its line.
    kept = [[_NUMBER_PARTS.sub("\N{NO-BREAK SPACE}", cell) for cell in row] for row in rows]
    rule = "|".join("---:" if right else "---" for right in _numeric(columns, rows))
    return "\n".join([_pipes(columns), f"|{rule}|", *map(_pipes, kept)])


def latex(table: Table) -> str:
    r"""A `table` environment with a booktabs `tabular`; title, caption, notes and source make its caption."""
    alignment = "".join("r" if right else "l" for right in _numeric(table.columns, table.rows))
    body = [" & ".join(map(_tex, row)) + r" \\" for row in [table.columns, *table.rows]]
    said = " ".join([f"{table.title}.", table.caption, *_below(table)])
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{_tex(said)}}}",
            rf"  \label{{{table.name}}}",
            rf"  \begin{{tabular}}{{{alignment}}}",
            r"    \toprule",
            f"    {body[0]}",
            r"    \midrule",
            *(f"    {line}" for line in body[1:]),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def text(table: Table, width: int = 100) -> str:
    """Aligned columns for the terminal; caption, notes and source below are wrapped at `width`.

    Example:
        >>> print(text(Table("t", "Accuracy", "One seed.", ["method", "cora"], [["dgi", "**82.3 ± 0.6**"]])))
        Accuracy
        <BLANKLINE>
        method        cora
        dgi     82.3 ± 0.6
        <BLANKLINE>
        One seed.
        <BLANKLINE>
    """
    lines = [[_BOLD.sub(r"\1", cell) for cell in row] for row in [table.columns, *table.rows]]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    right = _numeric(table.columns, table.rows)

    def line(cells: Sequence[str]) -> str:
        parts = (cell.rjust(size) if r else cell.ljust(size) for cell, size, r in zip(cells, widths, right, strict=True))
        return "  ".join(parts).rstrip()

    below = [textwrap.fill(_BOLD.sub(r"\1", part), width) for part in (table.caption, *_below(table))]
    return "\n".join([table.title, "", *map(line, lines), "", *below, ""])


def html(table: Table) -> str:
    """An HTML table for notebooks, without the marks of bold cells; caption, notes and source below."""
    lines = [[_BOLD.sub(r"\1", cell) for cell in row] for row in [table.columns, *table.rows]]
    return html_table(lines[1:], caption=table.title, header=lines[0], notes=(table.caption, *_below(table)))


def source(rows: Sequence[Mapping[str, str]]) -> str:
    """How many results these are, by which evaluator, on what hardware, when and from which commits."""
    if not rows:
        return "nothing has been run yet."
    protocols = ", ".join(sorted({row["protocol"] for row in rows}))
    machines = " and ".join(sorted({row["hardware"].replace(", 1 threads", ", 1 thread") for row in rows}))
    commits = ", ".join(sorted({short(row["commit"]) for row in rows} - {""})) or "unknown"
    days = sorted({row["date"][:10] for row in rows})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    count = len({(row["recipe"], row["seed"]) for row in rows})
    return f"{count} result{'s' * (count != 1)}; evaluator {protocols}; {machines}; {when}; commit {commits}."


def short(commit: str) -> str:
    """Seven digits of a commit, and the + of a modified tree.

    Example:
        >>> short("5b36acba7dd8d6ea8f659d73b731109a8d78d6c1+")
        '5b36acb+'
    """
    return commit[:7] + "+" * commit.endswith("+")


def _below(table: Table) -> list[str]:
    """Notes and source."""
    return [*table.notes, *[f"Source: {table.source}"] * bool(table.source)]


def _numeric(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[bool]:
    """Which columns hold nothing but numbers, and so are aligned to the right."""
    return [
        any(column) and all(_NUMBER.fullmatch(_BOLD.sub(r"\1", cell)) for cell in column)
        for column in ([row[place] for row in rows] for place in range(len(columns)))
    ]


def _pipes(cells: Sequence[str]) -> str:
    escaped = (cell.replace("|", r"\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"


def _tex(cell: str) -> str:
    """LaTeX of a cell: bold first, then character by character, so that nothing is escaped twice."""
    parts = _BOLD.split(cell)
    escaped = ["".join(_SPECIALS.get(character, character) for character in part) for part in parts]
    return "".join(rf"\textbf{{{part}}}" if index % 2 else part for index, part in enumerate(escaped))
