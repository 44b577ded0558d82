"""Tables as every command of this package hands them over, and three ways to show them."""

import dataclasses
import re
import textwrap
from collections.abc import Sequence

_BOLD = re.compile(r"\*\*(.+?)\*\*")
_NUMBER = re.compile(r"[-+]?[\d.,]+(e[-+]?\d+)?( ± [\d.,]+)?%?|OOM|-|")
_NUMBER_PARTS = re.compile(r"(?<=\d) (?=± \d)|(?<=±) (?=\d)|(?<=\d) (?=\(\d+\))|(?<=,) (?=[-+]\d)")
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
}


@dataclasses.dataclass(frozen=True)
class Table:
    """What a command prints and writes. Cells are text, ready to show.

    Args:
        name: The command's name for it, such as "theorem-error"; also the name of its files.
        title: One line.
        caption: What a reader must know to judge the numbers: evaluator, seeds, hardware, what differs from the paper.
        columns: Headings.
        rows: One list of cells a row, as many as there are columns.
    """

    name: str
    title: str
    caption: str
    columns: list[str]
    rows: list[list[str]]


def markdown(table: Table) -> str:
    """Heading, pipe table and caption; numbers are aligned to the right.

    Example:
        >>> print(markdown(Table("t", "Accuracy", "One seed.", ["method", "cora"], [["dgi", "**82.3**"]])))
        ## Accuracy
        <BLANKLINE>
        | method | cora |
        |---|---:|
        | dgi | **82.3** |
        <BLANKLINE>
        One seed.
        <BLANKLINE>
    """
    # A number keeps its deviation, and how many it is of, on its line.
    rows = [[_NUMBER_PARTS.sub("\N{NO-BREAK SPACE}", cell) for cell in row] for row in table.rows]
    rule = "|".join("---:" if right else "---" for right in _numeric(table))
    lines = [_pipes(table.columns), f"|{rule}|", *map(_pipes, rows)]
    return "\n".join([f"## {table.title}", "", *lines, "", table.caption, ""])


def latex(table: Table) -> str:
    r"""A `table` environment with a booktabs `tabular`, caption (title and caption) and its name for label."""
    alignment = "".join("r" if right else "l" for right in _numeric(table))
    body = [" & ".join(map(_tex, row)) + r" \\" for row in [table.columns, *table.rows]]
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{_tex(table.title)}. {_tex(table.caption)}}}",
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
    """Aligned columns for the terminal; the caption below is wrapped at `width`.

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
    right = _numeric(table)

    def line(cells: Sequence[str]) -> str:
        parts = (cell.rjust(size) if r else cell.ljust(size) for cell, size, r in zip(cells, widths, right, strict=True))
        return "  ".join(parts).rstrip()

    caption = textwrap.fill(_BOLD.sub(r"\1", table.caption), width)
    return "\n".join([table.title, "", *map(line, lines), "", caption, ""])


def _numeric(table: Table) -> list[bool]:
    """Which columns hold nothing but numbers, and so are aligned to the right."""
    return [
        any(column) and all(_NUMBER.fullmatch(_BOLD.sub(r"\1", cell)) for cell in column)
        for column in ([row[i] for row in table.rows] for i in range(len(table.columns)))
    ]


def _pipes(cells: Sequence[str]) -> str:
    escaped = (cell.replace("|", r"\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"


def _tex(cell: str) -> str:
    """Bold first, so that its asterisks are gone; the rest character by character, so that nothing is escaped twice."""
    parts = _BOLD.split(cell)
    escaped = ["".join(_SPECIALS.get(character, character) for character in part) for part in parts]
    return "".join(rf"\textbf{{{part}}}" if index % 2 else part for index, part in enumerate(escaped))
