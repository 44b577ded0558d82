import dataclasses

import pytest

from localgcl.experiments.tables import Table, latex, markdown, text

TABLE = Table(
    name="table-x",
    title="Accuracy_1",
    caption="5% of A & B, d = 2^k; **best** in bold",
    columns=["row", "cora", "note"],
    rows=[["local-gcl", "**84.5 ± 0.4**", "a|b"], ["grace_2", "OOM", r"{x} \y ~ #1 $2"]],
)


def test_markdown() -> None:
    assert markdown(TABLE).splitlines() == [
        "## Accuracy_1",
        "",
        "| row | cora | note |",
        "|---|---:|---|",
        "| local-gcl | **84.5\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}0.4** | a\\|b |",
        r"| grace_2 | OOM | {x} \y ~ #1 $2 |",
        "",
        "5% of A & B, d = 2^k; **best** in bold",
    ]


def test_latex() -> None:
    assert latex(TABLE).splitlines() == [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"  \centering",
        r"  \caption{Accuracy\_1. 5\% of A \& B, d = 2\textasciicircum{}k; \textbf{best} in bold}",
        r"  \label{table-x}",
        r"  \begin{tabular}{lrl}",
        r"    \toprule",
        r"    row & cora & note \\",
        r"    \midrule",
        r"    local-gcl & \textbf{84.5 $\pm$ 0.4} & a\textbar{}b \\",
        r"    grace\_2 & OOM & \{x\} \textbackslash{}y \textasciitilde{} \#1 \$2 \\",
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]


def test_text() -> None:
    assert text(TABLE, width=30).splitlines() == [
        "Accuracy_1",
        "",
        "row              cora  note",
        "local-gcl  84.5 ± 0.4  a|b",
        r"grace_2           OOM  {x} \y ~ #1 $2",
        "",
        "5% of A & B, d = 2^k; best in",
        "bold",
    ]


def test_no_rows() -> None:
    empty = Table("t", "T", "c", ["a", "b"], [])
    assert "| a | b |\n|---|---|\n" in markdown(empty)
    assert r"\begin{tabular}{ll}" in latex(empty)
    assert "a  b" in text(empty)


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        text(Table("t", "T", "c", ["a", "b"], [["1"]]))


def test_notes_and_source_come_after_the_caption() -> None:
    table = dataclasses.replace(TABLE, caption="Read me.", notes=["† untrained", "‡ looked at twice"], source="A GPU; 2030.")
    assert markdown(table).endswith("Read me.\n\n- † untrained\n- ‡ looked at twice\n\nSource: A GPU; 2030.\n")
    assert markdown(table, source=False).endswith("- ‡ looked at twice\n")
    assert markdown(table, level=3).startswith("### Accuracy_1\n")
    assert r"Read me. \dag{} untrained \ddag{} looked at twice Source: A GPU; 2030.}" in latex(table)
    assert text(table).endswith("Read me.\n† untrained\n‡ looked at twice\nSource: A GPU; 2030.\n")
