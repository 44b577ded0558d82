"""The commands on a system without POSIX's modules, such as Windows."""

import pkgutil
import subprocess
import sys
from pathlib import Path

import localgcl.system

WITHOUT = """
import sys
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None  # importing it raises ImportError
from localgcl.commands import main
"""
FAST = ["--dim", "16", "--num-features", "64", "--steps", "4", "--device", "cpu"]


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", WITHOUT + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_train_embed_and_evaluate(tmp_path: Path) -> None:
    folder, embeddings = str(tmp_path / "run"), str(tmp_path / "z.npy")
    commands = [["train", "digits", *FAST, "--out", folder], ["embed", folder, "-o", embeddings]]
    commands += [["evaluate", folder, "--splits", "1", "--no-baselines", "--protocol", "knn"]]
    printed = run(f"for command in {commands}:\n    assert main(command) == 0, command\n    print('=' * 9)")
    assert Path(embeddings).exists()
    assert "accuracy" in printed.split("=" * 9)[2].lower()


def test_modules_of_the_system_import() -> None:
    modules = [module.name for module in pkgutil.iter_modules(localgcl.system.__path__, "localgcl.system.")]
    assert {"localgcl.system.files", "localgcl.system.workers"} <= set(modules)
    run(f"import importlib\nfor module in {modules}:\n    importlib.import_module(module)")


def test_rows_are_appended(tmp_path: Path) -> None:
    code = """
import sys
sys.modules["fcntl"] = None
from pathlib import Path
from localgcl.system.files import RowFile
file = RowFile(Path(sys.argv[1]), ("a",))
file.append({"a": 1})
file.append({"a": 2})
print(file.rows())
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "rows.csv")], capture_output=True, text=True, check=True)
    assert done.stdout == "[{'a': '1'}, {'a': '2'}]\n"
