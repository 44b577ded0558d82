"""Kills training with SIGKILL at a random moment, resumes it in a fresh process, and compares with an undisturbed run.

    python benchmarks/kill_resume.py --times 50

Every run is a process of its own, in deterministic mode with the same number of threads. Prints how many of the resumed
runs have the weights of the undisturbed one, bit for bit; the exit code is 1 unless all have.
"""

import argparse
import hashlib
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TRAIN = [sys.executable, "-m", "localgcl", "train", "--quiet"]
SETTINGS = ["--dim", "64", "--num-features", "512", "--negatives", "sorf", "--steps", "60", "--checkpoint-every", "5"]


def digest(folder: Path) -> str:
    return hashlib.sha256((folder / "weights.safetensors").read_bytes()).hexdigest()


def killed(folder: Path, command: list[str], wait: float) -> bool:
    """Starts a run and kills it `wait` seconds after its first checkpoint; False when it was faster than that."""
    process = subprocess.Popen([*command, "--out", str(folder)])
    while not list(folder.glob("checkpoint-*")) and process.poll() is None:
        time.sleep(0.005)
    time.sleep(wait)
    process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    command = [*TRAIN, "digits", *SETTINGS, "--device", "cpu", "--deterministic", "--threads", str(options.threads)]
    dice = random.Random(0)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        started = time.perf_counter()
        subprocess.run([*command, "--out", str(root / "whole")], check=True)
        whole, duration = digest(root / "whole"), time.perf_counter() - started
        same = cut = 0
        for index in range(options.times):
            folder = root / f"run-{index}"
            cut += killed(folder, command, dice.uniform(0, duration / 4))
            subprocess.run([*TRAIN, "--resume", "--out", str(folder)], check=True)
            same += digest(folder) == whole
            print(f"{index + 1}: {cut} killed in mid-training, {same} equal to the undisturbed run", flush=True)
    sys.exit(same != options.times)


if __name__ == "__main__":
    main()
