"""What notebooks show of a graph, of scores, of a comparison and of an estimator: whole, and the user's strings as text."""

from html.parser import HTMLParser

import numpy as np
import pytest

import localgcl as lg
from localgcl.evaluation import Scores
from localgcl.experiments.compare import Comparison
from localgcl.experiments.tables import Table, html
from localgcl.system.text import html_table
from tests.experiments.compare.problems import row

EVIL = "<script>alert('1')</script> & \"x\""


class Reading(HTMLParser):
    """The tags and the text of a page; tags must close in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - the parser's signature
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += f"{data}|"


def test_every_cell_is_escaped() -> None:
    page = Reading(html_table([(EVIL, EVIL)], caption=EVIL, header=(EVIL, "b"), notes=[EVIL]))
    assert page.text.count(EVIL) == 5
    assert "script" not in page.tags


def test_a_graph() -> None:
    names = [EVIL, *map(str, range(7))]
    parts = {"node_ids": names, "name": EVIL, "feature_names": list("abcdefgh"), "class_names": (EVIL, "b")}
    graph = lg.Graph.from_edges([0, 1], [1, 2], x=np.eye(8), y=[0, 1] * 4, **parts)  # type: ignore[arg-type]
    page = Reading(graph._repr_html_())
    for told in ("nodes|8|", "directed edges|2|", "dense features|8|", "feature names|a, b, c, d, e, ...|"):
        assert told in page.text
    assert f"class names|{EVIL}, b|" in page.text
    assert page.text.count(EVIL) == 3
    assert "script" not in page.tags
    assert "node ids|0, 1, 2|" in Reading(lg.Graph.from_edges([0], [1], x=np.eye(3))._repr_html_()).text


def test_scores() -> None:
    scores = Scores(EVIL, "accuracy", (80.0, 82.0), over="2 splits", extra={"macro F1": (70.0, 71.0)})
    page = Reading(scores._repr_html_())
    assert "accuracy|81.00|1.41|macro F1|70.50|0.71|" in page.text
    assert f"in %, 2 splits, {EVIL}|" in page.text


def test_a_comparison() -> None:
    given = [row("local-gcl", 0, 80.0), row("grace", 0, 82.0), row("random-init", 0, 70.0)]
    found = Comparison(given, EVIL, "local-gcl", "linear", "linear on test nodes", 1)
    page = Reading(found._repr_html_())
    assert EVIL in page.text
    assert "script" not in page.tags
    for line in ("method|accuracy|", "local-gcl|80.00|", "grace|82.00|", "random-init|70.00|", "Source: "):
        assert line in page.text
    assert "**" not in page.text


def test_bold_marks_are_left_out() -> None:
    assert "|82.3|" in Reading(html(Table("t", "title", "caption", ["method", "cora"], [["dgi", "**82.3**"]]))).text


@pytest.mark.parametrize("estimator", [lg.LocalGCL(dim=7), lg.Embedder("dgi", dim=7)], ids=["LocalGCL", "Embedder"])
def test_estimators(estimator: lg.LocalGCL | lg.Embedder) -> None:
    assert "dim" in estimator._repr_html_()  # scikit-learn's own diagram
    rows = lg.NodeEmbeddings(lg.as_graph(([[0], [1]], np.eye(2)), name=EVIL), estimator)
    assert "<script>alert" not in rows._repr_html_()
