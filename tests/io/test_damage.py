"""One line for every damaged file, and the rule that compares what a file declares with what is there."""

import gzip
from pathlib import Path

import pytest

from localgcl.io.damage import FREE, RATIO, check_expansion, decoding, unreadable
from localgcl.io.files import read_graph
from tests.io.helpers import put


def test_messages_of_libraries_become_one_short_line() -> None:
    message = str(unreadable("a.npy", KeyError("bad \x1b[31m\nsecond line")))
    assert message.isprintable()
    assert message.startswith("a.npy cannot be read, it may be truncated or of another format (")
    assert len(str(unreadable("a.npy", ValueError("x" * 10_000)))) < 400
    assert "(EOFError)" in str(unreadable("a.npy", EOFError()))


def test_only_what_damage_raises_is_reworded() -> None:
    with pytest.raises(ValueError, match=r"a\.npy cannot be read"), decoding("a.npy"):
        raise EOFError
    with pytest.raises(MemoryError), decoding("a.npy"):
        raise MemoryError
    with pytest.raises(TypeError), decoding("a.npy"):
        raise TypeError


@pytest.mark.parametrize(
    ("declared", "stored", "allowed"),
    [
        (0, 0, True),
        (FREE, 0, True),
        (FREE + 1, 0, False),
        (FREE + 1, FREE // RATIO, False),
        (FREE + 1, FREE // RATIO + 1, True),
        (RATIO * 10**9, 10**9, True),
        (RATIO * 10**9 + 1, 10**9, False),
    ],
)
def test_a_file_may_grow_a_thousandfold(declared: int, stored: int, allowed: bool) -> None:
    if allowed:
        check_expansion(declared, stored, "a.npz")
    else:
        with pytest.raises(ValueError, match=r"a\.npz has .* bytes but declares .* write it again, uncompressed"):
            check_expansion(declared, stored, "a.npz")


def test_a_line_of_commas_cannot_ask_for_gigabytes(tmp_path: Path) -> None:
    """Sixteen million columns in sixteen kilobytes; pyarrow takes four kilobytes for each."""
    line = b"," * (1 << 20)
    features = put(tmp_path / "x.csv.gz", gzip.compress(b"id" + line + b"\na" + line + b"\n"))
    edges = put(tmp_path / "e.csv", "source,target\na,b\n")
    with pytest.raises(ValueError, match=r"x\.csv\.gz has \d,\d\d\d bytes but declares 4,\d+,\d+,\d+ bytes"):
        read_graph(edges, features=features)


def test_ids_that_end_in_nul_are_refused(tmp_path: Path) -> None:
    """numpy drops the NUL, and two nodes would have one id."""
    with pytest.raises(ValueError, match=r"e\.csv, target: node id 'a\\x00' ends in a NUL character"):
        read_graph(put(tmp_path / "e.csv", b"source,target\na,b\nb,a\0\n"))


def test_messages_quote_long_cells_in_part(tmp_path: Path) -> None:
    edges = put(tmp_path / "e.csv", "source,target\na,b\n")
    long = "x" * 9999
    for name, content in (("y.csv", f"id,label\na,{long}\nb,0\n"), ("y.csv", f"id,label\n{long},0\n{long},0\n")):
        with pytest.raises(ValueError, match=r"y\.csv") as caught:
            read_graph(edges, labels=put(tmp_path / name, content))
        assert len(str(caught.value)) < 400
