"""Pictures of a report for the documentation: `python -m benchmarks.screenshots RUN`.

`localgcl report RUN` has written RUN/report.html. Three pictures of it go to docs/_static/report: a node selected, a cluster in
dark colours, and a phone.
"""

import argparse
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from benchmarks import ROOT, chromium


def select_typical_node(page: Any) -> None:
    """Clicks a typical node of the second cluster, and scrolls back to the top."""
    page.click("#clusters tbody tr:nth-child(2) button[data-node]")
    page.wait_for_selector(".chosen")
    page.evaluate("scrollTo(0, 0)")


def look_closer(page: Any) -> None:
    """Clicks a typical node and zooms to it a little."""
    select_typical_node(page)
    page.click(".chosen button:text-is('Zoom')")
    for _ in range(3):
        page.click("#zoom-out")
    page.evaluate("scrollTo(0, 0)")


def show_cluster(page: Any) -> None:
    """Filters by the largest cluster."""
    page.click("#clusters tbody tr:nth-child(1) button[data-cluster]")
    page.wait_for_selector("#all:not([hidden])")
    page.evaluate("scrollTo(0, 0)")


PICTURES: dict[str, tuple[dict[str, Any], Callable[[Any], None]]] = {
    "map": ({"viewport": {"width": 1280, "height": 860}}, select_typical_node),
    "dark": ({"viewport": {"width": 1280, "height": 860}, "color_scheme": "dark"}, show_cluster),
    "phone": ({"viewport": {"width": 390, "height": 1000}, "device_scale_factor": 2}, look_closer),
}
"""Name of a picture: the window, and what is done in it first."""


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("run", type=Path, help="a run folder that holds report.html")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "_static" / "report")
    options = parser.parse_args(argv)
    report = options.run / "report.html"
    if not report.is_file():
        raise SystemExit(f"{report} is not there; write it by: localgcl report {options.run}")
    options.out.mkdir(parents=True, exist_ok=True)
    with chromium.launcher() as launch:
        browser = launch()
        for name, (window, act) in PICTURES.items():
            page = chromium.open_report(browser.new_context(reduced_motion="reduce", **window), report)
            act(page)
            page.wait_for_timeout(500)  # frames that are on their way
            path = options.out / f"{name}.png"
            Image.open(io.BytesIO(page.screenshot())).convert("RGB").save(path, optimize=True)
            print(f"{path} ({path.stat().st_size / 1000:.0f} kB)")


if __name__ == "__main__":
    main()
