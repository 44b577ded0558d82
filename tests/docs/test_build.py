"""The documentation as a reader gets it: built with warnings as errors, links checked, every block of code run."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.shown import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(path for folder in (DOCS, DOCS / "cookbook") for path in folder.glob("*.md") if "```" in path.read_text())
QUICK = ("data.md",)
"""Pages that always run, the others with the slow tests."""

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="the documentation is not part of this build")


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("furo") is None, reason="needs the extra docs: pip install 'localgcl[docs]'")
def test_pages_are_built_without_warnings_and_links_lead_somewhere(tmp_path: Path) -> None:
    """No network is used to build or to show them: links.py looks for files from elsewhere."""
    build = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-d", str(tmp_path / "read"), str(DOCS)]
    done = subprocess.run([*build, str(tmp_path / "html")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    checked = subprocess.run([sys.executable, str(DOCS / "links.py"), str(tmp_path / "html")], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
    assert "<math" in (tmp_path / "html" / "method.html").read_text(encoding="utf-8")


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=() if page.name in QUICK else pytest.mark.slow, id=page.stem) for page in PAGES],
)
def test_every_block_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    """Each page starts in an empty folder and makes the data that it needs."""
    environment = {**os.environ, "LOCALGCL_HOME": str(tmp_path / "no-graphs"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, str(DOCS / "snippets.py"), str(page.relative_to(DOCS))],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
