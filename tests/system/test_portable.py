"""The commands on a system without POSIX's modules, such as Windows."""

import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT = """
import sys
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None  # importing it raises ImportError
from localgcl.commands import main
sys.exit(main(sys.argv[1:]))
"""
FAST = ["--dim", "16", "--num-features", "64", "--steps", "4", "--device", "cpu"]


def run(*arguments: str | Path) -> str:
    done = subprocess.run([sys.executable, "-c", WITHOUT, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_train_embed_and_evaluate(tmp_path: Path) -> None:
    folder, embeddings = tmp_path / "run", tmp_path / "z.npy"
    run("train", "digits", *FAST, "--out", folder)
    run("embed", folder, "-o", embeddings)
    assert embeddings.exists()
    assert "accuracy" in run("evaluate", folder, "--splits", "1", "--no-baselines", "--protocol", "knn").lower()


@pytest.mark.parametrize("module", ["ledger", "devices", "files", "limits", "provenance", "threads"])
def test_modules_of_the_system_import(module: str) -> None:
    code = f"import sys; sys.modules['fcntl'] = None; import localgcl.system.{module}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_rows_are_appended(tmp_path: Path) -> None:
    code = """
import sys
sys.modules["fcntl"] = None
from pathlib import Path
from localgcl.system.ledger import append_rows, read_rows
path = Path(sys.argv[1])
append_rows(path, ("a",), [{"a": 1}])
append_rows(path, ("a",), [{"a": 2}])
print(read_rows(path, ("a",)))
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "rows.csv")], capture_output=True, text=True, check=True)
    assert done.stdout == "[{'a': '1'}, {'a': '2'}]\n"
