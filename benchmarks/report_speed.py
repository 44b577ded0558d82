"""How quick a report is in Chromium with software WebGL: `python -m benchmarks.report_speed --out FILE.csv`.

Reports of invented graphs are opened from disk, each in a new browser. Times count from the start of the navigation. A hover
counts from the movement of the mouse to the end of the frame that shows the node's id.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.references.findings import synthetic

from benchmarks import ROOT, chromium
from localgcl.report.page import page as report
from localgcl.system.files import RowFile
from localgcl.system.provenance import provenance

FIELDS = (
    "report",
    "mb",
    "first_paint_s",
    "interactive_s",
    "complete_s",
    "hover_median_ms",
    "hover_worst_ms",
    "frame_ms",
    "renderer",
    "date",
    "commit",
    "hardware",
)

LISTEN = """() => {
  window.hovers = [];
  const tip = document.getElementById("tip");
  const watch = (event) => {
    const before = tip.textContent;
    requestAnimationFrame(() => {
      const channel = new MessageChannel(); // its message comes after the frame is painted
      channel.port1.onmessage = () => {
        if (!tip.hidden && tip.textContent !== before) window.hovers.push(performance.now() - event.timeStamp);
      };
      channel.port2.postMessage(null);
    });
  };
  addEventListener("pointermove", watch, true); // before the page's own listener, which changes the text
}"""

PAN = """async () => {
  const canvas = document.getElementById("points");
  const gl = canvas.getContext("webgl2");
  const began = performance.now();
  for (let i = 0; i < 20; i++) {
    canvas.dispatchEvent(new KeyboardEvent("keydown", { key: i % 2 ? "ArrowLeft" : "ArrowRight" }));
    await new Promise((done) => requestAnimationFrame(done));
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4)); // waits until the points are drawn
  }
  return (performance.now() - began) / 20;
}"""

RENDERER = """() => {
  const gl = document.createElement("canvas").getContext("webgl2");
  return gl.getParameter(gl.getExtension("WEBGL_debug_renderer_info").UNMASKED_RENDERER_WEBGL);
}"""


def measure(path: Path, *, hovers: int = 40) -> dict[str, Any]:
    """Times of one report, in a browser of its own."""
    with chromium.launcher() as launch:
        page = chromium.open_report(launch().new_context(viewport={"width": 1280, "height": 900}), path)
        marks = page.evaluate(
            "Object.fromEntries(performance.getEntriesByType('mark').map((mark) => [mark.name, mark.startTime / 1000]))"
        )
        page.evaluate(LISTEN)
        box = page.locator("#stage").bounding_box()
        for step in range(hovers):
            share = (step + 0.5) / hovers
            page.mouse.move(box["x"] + box["width"] * share, box["y"] + box["height"] * (0.35 + 0.3 * share))
            time.sleep(0.05)
        seen = page.evaluate("window.hovers")
        return {
            "first_paint_s": round(marks["map-drawn"], 2),
            "interactive_s": round(marks["map-ready"], 2),
            "complete_s": round(marks["map-complete"], 2),
            "hover_median_ms": round(statistics.median(seen), 1),
            "hover_worst_ms": round(max(seen), 1),
            "frame_ms": round(page.evaluate(PAN), 1),
            "renderer": page.evaluate(RENDERER),
        }


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "report.csv")
    parser.add_argument("--nodes", type=int, nargs="*", default=[2708, 200_000], help="sizes of invented graphs")
    parser.add_argument("--reports", type=Path, nargs="*", default=[], help="reports of runs, written by localgcl report")
    options = parser.parse_args(argv)
    file = RowFile(options.out, FIELDS)
    with tempfile.TemporaryDirectory() as folder:
        reports = {str(path): path for path in options.reports}
        for nodes in options.nodes:
            path = reports[f"{nodes:,} invented nodes"] = Path(folder) / f"{nodes}.html"
            path.write_text(report(synthetic(nodes)), encoding="utf-8")
        for name, path in reports.items():
            row = {"report": name, "mb": round(path.stat().st_size / 1e6, 2), **measure(path)}
            made = provenance()
            file.append({**row, "date": made.date, "commit": made.commit, "hardware": made.hardware})
            print("  ".join(f"{field} {value}" for field, value in row.items()), flush=True)


if __name__ == "__main__":
    main()
