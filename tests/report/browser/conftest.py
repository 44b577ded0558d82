"""Opens reports in Chromium. A test fails where the page logs an error, shows a dialog, or asks for anything but itself."""

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks import chromium

from localgcl.report.findings import Findings
from localgcl.report.page import page as report

Opener = Callable[..., Any]

REASON = "needs Chromium and the extra `browser`: apt-get install chromium; pip install -e '.[browser]'"


@pytest.hookimpl(tryfirst=True)  # before marks choose which tests run
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = chromium.program() is None or importlib.util.find_spec("playwright") is None
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)  # each starts a browser or waits for one
            if missing:
                item.add_marker(pytest.mark.skip(reason=REASON))


@pytest.fixture(scope="module")
def launch() -> Iterator[Callable[..., Any]]:
    with chromium.launcher() as function:
        yield function


@pytest.fixture(scope="module")
def with_webgl(launch: Callable[..., Any]) -> Any:
    return launch()


@pytest.fixture(scope="module")
def without_webgl(launch: Callable[..., Any]) -> Any:
    return launch(chromium.NO_WEBGL)


def _opener(running: Any, folder: Path) -> Iterator[Opener]:
    said: list[str] = []
    contexts: list[Any] = []

    def shown(dialog: Any) -> None:
        said.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def open_page(findings: Findings, **settings: Any) -> Any:
        path = folder / f"report-{len(contexts)}.html"
        path.write_text(report(findings), encoding="utf-8")
        context = running.new_context(**{"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce", **settings})
        contexts.append(context)
        context.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        context.on("weberror", lambda error: said.append(f"error: {error.error}"))
        context.on("dialog", shown)
        context.on("request", lambda request: said.append(request.url) if request.url != path.as_uri() else None)
        return chromium.open_report(context, path)

    yield open_page
    for context in contexts:
        context.close()
    # Software WebGL is slow to read back, which Chromium notes for screenshots.
    assert [line for line in said if "GPU stall due to ReadPixels" not in line] == []


@pytest.fixture
def opened(with_webgl: Any, tmp_path: Path) -> Iterator[Opener]:
    yield from _opener(with_webgl, tmp_path)


@pytest.fixture
def opened_plain(without_webgl: Any, tmp_path: Path) -> Iterator[Opener]:
    yield from _opener(without_webgl, tmp_path)
