"""Finds the commands that pages and docstrings show."""

import ast
import dataclasses
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts),
]
_FENCE = re.compile(r"^```+(?!\{)(\w*)\n(.*?)^```+$", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"`+(?:(localgcl) (?=[a-z])|(python -m paper)(?![\w.]) ?)([^`]*)`+")
_CALL = re.compile(
    r"(?<![\w/'\"\[.:-])(?:(localgcl) (?=[a-z])|(?:[\w./$()]*/)?(python -m paper)(?![\w.]) ?)(.*)$", re.MULTILINE
)
_END = re.compile(r"\s{2,}|\s#|\s(?:\|\||&&|[|>&;])(?:\s|$)|[)\"]*$")


@dataclasses.dataclass(frozen=True)
class Shown:
    """A call of a program: where it is shown, its arguments, and whether it is a mention that may leave arguments out."""

    place: str
    arguments: tuple[str, ...]
    mention: bool
    program: str = "localgcl"

    def __str__(self) -> str:
        return f"{self.place}: {self.program} {shlex.join(self.arguments)}"


def in_text(text: str, place: str) -> Iterator[Shown]:
    """The commands of a page: in blocks of code, and in code within a sentence."""
    for fence in _FENCE.finditer(text):
        joined = re.sub(r"\\\n\s*", "", fence[2])
        for call in _CALL.finditer("" if fence[1] == "python" else joined):
            yield _shown(call, place, mention=False)
    prose = _FENCE.sub("", text)
    for span in _SPAN.finditer(prose):
        yield _shown(span, place, mention=True)


def in_docstrings(path: Path) -> Iterator[Shown]:
    """The commands that the docstrings of a module name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            for span in _SPAN.finditer(ast.get_docstring(node) or ""):
                yield _shown(span, str(path.relative_to(ROOT)), mention=True)


def _shown(found: "re.Match[str]", place: str, *, mention: bool) -> Shown:
    call = " ".join(found[3].split()) if mention else found[3]
    end = _END.search(call)
    written = call[: end.start()] if end else call
    # RUN... stands for several, [--show] for an option one may leave out.
    written = re.sub(r"[\[\]]", "", written.replace("...", " "))
    return Shown(place, tuple(shlex.split(written)), mention, found[1] or found[2])
