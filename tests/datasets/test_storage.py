"""Raw files: found, downloaded, verified; nothing half-written, nothing unverified kept."""

import contextlib
import dataclasses
import gzip
import http.server
import os
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from localgcl.datasets import READERS, load, names, storage
from localgcl.datasets.storage import RawFile, cache_root, obtain, verify

HELLO = b"hello\n"
HELLO_SHA256 = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
HELLO_GIT = "ce013625030ba8dba906f756967f9e9ca394464a"  # git hash-object


class Server:
    """Serves `bodies` by path on 127.0.0.1, announcing `extra` bytes more than it sends."""

    def __init__(self) -> None:
        self.bodies: dict[str, bytes] = {}
        self.extra = 0
        self.requests: list[str] = []
        self.url = ""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    state = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.requests.append(self.path)
            body = state.bodies.get(self.path)
            if body is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(body) + state.extra))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        state.url = f"http://127.0.0.1:{running.server_address[1]}"
        yield state
        running.shutdown()
        thread.join()


@pytest.fixture
def hello(monkeypatch: pytest.MonkeyPatch, server: Server) -> RawFile:
    """A file with a known checksum, not yet served."""
    monkeypatch.setattr(storage, "_checksums", lambda: {"Hello/raw/hello.txt": [f"sha256:{HELLO_SHA256}"]})
    return RawFile("Hello/raw/hello.txt", f"{server.url}/hello.txt")


