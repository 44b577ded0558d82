import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from tests.docs.shown import ROOT

pytestmark = pytest.mark.skipif(not (ROOT / "docs").exists(), reason="the documentation is not part of this build")


def script(name: str) -> ModuleType:
    """A script of docs/, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_broken_links_and_files_from_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.css").write_text("")
    (tmp_path / "index.html").write_text(
        '<link rel="stylesheet" href="a.css?v=1"><link rel="next" href="https://elsewhere.org/next">'
        '<a href="sub/b.html#here">fine</a><a href="https://elsewhere.org">fine</a><a href="#top">fine</a><p id="top">'
        '<a href="c.html">1</a><a href="sub/b.html#gone">2</a><a href="#bottom">3</a>'
        '<script src="https://cdn.example.com/mathjax.js"></script><img src="gone.png"><img src="data:image/png;base64,AA==">'
    )
    (tmp_path / "sub" / "b.html").write_text('<h1 id="here"></h1><a href="../index.html#top">fine</a><a href="../">fine</a>')
    assert script("links").problems(tmp_path) == [
        "index.html: c.html leads nowhere",
        "index.html: sub/b.html#gone names an anchor that is not there",
        "index.html: #bottom names an anchor that is not there",
        "index.html: https://cdn.example.com/mathjax.js is fetched from a network",
        "index.html: gone.png is not there",
    ]


def test_what_a_page_shows_must_be_printed() -> None:
    unprinted = script("snippets").unprinted
    printed = "local-gcl: 20 steps in 7.3 s, loss 99.5486\n1,000 embeddings   of 64 numbers in run\n"
    assert unprinted("local-gcl: 20 steps in 0.4 s, loss 1.0\n...\n12 embeddings of 64 numbers in run", printed) == []
    assert unprinted("20 embeddings of 64 numbers in runs\n", printed) == ["20 embeddings of 64 numbers in runs"]


def test_a_page_is_run_in_one_namespace_and_stops_at_a_false_promise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    true = "```python\nx = 2\n```\n\n```python\nprint(x, 'rows')\n```\n\n```text\n3 rows\n```\n\n```sh\necho done > file\n```\n"
    page.write_text(true)
    script("snippets").run(page)
    assert (tmp_path / "file").read_text() == "done\n"
    assert "ok page.md:5" in capsys.readouterr().out
    page.write_text(true.replace("3 rows", "3 columns"))
    with pytest.raises(ValueError, match=r"page\.md:5 does not print '3 columns'"):
        script("snippets").run(page)
