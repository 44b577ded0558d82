"""Shared fixtures. Shapes in signatures are checked while tests run: the hook below must come before any localgcl import."""

import gc
import os
import pkgutil
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from jaxtyping import install_import_hook

from tests import signatures

ROOT = Path(__file__).parent.parent
UNPACK = ROOT.parent / "shared" / "data" / "unpack"


def _modules(package: str, without: str) -> list[str]:
    folder = ROOT / "src" / package.replace(".", "/")
    return [f"{package}.{module.name}" for module in pkgutil.iter_modules([str(folder)]) if module.name != without]


# Not the fused kernels: they are compiled from their source, which a checking wrapper hides.
install_import_hook(
    [*_modules("localgcl", without="ops"), *_modules("localgcl.ops", without="gpu"), "paper"],
    f"{signatures.__name__}.check",
)

if not torch.cuda.is_available():
    # Without a GPU the fused kernels are tested in Triton's interpreter, which has to be asked for before they are imported.
    os.environ.setdefault("TRITON_INTERPRET", "1")

# Test workers, and the processes that tests start, share the cores: threads of one that wait for threads of another cost more
# than they bring. Libraries read these variables when they are loaded, so the main process sets them for its workers.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_collection_finish() -> None:
    """Exempts what collecting has made from garbage collection: code under test calls gc.collect(), .2 s each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def graphs_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the raw benchmark files; tests that need it are skipped where they cannot be had.

    `LOCALGCL_HOME` names a folder that already holds them; else they are unpacked once, into a folder git ignores.
    """
    home = os.environ.get("LOCALGCL_HOME")
    if home and (Path(home) / "Cora" / "raw").is_dir():
        return Path(home)
    root = ROOT / ".data"
    if not (root / ".complete").exists():
        if not UNPACK.exists():
            pytest.skip("the benchmark graphs are not here: set LOCALGCL_HOME to a folder that holds their raw files")
        # Parallel test workers race here; each unpacks into its own folder and the first rename wins.
        mine = tmp_path_factory.mktemp("graphs")
        subprocess.run([UNPACK, mine], check=True)
        filtered = mine / "heterophilous" / "raw"
        filtered.mkdir(parents=True)
        for path in (UNPACK.parent / "development").glob("*_filtered.npz"):
            shutil.copyfile(path, filtered / path.name)
        (mine / ".complete").touch()
        try:
            mine.rename(root)
        except OSError:
            if not root.exists():  # another file system: a rename cannot cross it
                shutil.copytree(mine, root, dirs_exist_ok=True)
    return root
