"""Raw files: found under the cache root or downloaded; checksums are compared before anything reads them."""

import dataclasses
import functools
import gzip
import hashlib
import http.client
import importlib.resources
import io
import os
import tomllib
import urllib.request
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from localgcl.config import LocalGCLWarning
from localgcl.io.damage import BROKEN, check_expansion
from localgcl.system.files import digest, replacing
from localgcl.system.text import shown

TIMEOUT = 60.0
"""Seconds without a byte after which a download is given up."""


@dataclasses.dataclass(frozen=True)
class RawFile:
    """One published file.

    Args:
        path: Where it belongs under the cache root, with forward slashes.
        url: Where it is published.
        member: Its path inside the zip archive at `url`; empty when `url` is the file itself.
        checksums: The contents to accept, each as "sha256:..." or another form that checksums.toml explains; "any" accepts
            all. When empty, checksums.toml must list the path.
    """

    path: str
    url: str
    member: str = ""
    checksums: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def cache_root(root: str | os.PathLike[str] | None = None) -> Path:
    """`root`, else LOCALGCL_HOME, else `localgcl` in XDG_CACHE_HOME or ~/.cache."""
    if root is not None:
        return Path(root).expanduser()
    home = os.environ.get("LOCALGCL_HOME")
    if home:
        return Path(home).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "localgcl"


def missing_files(files: Sequence[RawFile], folder: Path) -> list[RawFile]:
    """Those of `files` that are not under the cache root `folder`."""
    return [file for file in files if not (folder / file.path).is_file()]


def obtain(files: Sequence[RawFile], root: str | os.PathLike[str] | None, *, download: bool) -> dict[str, bytes]:
    """The verified contents of `files` by file name; missing ones are downloaded first.

    It returns contents rather than paths, so that exactly the verified bytes are parsed.
    """
    for file in files:
        _accepted_checksums(file)  # a file without any is refused before it is downloaded
    folder = cache_root(root)
    missing = missing_files(files, folder)
    if missing and not download:
        raise FileNotFoundError(_where(missing, folder) + "\nor let load download them (download=True)")
    for url in dict.fromkeys(file.url for file in missing):  # many files may come from one archive: fetch it once
        try:
            body = _fetch(url)
        except (OSError, http.client.HTTPException) as error:
            where = _where(missing_files(files, folder), folder)
            raise FileNotFoundError(f"download failed ({error}). {where}") from error
        for file in missing:
            if file.url == url:
                content = archive_member(body, file) if file.member else body
                verify(file, content, f"{url} was not saved: it", "try again later, or tell us that the publisher changed it")
                (folder / file.path).parent.mkdir(parents=True, exist_ok=True)
                with replacing(folder / file.path) as temporary:
                    temporary.write_bytes(content)
    contents = {}
    for file in files:
        path = folder / file.path
        contents[file.name] = path.read_bytes()
        verify(file, contents[file.name], str(path), "delete it, and load again to download it")
    return contents


def _accepted_checksums(file: RawFile) -> Sequence[str]:
    """The checksums that `file` brings, else those in checksums.toml; ValueError if there are none."""
    accepted = file.checksums or _checksums().get(file.path, ())
    if not accepted:
        raise ValueError(
            f"no checksum is known for {file.path}, so it is not read; name it in "
            f'RawFile({file.path!r}, ..., checksums=("sha256:...",)), or write "any" to accept all contents'
        )
    for checksum in accepted:
        if checksum.partition(":")[0] not in ("sha256", "git", "rows", "any"):
            raise ValueError(f"checksum {checksum!r} of {file.path} is of no known form; write sha256:, git:, rows: or any")
    return accepted


def verify(file: RawFile, content: bytes, subject: str, fix: str) -> None:
    """Raises ValueError unless `content` has one of the checksums of `file`; `subject` and `fix` go into the message."""
    accepted = _accepted_checksums(file)
    if accepted[0] == "any" or any(_matches(content, checksum) for checksum in accepted):
        return
    found = f"sha256 {digest(content)} ({len(content):,} bytes)"
    if "any" in accepted:
        warnings.warn(
            f"{subject} has {found}, not the bytes this library was tested with; only its shape is checked, and results "
            "may differ from published ones",
            LocalGCLWarning,
            stacklevel=4,
        )
        return
    raise ValueError(f"{subject} has {found}, but {' or '.join(accepted)} is expected; {fix}")


@functools.cache
def _checksums() -> dict[str, list[str]]:
    text = importlib.resources.files("localgcl.datasets").joinpath("checksums.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _matches(content: bytes, checksum: str) -> bool:
    kind, _, expected = checksum.partition(":")
    if kind == "sha256":
        return digest(content) == expected
    if kind == "git":
        return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest() == expected
    return kind == "rows" and _row_digest(content) == expected


def _row_digest(content: bytes) -> str:
    """sha256 of a gzipped table's sorted lines, whatever their order, line ends and compression; '' if it is not gzip."""
    try:
        lines = gzip.decompress(content).split()
    except (OSError, EOFError, zlib.error):
        return ""
    return digest(b"\n".join(sorted(lines)))


def _fetch(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=TIMEOUT) as response:
        body: bytes = response.read()  # raises IncompleteRead when the connection ends early
    return body


def archive_member(archive: bytes, file: RawFile) -> bytes:
    """The content of `file` in the zip archive that holds it; ValueError if the archive is damaged."""
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            check_expansion(opened.getinfo(file.member).file_size, len(archive), file.member)
            return opened.read(file.member)
    except BROKEN as error:
        damage = f"{file.url} holds no readable {file.member} ({shown(str(error)[:200])})"
        raise ValueError(f"{damage}; nothing was saved, try again later") from error


def _where(files: Sequence[RawFile], folder: Path) -> str:
    lines = [f"\n  {folder / file.path}\n    from {file.url}{f' (its {file.member})' * bool(file.member)}" for file in files]
    return f"{len(files)} raw files are missing; put them here:{''.join(lines)}"
