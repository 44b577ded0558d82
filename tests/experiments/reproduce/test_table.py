import pytest

from localgcl.experiments.reproduce.table import Table, latex, markdown, text

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
