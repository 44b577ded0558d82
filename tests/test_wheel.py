import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

QUICKSTART = """
import localgcl as lg, sys
assert lg.__file__.startswith(sys.argv[1]), lg.__file__
graph = lg.load("digits")
z = lg.LocalGCL(dim=8, steps=1, device="cpu").fit_transform(graph)
assert lg.LocalGCL.from_recipe("cora").dim == 4096
print(z.shape)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # A copy, because building in the tree would leave build/ and an egg-info folder beside the sources.
    copy = folder / "tree"
    for name in ("src", "paper"):  # of which the second must stay out
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(copy)]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def test_it_is_pure_python_and_complete(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-any.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    files = [path for path in (ROOT / "src" / "localgcl").rglob("*") if path.suffix in (".py", ".toml", ".typed")]
    sources = {str(path.relative_to(ROOT / "src")) for path in files}
    assert sources <= names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"localgcl"}


def test_the_quickstart_runs_from_it(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), str(wheel)], check=True
    )
    code = f"import sys; sys.path.insert(0, {str(target)!r})\n{QUICKSTART}"
    done = subprocess.run([sys.executable, "-c", code, str(target)], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.strip() == "(1797, 8)"
