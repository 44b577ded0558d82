"""`python -m tests.golden.compare [REVISION]`: this tree's embeddings beside those of a commit, bit for bit.

By default the last commit. Prints the cases that differ, with the largest difference; the exit code is 1 if there are any. Both
sides run on this machine: other processors and libraries round otherwise.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
RECORD = Path(__file__).with_name("record.py")


def recorded(tree: Path, file: Path) -> dict[str, np.ndarray]:
    """What `record` makes of the package in `tree`."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, str(RECORD), str(file)], check=True, env=environment, cwd=file.parent)
    with np.load(file) as arrays:
        return dict(arrays)


def differences(before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> dict[str, str]:
    """How cases differ, by name; those that are equal are left out."""
    found = {}
    for name in [*before, *(name for name in after if name not in before)]:
        if name not in before or name not in after:
            found[name] = "only there before" if name in before else "new"
        elif before[name].shape != after[name].shape:
            found[name] = f"shape {before[name].shape} became {after[name].shape}"
        elif not np.array_equal(before[name], after[name], equal_nan=True):
            found[name] = f"differs by up to {np.abs(before[name] - after[name]).max():.2g}"
    return found


def main(revision: str = "HEAD") -> int:
    """Records both sides and prints what differs."""
    with tempfile.TemporaryDirectory() as place:
        old = Path(place) / "old"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(old), revision], check=True, cwd=ROOT)
        try:
            before = recorded(old, Path(place) / "before.npz")
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(old)], check=True, cwd=ROOT)
        after = recorded(ROOT, Path(place) / "after.npz")
    found = differences(before, after)
    lines = [f"{name}: {how}" for name, how in found.items()]
    sys.stdout.write("\n".join([*lines, f"{len(after)} cases, {len(found)} differ from {revision}"]) + "\n")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
