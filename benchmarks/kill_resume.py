"""Kills training with SIGKILL at a random moment, resumes it in a fresh process, and compares with an undisturbed run.

    python -m benchmarks.kill_resume --times 50

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
SETTINGS = ["--dim", "64", "--num-features", "512", "--negatives", "sorf", "--steps", "40", "--checkpoint-every", "4"]


def digest(folder: Path) -> str:
    return hashlib.sha256((folder / "weights.safetensors").read_bytes()).hexdigest()


def killed(folder: Path, command: list[str], step: int, wait: float) -> bool:
    """Starts a run and kills it `wait` seconds after the checkpoint of `step`; False when it was faster than that."""
    process = subprocess.Popen([*command, "--out", str(folder)])
    while not list(folder.glob(f"checkpoint-{step:08d}-*")) and process.poll() is None:
        time.sleep(0.002)
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
        subprocess.run([*command, "--out", str(root / "whole")], check=True)
        whole = digest(root / "whole")
        same = cut = 0
        for index in range(options.times):
            folder = root / f"run-{index}"
            cut += killed(folder, command, dice.randrange(4, 36, 4), dice.uniform(0, 0.1))
            subprocess.run([*TRAIN, "--resume", "--out", str(folder)], check=True)
            same += digest(folder) == whole
            print(f"{index + 1}: {cut} killed in mid-training, {same} equal to the undisturbed run", flush=True)
    sys.exit(same != options.times)


if __name__ == "__main__":
    main()
