import base64
import dataclasses
import gzip
import hashlib
import json
import re
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import localgcl.report
from localgcl.report import panels
from localgcl.report.findings import Cluster, Column, Findings, Map, Score, Section, Series
from localgcl.report.page import SCRIPTS, page
from localgcl.report.panels import PANELS
from tests.references.findings import changed, synthetic

ASSETS = Path(localgcl.report.__file__).parent / "assets"
VOID = {"meta", "input", "br", "link"}
NASTY = "</script><script>alert(1)</script>\"'&amp;<!--"


class Reader(HTMLParser):
    """The elements of a page and its text. Fails where an element is not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.attributes: dict[str, dict[str, str | None]] = {}
        self.blocks: dict[str, str] = {}
        self.texts: list[str] = []
        self.open: list[str] = []
        self.block: str | None = None
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(name for name, _ in attrs)))
        known = dict(attrs)
        identity = known.get("id") or ""
        if identity:
            assert identity not in self.attributes, f"two elements are called {identity}"
            self.attributes[identity] = known
        self.block = identity.removeprefix("block-") if identity.startswith("block-") else None
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self.block = None

    def handle_data(self, data: str) -> None:
        if self.block is not None:
            self.blocks[self.block] = self.blocks.get(self.block, "") + data
        elif self.open and self.open[-1] not in ("script", "style"):
            self.texts.append(data)


def unpacked(reader: Reader, block: str) -> object:
    return json.loads(gzip.decompress(base64.b64decode(reader.blocks[block])))


def named(word: str) -> Findings:
    """Findings in which every string is `word`."""
    plain = synthetic(8, classes=("a", "b"))
    series = Series(word, np.arange(3, dtype=np.float32), np.arange(3, dtype=np.float32))
    columns = tuple(
        Column(word, column.values, None if column.classes is None else (word,) * len(column.classes))
        for column in plain.map.columns
    )
    view = dataclasses.replace(plain.map, ids=[word] * 8, columns=columns, layout=word, nearest_note=word, shown=word)
    clusters = (Cluster(word, 3, (word,), (word,)),)
    return Findings(
        title=word,
        run=word,
        summary={word: word},
        map=view,
        clusters=clusters,
        clustering=word,
        sections={
            "loss": panels.show_losses((series,), word),
            "scores": panels.show_scores((Score(word, word, 0.5, None, 3),), word),
            "clusters": panels.show_clusters(clusters, word, view.ids, view.columns),
            "graph": panels.show_graph(series, {word: 0.5}, {}),
            "kernel": panels.show_kernel((series,), word),
            "settings": panels.show_settings(word),
            "load": panels.show_load({word: word}),
            "more": Section(word, word, link=word),
        },
    )


def test_it_is_well_formed_and_has_every_part() -> None:
    reader = Reader(page(synthetic(60)))
    assert {"map", *PANELS} <= set(reader.attributes)
    text = " ".join(reader.texts)
    for expected in ("Local-GCL on papers", "runs/papers", "AMD EPYC, 2 threads", "0.842 ± 0.006", "raw-features", "by chance"):
        assert expected in text
    assert "label = Theory: 90% here, 4% elsewhere" in reader.texts
    assert 'model = lg.Embedder.load("runs/papers")' in text
    assert 'name = "local-gcl"' in text


def test_links_lead_to_parts() -> None:
    text = page(synthetic(20))
    links = re.findall(r'href="#([^"]*)"', text)
    assert len(links) == len(PANELS) + 2
    assert set(links) <= set(Reader(text).attributes)


@settings(max_examples=30, deadline=None)
@given(st.text(min_size=1))
@example(NASTY)
@example("<script>alert(1)</script>")
@example("]]>")
def test_a_string_of_a_user_stays_text(word: str) -> None:
    reader, plain = Reader(page(named(word))), Reader(page(named("@@")))
    assert reader.elements == plain.elements
    assert reader.texts == [text.replace("@@", word) for text in plain.texts]
    assert unpacked(reader, "ids") == [word] * 8


def test_half_a_surrogate_pair_can_be_written() -> None:
    reader = Reader(page(named("a\ud800")).encode().decode())
    assert unpacked(reader, "ids") == ["a\ud800"] * 8
    assert "a?" in reader.texts


def test_a_part_that_is_empty_says_why() -> None:
    nothing = Series("", np.zeros(0, dtype=np.float32), np.zeros(0, dtype=np.float32))
    fields = ("losses", "scores", "clusters", "degrees", "homophily", "kernel")
    why = {field: f"why {field} is empty" for field in fields}
    empty = changed(
        synthetic(20),
        loss=panels.show_losses((nothing,), why["losses"]),
        scores=panels.show_scores((), "", why["scores"]),
        clusters=(),
        graph=panels.show_graph(nothing, {}, why),
        kernel=panels.show_kernel((), why["kernel"]),
    )
    shown = panels.show_clusters((), "", (), (), why["clusters"])
    empty = dataclasses.replace(empty, sections={**empty.sections, "clusters": shown})
    reader = Reader(page(empty))
    assert {f"why {field} is empty" for field in fields} <= set(reader.texts)
    assert {"map", *PANELS} <= set(reader.attributes)


def test_a_run_without_nodes_or_columns() -> None:
    whole = synthetic(20)
    no_columns = changed(whole, view=dataclasses.replace(whole.map, columns=()), clusters=())
    assert "points" in Reader(page(no_columns)).attributes
    nodes = np.zeros((0, 2), dtype=np.float32)
    near, no_edges = np.zeros((0, 0), dtype=np.int32), np.zeros(0, dtype=np.int32)
    nothing = Map([], nodes, "", near, near.astype(np.float32), "", np.zeros(1, dtype=np.int32), no_edges, (), "")
    reader = Reader(page(changed(whole, view=nothing, clusters=())))
    assert "points" not in reader.attributes
    assert "The map has no nodes." in reader.texts


def test_numbers_that_are_not_finite_are_left_out() -> None:
    x = np.array([1, 2, 3], dtype=np.float32)
    broken = Series("loss", x, np.array([np.nan, np.inf, 2], dtype=np.float32))
    text = page(changed(synthetic(20), loss=panels.show_losses((broken,)), kernel=panels.show_kernel((broken,))))
    assert "nan" not in "".join(re.findall(r"<svg.*?</svg>", text))


def test_the_browser_may_run_this_script_only_and_fetch_nothing() -> None:
    text = page(synthetic(20))
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    policy = policy.replace("&#x27;", "'")
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith("default-src 'none'; ")
    assert f"script-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert not re.search(r'(src|href)="(?!#)', text)
    assert not re.search(r"<[^>]* (style|on\w+)=", re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL))


def test_strings_become_html_nowhere_in_the_script() -> None:
    script = "".join((ASSETS / f"{name}.js").read_text() for name in SCRIPTS)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|fetch\(", script)


def test_all_assets_are_used_and_shipped() -> None:
    assert {path.name for path in ASSETS.iterdir()} == {f"{name}.js" for name in SCRIPTS} | {
        "style.css",
        "page.html",
        "map.html",
    }
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert "report/assets/*" in project["tool"]["setuptools"]["package-data"]["localgcl"]


def test_clusters_and_typical_nodes_lead_to_the_map() -> None:
    findings = synthetic(40)
    text = page(findings)
    assert re.findall(r'data-cluster="(\d+)"', text) == [str(i) for i in range(len(findings.clusters))]
    nodes = [findings.map.ids.index(name) for cluster in findings.clusters for name in cluster.examples]
    assert re.findall(r'data-node="(\d+)"', text) == [str(node) for node in nodes]
    unknown = changed(findings, view=dataclasses.replace(findings.map, columns=findings.map.columns[:1]))
    assert "data-cluster=" not in page(unknown)


def test_the_same_findings_make_the_same_page() -> None:
    assert page(synthetic(30)) == page(synthetic(30))


def test_tables_and_charts_are_readable_without_eyes() -> None:
    text = page(synthetic(40))
    assert text.count("<table>") == text.count("<caption>") > 5
    assert not re.search(r"<th(?! scope)", text.replace("<thead", ""))
    assert not re.search(r"<th [^>]*></th>", text)
    charts = re.findall(r'<svg [^>]*role="img"[^>]*>.*?</svg>', text)
    assert len(charts) == 5
    assert all(re.search(r"<title>[^<]+</title><desc>[^<]+</desc>", chart) for chart in charts)


def test_a_page_of_coras_size_is_under_3_mb() -> None:
    whole = synthetic(2708)
    words = tuple(Column(f"word-{i}", np.random.default_rng(i).normal(size=2708).astype(np.float32)) for i in range(24))
    view = dataclasses.replace(whole.map, columns=whole.map.columns + words)
    assert len(page(changed(whole, view=view)).encode()) < 3e6


@pytest.mark.slow
def test_a_page_of_arxivs_size_is_under_25_mb() -> None:
    n, edges, k = 169_343, 1_157_799, 10
    generator = np.random.default_rng(0)
    # Random nodes compress worst.
    pairs = generator.integers(n, size=(edges, 2))
    pairs = np.concatenate([pairs, pairs[:, ::-1]])
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    whole = synthetic(100)
    view = Map(
        ids=[str(i) for i in range(n)],
        xy=generator.normal(size=(n, 2)).astype(np.float32),
        layout="",
        nearest=generator.integers(n, size=(n, k)).astype(np.int32),
        similarity=-np.sort(-generator.uniform(0.5, 1, size=(n, k)), axis=1).astype(np.float32),
        nearest_note="",
        indptr=np.concatenate([[0], np.cumsum(np.bincount(pairs[:, 0], minlength=n))]).astype(np.int32),
        indices=pairs[:, 1].astype(np.int32),
        columns=(
            Column("label", generator.integers(40, size=n).astype(np.int32), tuple(f"class {i}" for i in range(40))),
            *(Column(f"column {i}", generator.normal(size=n).astype(np.float32)) for i in range(12)),
        ),
        shown="",
    )
    assert len(page(changed(whole, view=view, clusters=())).encode()) < 25e6
