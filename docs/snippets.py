"""Runs every python, bash and sh block of these pages, page by page, in order, each page in a folder of its own.

A text block that directly follows one of them shows what it printed: each of its lines must be printed, whatever the numbers
in it; a line of three dots stands for lines that are left out.

python docs/snippets.py                     all pages
python docs/snippets.py data.md cookbook    one page, and the pages of a folder
"""

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
BLOCK = re.compile(r"^```(python|bash|sh)\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"[-+]?\d[\d,]*(\.\d+)?(e[-+]?\d+)?")


def run(page: Path) -> None:
    """Runs the blocks of a page in the current folder. Python blocks share one namespace, as a reader's session would.

    Raises:
        ValueError: If a block does not print what the page says that it prints.
        Exception: What a block raises; `subprocess.CalledProcessError` if its command fails.
    """
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        kind, code, promised = block.groups()
        place = f"{page.name}:{text[: block.start()].count(chr(10)) + 1}"
        started = time.perf_counter()
        printed = _python(code, place, names) if kind == "python" else _shell(code)
        sys.stdout.write(f"{printed}ok {place} ({time.perf_counter() - started:.0f} s)\n")
        sys.stdout.flush()
        missing = unprinted(promised or "", printed)
        if missing:
            raise ValueError(f"{place} does not print {missing[0]!r}; mend the page or what it shows")


def unprinted(promised: str, printed: str) -> list[str]:
    """The lines of `promised` that are not among those of `printed`; numbers and spaces may differ.

    Example:
        >>> unprinted("loss 1.50\\n...\\ndone", "loss 1.61\\nDone\\n")
        ['done']
    """
    known = {_form(line) for line in printed.splitlines()}
    return [line for line in promised.splitlines() if _form(line) not in known and line.strip() not in ("", "...")]


def _form(line: str) -> str:
    return re.sub(r"[\s|─-]+", " ", _NUMBER.sub("#", line)).strip()


def _python(code: str, place: str, names: dict[str, object]) -> str:
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(code, place, "exec"), names)
    except BaseException:
        sys.stdout.write(printed.getvalue())
        raise
    return printed.getvalue()


def _shell(code: str) -> str:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
    )
    if done.returncode:
        sys.stdout.write(done.stdout)
        done.check_returncode()
    return done.stdout


def pages(names: list[str]) -> list[Path]:
    """The pages of the given names and folders; all of them if none is given."""
    places = [HERE / name for name in names] or [HERE, HERE / "cookbook"]
    return [page for place in places for page in (sorted(place.glob("*.md")) if place.is_dir() else [place])]


def main() -> None:
    """Stops at the first block that fails, with its traceback."""
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for page in pages(sys.argv[1:]):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            run(page)
            os.chdir(HERE)


if __name__ == "__main__":
    main()
