"""Checks the built pages: every internal link leads somewhere, and nothing is fetched from a network to show them.

python docs/links.py docs/_build/html
"""

import sys
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_FETCHED = {"script": "src", "img": "src", "link": "href", "source": "src", "iframe": "src", "object": "data"}
_ONLY_NAMED = ("canonical", "index", "search", "next", "prev", "author", "copyright", "top", "up")  # link rel=...: not fetched


class _Page(HTMLParser):
    """What a page links to, the anchors that it has, and the files that a browser fetches to show it."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in _FETCHED and found.get("rel") not in _ONLY_NAMED and found.get(_FETCHED[tag]):
            self.fetched.append(found[_FETCHED[tag]])


def problems(folder: Path) -> list[str]:
    """One line for each broken link, missing file and file from elsewhere, by page."""
    pages = {path: _read(path) for path in sorted(folder.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        # Listings of source link back to the API by one name a module, which is wrong where a module has two: not ours to mend.
        ours = path.relative_to(folder).parts[0] != "_modules"
        for target in dict.fromkeys(page.links if ours else []):
            place = urlsplit(target)
            if place.scheme or place.netloc:
                continue  # another site: a network would be needed to ask it
            file = (path.parent / unquote(place.path)).resolve() if place.path else path.resolve()
            if file.is_dir():
                file /= "index.html"
            if not file.exists():
                found.append(f"{path.relative_to(folder)}: {target} leads nowhere")
            elif place.fragment and file.suffix == ".html":
                known = pages[file] if file in pages else _read(file)
                if unquote(place.fragment) not in known.anchors:
                    found.append(f"{path.relative_to(folder)}: {target} names an anchor that is not there")
        found += [f"{path.relative_to(folder)}: {line}" for line in _unfetchable(path, page.fetched)]
    return found


def _unfetchable(path: Path, targets: Iterable[str]) -> Iterable[str]:
    for target in dict.fromkeys(targets):
        place = urlsplit(target)
        if place.scheme == "data":
            continue
        if place.scheme or place.netloc:
            yield f"{target} is fetched from a network"
        elif not (path.parent / unquote(place.path)).exists():
            yield f"{target} is not there"


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def main() -> int:
    """Prints the problems; the exit code is 1 if there are any."""
    folder = Path(sys.argv[1]).resolve()
    found = problems(folder)
    sys.stdout.write("".join(f"{line}\n" for line in found))
    sys.stdout.write(f"{len(list(folder.rglob('*.html')))} pages, {len(found)} problems\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
