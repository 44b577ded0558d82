"""Chromium without a window, in which tools and tests open reports. It needs the extra `browser` and Chromium on the path."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SOFTWARE_WEBGL = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
"""WebGL computed by the processor: machines that run tests have no graphics card."""
NO_WEBGL = ("--disable-gpu", "--disable-3d-apis")
NAMES = ("chromium", "chromium-browser", "google-chrome")


def program() -> str | None:
    """The path of Chromium, None where it is not installed."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@contextlib.contextmanager
def launcher() -> Iterator[Callable[..., Any]]:
    """A function that starts Chromium with flags, software WebGL unless told; what it started ends with the context."""
    from playwright.sync_api import sync_playwright

    path = program()
    if path is None:
        raise FileNotFoundError(
            f"none of {', '.join(NAMES)} is on the path; install one, for example: apt-get install chromium"
        )
    started: list[Any] = []
    with sync_playwright() as playwright:

        def launch(flags: tuple[str, ...] = SOFTWARE_WEBGL) -> Any:
            started.append(playwright.chromium.launch(executable_path=path, args=list(flags)))
            return started[-1]

        try:
            yield launch
        finally:
            for browser in started:
                browser.close()


def open_report(context: Any, path: Path, *, until: str = "complete") -> Any:
    """The report at `path` in a new tab, once its map is `drawn`, `ready` for the pointer, or `complete`."""
    page = context.new_page()
    page.goto(path.resolve().as_uri(), wait_until="commit")
    page.wait_for_selector(f"#stage[data-state={until}]", timeout=120_000)
    return page
