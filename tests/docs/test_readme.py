"""The blocks of the README run as they are shown."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import localgcl as lg
from tests.docs.shown import ROOT

README = ROOT / "README.md"


def block(kind: str, about: str) -> str:
    """The block of this kind that has some words in it."""
    text = README.read_text(encoding="utf-8")
    (found,) = (code for code in re.findall(rf"^```{kind}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE) if about in code)
    return str(found)


@pytest.mark.slow
def test_from_two_files(tmp_path: Path) -> None:
    graph = lg.sbm(300, classes=3, features=8, seed=0)
    names = pd.Series([f"node {i}" for i in range(300)])
    edges = pd.DataFrame({"source": names[graph.rows.numpy()].to_numpy(), "target": names[graph.indices.numpy()].to_numpy()})
    edges.to_csv(tmp_path / "edges.csv", index=False)
    features = pd.DataFrame(graph.x.numpy()).rename(columns=lambda place: f"f{place}")
    features.insert(0, "id", names)
    features.to_csv(tmp_path / "features.csv", index=False)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    code = block("sh", "localgcl train")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    rows = pd.read_parquet(tmp_path / "embeddings.parquet")
    assert sorted(rows.iloc[:, 0]) == sorted(names)
    if "localgcl report" in code:
        assert (tmp_path / "runs" / "mine" / "report.html").is_file()


@pytest.mark.slow
def test_in_python(graphs_root: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "LOCALGCL_HOME": str(graphs_root)}
    code = block("python", "import localgcl")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    accuracy = re.match(r"([\d.]+) ± ", done.stdout)
    assert accuracy is not None
    assert float(accuracy[1]) > 75  # raw features: 60