def files_under(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_root_is_the_argument_then_the_environment_then_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("LOCALGCL_HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_root() == tmp_path / ".cache" / "localgcl"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_root() == tmp_path / "xdg" / "localgcl"
    monkeypatch.setenv("LOCALGCL_HOME", "~/graphs")
    assert cache_root() == tmp_path / "graphs"
    assert cache_root("~/mine") == tmp_path / "mine"


def test_a_download_is_kept_and_not_repeated(hello: RawFile, server: Server, tmp_path: Path) -> None:
    server.bodies["/hello.txt"] = HELLO
    for _ in range(2):
        assert obtain([hello], tmp_path, download=True) == {"hello.txt": HELLO}
    assert server.requests == ["/hello.txt"]
    assert files_under(tmp_path) == ["Hello/raw/hello.txt"]
    assert obtain([hello], tmp_path, download=False) == {"hello.txt": HELLO}


def test_a_download_with_another_checksum_leaves_nothing(hello: RawFile, server: Server, tmp_path: Path) -> None:
    server.bodies["/hello.txt"] = b"evil\n"
    with pytest.raises(ValueError, match=rf"hello.txt was not saved: it has sha256 \w+ \(5 bytes\), but sha256:{HELLO_SHA256}"):
        obtain([hello], tmp_path, download=True)
    assert files_under(tmp_path) == []


def test_a_truncated_download_leaves_nothing(hello: RawFile, server: Server, tmp_path: Path) -> None:
    server.bodies["/hello.txt"], server.extra = HELLO[:3], 3
    with pytest.raises(FileNotFoundError, match=r"download failed .*IncompleteRead"):
        obtain([hello], tmp_path, download=True)
    assert files_under(tmp_path) == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/hello.txt", "{server}/nowhere.txt"], ids=["refused", "not found"])
def test_a_failed_download_says_what_to_put_where(url: str, hello: RawFile, server: Server, tmp_path: Path) -> None:
    url = url.format(server=server.url)
    with pytest.raises(FileNotFoundError) as caught:
        obtain([RawFile(hello.path, url)], tmp_path, download=True)
    assert str(tmp_path / "Hello" / "raw" / "hello.txt") in str(caught.value)
    assert url in str(caught.value)


def test_a_failed_write_leaves_nothing(hello: RawFile, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.bodies["/hello.txt"] = HELLO

    def full(*_: object) -> None:
        assert any(".localgcl-" in name for name in files_under(tmp_path))  # it was beside its target
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        obtain([hello], tmp_path, download=True)
    assert files_under(tmp_path) == []


def test_checksum_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    file = RawFile("f", "")
    for checksum in (f"sha256:{HELLO_SHA256}", f"git:{HELLO_GIT}", "any"):
        monkeypatch.setattr(
            storage, "_checksums", lambda checksum=checksum: {"f": ["git:0", checksum] if ":" in checksum else ["any"]}
        )
        verify(file, HELLO, "f", "fix it")
    monkeypatch.setattr(storage, "_checksums", lambda: {"f": [f"git:{HELLO_GIT}", f"rows:{HELLO_SHA256}"]})
    with pytest.raises(ValueError, match=r"f has sha256 .* but git:ce01\w+ or rows:\w+ is expected; fix it"):
        verify(file, HELLO + b" ", "f", "fix it")


def test_a_file_may_bring_its_own_checksums(hello: RawFile, server: Server, tmp_path: Path) -> None:
    server.bodies["/own.txt"] = HELLO
    own = RawFile("Own/own.txt", f"{server.url}/own.txt", checksums=("git:0", f"sha256:{HELLO_SHA256}"))
    assert obtain([own], tmp_path, download=True) == {"own.txt": HELLO}
    changed = dataclasses.replace(own, checksums=("sha256:0",))
    with pytest.raises(ValueError, match=r"own\.txt has sha256 5891\w+ .*, but sha256:0 is expected"):
        obtain([changed], tmp_path, download=True)
    listed = dataclasses.replace(hello, url=own.url, checksums=("sha256:0",))  # its own win over the table's
    with pytest.raises(ValueError, match="but sha256:0 is expected"):
        obtain([listed], tmp_path, download=True)
    assert obtain([dataclasses.replace(own, checksums=("any",))], tmp_path, download=False) == {"own.txt": HELLO}


@pytest.mark.parametrize(
    ("checksums", "message"),
    [
        ((), r"no checksum is known for Own/own\.txt, so it is not read; .*checksums=\(\"sha256"),
        ((HELLO_SHA256,), "checksum '5891.*' of Own/own.txt is of no known form; write sha256:"),
    ],
)
def test_a_file_without_a_checksum_is_refused_before_it_is_downloaded(
    checksums: tuple[str, ...], message: str, server: Server, tmp_path: Path
) -> None:
    server.bodies["/own.txt"] = HELLO
    with pytest.raises(ValueError, match=message):
        obtain([RawFile("Own/own.txt", f"{server.url}/own.txt", checksums=checksums)], tmp_path, download=True)
    assert server.requests == []
    assert files_under(tmp_path) == []


def test_tables_may_be_reordered_and_compressed_again_but_not_changed(graphs_root: Path) -> None:
    file = RawFile("ogbn_arxiv/split/time/valid.csv.gz", "")
    lines = gzip.decompress((graphs_root / file.path).read_bytes()).splitlines()
    verify(file, gzip.compress(b"\r\n".join(reversed(lines))), "it", "fix")
    with pytest.raises(ValueError, match="rows:"):
        verify(file, gzip.compress(b"\n".join(lines[:-1])), "it", "fix")
    with pytest.raises(ValueError, match="rows:"):
        verify(file, b"no gzip", "it", "fix")


def test_every_raw_file_has_a_checksum() -> None:
    listed = {file.path for name in names() for file in READERS[name].files}
    assert set(storage._checksums()) == listed
    only_any = {path for path, accepted in storage._checksums().items() if accepted == ["any"]}
    assert only_any == {"ogbn_arxiv/raw/node-feat.csv.gz"}


def test_the_published_npz_files_are_accepted_by_their_git_ids() -> None:
    npz = [path for path in storage._checksums() if path.endswith(".npz") and "split" not in path and "filtered" not in path]
    assert len(npz) == 4
    assert all(any(entry.startswith("git:") for entry in storage._checksums()[path]) for path in npz)


def test_missing_files_are_named_with_their_place_and_address(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="12 raw files are missing") as caught:
        load("chameleon", tmp_path, download=False)
    assert (
        f"{tmp_path}/chameleon/geom_gcn/raw/chameleon_split_0.6_0.2_3.npz\n    from https://raw.githubusercontent.com/"
        "graphdml-uiuc-jlu/geom-gcn/master/splits/chameleon_split_0.6_0.2_3.npz" in str(caught.value)
    )
    with pytest.raises(FileNotFoundError, match=r"arxiv.zip \(its arxiv/raw/edge.csv.gz\)"):
        load("arxiv", tmp_path, download=False)
    assert files_under(tmp_path) == []


def cora_copy(graphs_root: Path, folder: Path) -> Path:
    for file in READERS["cora"].files:
        target = folder / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((graphs_root / file.path).read_bytes())
    return folder


@pytest.mark.parametrize("damage", ["truncated", "changed", "replaced by a pickle that runs a command"])
def test_a_damaged_file_is_refused_before_it_is_read(damage: str, graphs_root: Path, tmp_path: Path) -> None:
    path = cora_copy(graphs_root, tmp_path) / "Cora" / "raw" / "ind.cora.graph"
    content = path.read_bytes()
    trace = tmp_path / "trace"
    attack = f"cos\nmkdir\n(V{trace}\ntR.".encode()
    path.write_bytes({"truncated": content[:-100], "changed": content[:-1] + b"!"}.get(damage, attack))
    with pytest.raises(ValueError, match=rf"{path} has sha256 .*delete it, and load again to download it"):
        load("cora", tmp_path, download=False)
    assert not trace.exists()


def test_cora_by_download(graphs_root: Path, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in READERS["cora"].files:
        server.bodies[f"/data/{file.name}"] = (graphs_root / file.path).read_bytes()
    served = tuple(dataclasses.replace(file, url=f"{server.url}/data/{file.name}") for file in READERS["cora"].files)
    monkeypatch.setitem(READERS, "cora", dataclasses.replace(READERS["cora"], files=served))
    monkeypatch.setenv("LOCALGCL_HOME", str(tmp_path))
    assert load("cora").num_edges == 10_556
    assert files_under(tmp_path) == sorted(file.path for file in READERS["cora"].files)
    assert len(server.requests) == 7
    os.remove(tmp_path / "Cora/raw/ind.cora.tx")
    load("cora")
    assert server.requests[7:] == ["/data/ind.cora.tx"]


def test_arxiv_is_extracted_from_one_archive(graphs_root: Path, server: Server, tmp_path: Path) -> None:
    archive = tmp_path / "arxiv.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("arxiv/mapping/README.md", "not wanted")
        for file in READERS["arxiv-structure"].files:
            opened.writestr(file.member, (graphs_root / file.path).read_bytes())
        opened.writestr("arxiv/raw/node-feat.csv.gz", HELLO)
    server.bodies["/arxiv.zip"] = archive.read_bytes()
    root = tmp_path / "root"
    served = [dataclasses.replace(file, url=f"{server.url}/arxiv.zip") for file in READERS["arxiv"].files]
    contents = obtain(served, root, download=True)
    assert server.requests == ["/arxiv.zip"]
    assert contents["node-feat.csv.gz"] == HELLO
    assert files_under(root) == sorted(file.path for file in READERS["arxiv"].files)


@pytest.mark.parametrize("fault", ["truncated", "without the file", "changed"])
def test_a_bad_archive_leaves_nothing(fault: str, hello: RawFile, server: Server, tmp_path: Path) -> None:
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr(
            "a/other.txt" if fault == "without the file" else "a/hello.txt", HELLO if fault == "truncated" else b"x"
        )
    server.bodies["/a.zip"] = archive.read_bytes()[: -30 if fault == "truncated" else None]
    root = tmp_path / "root"
    with pytest.raises(ValueError, match="was not saved" if fault == "changed" else "holds no readable a/hello.txt"):
        obtain([RawFile(hello.path, f"{server.url}/a.zip", "a/hello.txt")], root, download=True)
    assert files_under(root) == []


def test_loading_writes_nothing_beside_the_raw_files(graphs_root: Path, tmp_path: Path) -> None:
    cora_copy(graphs_root, tmp_path)
    before = files_under(tmp_path)
    for path in tmp_path.rglob("*"):
        with contextlib.suppress(OSError):
            path.chmod(0o555 if path.is_dir() else 0o444)
    load("cora", tmp_path, download=False)
    assert files_under(tmp_path) == before
