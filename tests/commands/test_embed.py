"""`localgcl embed` with new files: columns are matched by name, and files are given as to `localgcl train`."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from localgcl.commands import main

pytestmark = pytest.mark.filterwarnings("default::localgcl.LocalGCLWarning")  # the command line prints them
FAST = ("--dim", "6", "--steps", "3", "--device", "cpu", "--quiet")


def run(*arguments: str | Path) -> int:
    return main([str(argument) for argument in arguments])


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ring of 20 nodes in files, also with the columns in another order, with one more and with one less; and a run."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"source": range(20), "target": [(i + 1) % 20 for i in range(20)]}).to_csv("edges.csv", index=False)
    x = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 4)) * [1, 2, 3, 4], columns=list("abcd")).rename_axis("id")
    x.to_csv("x.csv")
    x[list("dbca")].to_csv("mixed.csv")
    x[list("dbca")].to_parquet("mixed.parquet")
    x.assign(e=1.0)[list("edbca")].to_csv("more.csv")
    x[list("dca")].to_csv("less.csv")
    np.save("x.npy", x.to_numpy())
    assert run("train", "--edges", "edges.csv", "--features", "x.csv", *FAST, "--out", "run") == 0
    return tmp_path


def embedded(*arguments: str) -> NDArray[Any]:
    assert run("embed", "run", *arguments, "-o", "z.npy", "--force") == 0
    z: NDArray[Any] = np.load("z.npy")
    return z


@pytest.mark.usefixtures("files")
def test_columns_are_matched_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    z = embedded()
    for features in ("x.csv", "mixed.csv", "mixed.parquet"):
        np.testing.assert_array_equal(embedded("--edges", "edges.csv", "--features", features), z)
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "position" not in printed.out
    np.testing.assert_array_equal(embedded("--edges", "edges.csv", "--features", "more.csv"), z)
    assert (
        capsys.readouterr().err.count("localgcl: note: feature columns that the model was not trained on are ignored: 'e'") == 1
    )
    np.testing.assert_array_equal(embedded("--edges", "edges.csv", "--features", "x.npy"), z)
    assert capsys.readouterr().err.count("matched by position") == 1
    assert run("embed", "run", "--edges", "edges.csv", "--features", "less.csv", "-o", "z.npy", "--force") == 1
    assert "lacks 1 of the 4 feature columns that the model was trained on: 'b'; add" in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_a_graph_may_be_given_in_every_way(capsys: pytest.CaptureFixture[str]) -> None:
    z = embedded()
    np.testing.assert_array_equal(embedded("edges.csv", "--features", "mixed.csv"), z)  # the edge file in place of a data set
    assert run("embed", "run", "digits", "-o", "digits.npy") == 1  # a data set of other features
    assert "64 feature columns, but the model was trained on 4" in capsys.readouterr().err
    assert run("embed", "run", "digits", "--edges", "edges.csv", "-o", "no.npy") == 1
    assert "name a data set or give an edge file, not both" in capsys.readouterr().err
    assert run("embed", "run", "--features", "mixed.csv", "-o", "no.npy") == 1  # was ignored before
    assert "give an edge file, not neither" in capsys.readouterr().err
    assert not Path("no.npy").exists()


@pytest.mark.usefixtures("files")
def test_features_without_names_on_both_sides_go_by_position_aloud(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train", "--edges", "edges.csv", "--features", "x.npy", *FAST, "--out", "bare") == 0
    capsys.readouterr()
    assert run("embed", "bare", "--edges", "edges.csv", "--features", "x.npy", "-o", "z.npy") == 0
    assert "feature columns have no names; they are matched by position" in capsys.readouterr().out
    assert run("embed", "bare", "--edges", "edges.csv", "--features", "mixed.csv", "-o", "z.npy", "--force") == 0
    assert "trained on features without names" in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_a_finished_run_resumed_with_mixed_columns_is_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    z = np.load("run/embeddings.npy")
    Path("mixed.csv").replace("x.csv")
    assert run("train", "--resume", "--out", "run", "--quiet") == 0
    np.testing.assert_array_equal(np.load("run/embeddings.npy"), z)
    capsys.readouterr()
    Path("less.csv").replace("x.csv")
    assert run("train", "--resume", "--out", "run", "--quiet") == 1
    assert "lacks 1 of the 4 feature columns" in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_structural_features_need_no_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train", "--edges", "edges.csv", *FAST, "--out", "bare") == 0
    assert run("embed", "bare", "--edges", "edges.csv", "-o", "z.npy") == 0
    np.testing.assert_array_equal(np.load("z.npy"), np.load("bare/embeddings.npy"))
    printed = capsys.readouterr()
    assert "position" not in printed.out + printed.err


@pytest.mark.parametrize("name", ["..csv", ".csv", "..tsv", ". .csv", "a\x1b[31m.csv"])
def test_a_default_run_folder_lies_within_runs(files: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(name).write_text(Path("edges.csv").read_text().replace(",", "\t" if name.endswith("tsv") else ","))
    capsys.readouterr()
    assert run("train", "--edges", name, "--features", "x.csv", *FAST[:-1]) == 0
    (folder,) = (files / "runs").iterdir()
    assert folder.name == ("a-[31m" if "\x1b" in name else "graph")
    assert (folder / "config.toml").is_file()
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert f"in runs/{folder.name}" in printed


@pytest.mark.usefixtures("files")
def test_the_terminal_gets_no_escape_codes(capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.csv").write_text("id,a\n0,1\n1,\x1b]0;owned\x07\n")
    capsys.readouterr()
    assert run("embed", "run", "--edges", "edges.csv", "--features", "x.csv", "-o", "z.npy") == 1
    assert run("embed", "\x1b[31mrun", "-o", "z.npy") == 1
    assert run("embed", "run", "-o", "\x1b[31m.npz") == 1
    assert run("embed", "run", "\x1b[31m", "-o", "z.npy") == 1
    printed = capsys.readouterr()
    assert printed.err.count("localgcl: error:") == 4
    assert all(line.isprintable() for line in (printed.out + printed.err).splitlines())


# New nodes and edges

HOPS = ("--encoder", "hops", "--channels", "X", "SX", "B2X", "--layers", "1", "--scaling", "standard")
NEW = pd.DataFrame({"id": [90, 91], "d": [0.5, 1], "b": [2.0, -1], "c": [3.0, 0], "a": [-1.0, 4]})
MORE = pd.DataFrame({"source": [90, 3, 4], "target": [7, 90, 4]})


def with_addition(weight: str | None = None) -> None:
    """Writes more.csv and new.csv, and joined.csv and joined-x.csv, which hold these and the ring."""
    ring, more, x = pd.read_csv("edges.csv"), MORE, pd.read_csv("x.csv")
    if weight is not None:
        ring, more = (table.assign(**{weight: np.arange(1, len(table) + 1) / 2}) for table in (ring, more))
        ring.to_csv("edges.csv", index=False)
    more.to_csv("more.csv", index=False)
    NEW.to_csv("new.csv", index=False)
    pd.concat([ring, more]).to_csv("joined.csv", index=False)
    pd.concat([x, NEW]).to_csv("joined-x.csv", index=False)  # columns by name, in the order of x


def frame(*arguments: str, out: str = "z.parquet") -> pd.DataFrame:
    assert run("embed", "run", *arguments, "-o", out, "--force") == 0
    return pd.read_parquet(out).set_index("id")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("weight", [None, "weight", "score"])
@pytest.mark.parametrize("encoder", [("--encoder", "gcn", "--batch-norm"), ("--encoder", "mlp"), HOPS])
def test_new_nodes_are_embedded_as_in_joined_files(
    encoder: tuple[str, ...], weight: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    with_addition(weight)
    named = () if weight in (None, "weight") else ("--weight", weight)
    files = ("--edges", "edges.csv", "--features", "x.csv", *named)
    assert run("train", *files, *FAST, *encoder, "--out", "again") == 0
    Path("run").rename("old")
    Path("again").rename("run")
    whole = frame("--edges", "joined.csv", "--features", "joined-x.csv", *named)
    capsys.readouterr()
    z = frame("--add-edges", "more.csv", "--add-features", "new.csv")
    changed = 0 if "mlp" in encoder else len(z) - 2
    assert capsys.readouterr().out == f"2 new nodes, {changed} changed: {len(z)} embeddings in z.parquet\n"
    np.testing.assert_allclose(z, whole.loc[z.index], rtol=0, atol=1e-5)  # the acceptance of the command
    assert z.index[-2:].tolist() == [90, 91]
    if "mlp" not in encoder:  # two steps from 3 and 7 along the ring
        assert z.index[:-2].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    new = frame("--add-edges", "more.csv", "--add-features", "new.csv", "--only-new")
    assert capsys.readouterr().out == "2 new nodes: 2 embeddings in z.parquet\n"
    pd.testing.assert_frame_equal(new, z.loc[[90, 91]], rtol=0, atol=1e-6)  # other parts of the graph, other rounding


@pytest.mark.usefixtures("files")
def test_new_nodes_of_a_graph_folder(capsys: pytest.CaptureFixture[str]) -> None:
    with_addition("weight")
    for table, out in (("edges.csv", "graph"), ("joined.csv", "both")):
        features = "x.csv" if out == "graph" else "joined-x.csv"
        assert run("convert", table, "--features", features, "--out", out) == 0
    Path("run").rename("old")
    assert run("train", "graph", *FAST, *HOPS, "--batch", "8", "--out", "run") == 0
    whole = frame("both")
    capsys.readouterr()
    z = frame("--add-edges", "more.csv", "--add-features", "new.csv")
    np.testing.assert_allclose(z, whole.loc[z.index], rtol=0, atol=1e-5)  # the acceptance of the command
    assert capsys.readouterr().out.startswith("2 new nodes, ")
    assert run("convert", "edges.csv", "--out", "bare") == 0
    assert run("embed", "run", "bare", "--add-edges", "more.csv", "-o", "no.npy") == 1
    assert "are computed from its edges, so new edges change those of all nodes" in capsys.readouterr().err


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("folder", [False, True])
def test_ids_of_new_nodes_may_be_text(folder: bool) -> None:
    edges, x = pd.read_csv("edges.csv").astype(str), pd.read_csv("x.csv").astype({"id": str})
    edges = edges.replace({"7": "seven"})
    x["id"] = x["id"].replace({"7": "seven"})
    edges.to_csv("named.csv", index=False)
    x.to_csv("named-x.csv", index=False)
    pd.DataFrame({"source": ["new", "8"], "target": ["seven", "new"]}).to_csv("more.csv", index=False)
    NEW[:1].assign(id="new").to_csv("new.csv", index=False)
    files: tuple[str, ...] = ("--edges", "named.csv", "--features", "named-x.csv")
    if folder:
        assert run("convert", "named.csv", "--features", "named-x.csv", "--out", "graph") == 0
        files = ("graph",)
    Path("run").rename("old")
    assert run("train", *files, *FAST, *HOPS, "--out", "run") == 0
    z = frame("--add-edges", "more.csv", "--add-features", "new.csv")
    assert z.index[-1] == "new"
    assert set(z.index) == {"new", "5", "6", "seven", "8", "9", "10"}
    assert frame("--add-edges", "more.csv", "--add-features", "new.csv", "--only-new").index.tolist() == ["new"]


@pytest.mark.usefixtures("files")
def test_new_nodes_that_do_not_fit_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with_addition()
    NEW.assign(id=[90, 5]).to_csv("known.csv", index=False)
    pd.DataFrame({"source": [90, 55, 56], "target": [7, 1, 2]}).to_csv("unknown.csv", index=False)
    np.save("rows.npy", NEW[list("abcd")].to_numpy())
    added = ("--add-edges", "more.csv", "--add-features", "new.csv")
    cases: list[tuple[tuple[str, ...], str]] = [
        (
            ("--add-edges", "unknown.csv", "--add-features", "new.csv"),
            "node 55 (and 1 more) is neither in the graph nor in new.csv",
        ),
        (("--add-edges", "more.csv"), "node 90 is not in the graph; give its features (--add-features), or drop its edges"),
        (("--add-edges", "more.csv", "--add-features", "known.csv"), "known.csv: node 5 is in the graph already"),
        (("--add-features", "less.csv"), "less.csv: node 0 (and 19 more) is in the graph already"),
        (("--only-new",), "only-new is for new nodes, and none are given"),
        (("--add-edges", "edges.csv"), "there are no new nodes, and no embedding changes"),
        (("--add-edges", "none.csv"), "none.csv"),
        ((*added, "--weight", "score"), "more.csv has no edge weights called 'score'"),
        ((*added, "--edges", "edges.csv"), "the features of 'edges' are computed from its edges"),
        ((*added, "-o", "no.xyz"), "known are .npy"),
    ]
    for arguments, message in cases:
        capsys.readouterr()
        assert run("embed", "run", "-o", "no.npy", *arguments) == 1, arguments
        assert message in capsys.readouterr().err
    assert not Path("no.npy").exists()
    assert run("embed", "run", *added, "-o", "z.csv") == 0
    assert run("embed", "run", *added, "-o", "z.csv") == 1
    assert "exists already" in capsys.readouterr().err
    # Rows without ids are the next nodes of a graph whose nodes are 0, 1, 2...
    assert run("embed", "run", "--add-features", "rows.npy", "-o", "z.csv", "--force") == 0
    assert pd.read_csv("z.csv")["id"].tolist() == [20, 21]
    pd.read_csv("x.csv").assign(id=range(5, 25)).to_csv("x.csv", index=False)
    pd.read_csv("edges.csv").add(5).to_csv("edges.csv", index=False)
    assert run("embed", "run", "--add-features", "rows.npy", "-o", "z.csv", "--force") == 1
    assert "rows.npy has no node ids, and those of the graph are not 0 to 19" in capsys.readouterr().err
