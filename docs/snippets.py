"""Runs every python and bash block of these pages, page by page, in order, each page in a folder of its own.

python docs/snippets.py            all pages
python docs/snippets.py data.md    one page
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BLOCK = re.compile(r"^```(python|bash)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def run(page: Path) -> None:
    """Python blocks of a page share one namespace, as a reader's session would."""
    text = page.read_text()
    names: dict[str, object] = {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        kind, code = block.groups()
        place = f"{page.name}:{text[: block.start()].count(chr(10)) + 1}"
        started = time.perf_counter()
        if kind == "bash":
            subprocess.run(["bash", "-euo", "pipefail", "-c", code], check=True)
        else:
            exec(compile(code, place, "exec"), names)
        sys.stdout.write(f"ok {place} ({time.perf_counter() - started:.0f} s)\n")
        sys.stdout.flush()


def main() -> None:
    """Stops at the first block that fails, with its traceback."""
    here = Path(__file__).resolve().parent
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for name in sys.argv[1:] or sorted(path.name for path in here.glob("*.md")):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            run(here / name)
            os.chdir(here)


if __name__ == "__main__":
    main()
