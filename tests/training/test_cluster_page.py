"""The commands of docs/cluster.md."""

import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from localgcl.commands import main
from localgcl.datasets import sbm
from localgcl.training import RunFolder
from tests.references.folders import stored
from tests.references.rank_workers import command, launch

PAGE = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text()


def block(section: str, number: int = 0) -> str:
    """A block of code of a section."""
    (text,) = re.findall(rf"^## {section}$(.*?)^## ", PAGE, re.DOTALL | re.MULTILINE)
    found: list[str] = re.findall(r"^```\w+\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return found[number]


def commands() -> list[str]:
    """Every call of localgcl on the page; its lines are joined."""
    return re.findall(r"localgcl ((?:train|embed) /shared[^\n]*)", PAGE.replace("\\\n", ""))


@pytest.mark.parametrize("shown", sorted(set(commands())))
def test_localgcl_reads_every_command(shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    """All options are known: what is missing are the folders."""
    assert main(shlex.split(shown)) == 1
    assert "/shared" in capsys.readouterr().err


def test_kubernetes_is_given_one_job_whose_workers_fit() -> None:
    job = yaml.safe_load(block("Kubernetes"))
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    cluster = job["spec"]["rayClusterSpec"]
    (group,) = cluster["workerGroupSpecs"]
    for pods in (cluster["headGroupSpec"], group):  # all see the folders at the same path
        (container,), (volume,) = (pods["template"]["spec"][name] for name in ("containers", "volumes"))
        assert container["volumeMounts"] == [{"name": volume["name"], "mountPath": "/shared"}]
    words = shlex.split(job["spec"]["entrypoint"])
    workers, threads = (int(words[words.index(name) + 1]) for name in ("--workers", "--threads"))
    (container,) = group["template"]["spec"]["containers"]
    assert workers * threads == group["replicas"] * int(container["resources"]["limits"]["cpu"])


def test_slurm_is_given_a_script_that_bash_reads() -> None:
    script = block("Slurm")
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    assert script.startswith("#!/bin/bash\n")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_machines_as_shown(tmp_path: Path) -> None:
    """The machines are two addresses of this one; the folders are in another place. What they run is what the page shows."""
    stored(sbm(600, features=10, seed=0), tmp_path / "graph")
    first, second, embedding = (block("Two machines", number) for number in range(3))
    both([first, second], tmp_path)
    run = RunFolder.open(tmp_path / "runs" / "mine")
    assert (run.made["ranks"], run.made["job"]) == (2, "mine-1")
    last = re.compile(r"^ +-m .*\n", re.MULTILINE)
    both([last.sub(embedding, shown).replace("mine-1", "mine-2") for shown in (first, second)], tmp_path)
    names = {f"part-{rank:05d}-of-00002.parquet" for rank in range(2)} | {"_SUCCESS"}
    assert {path.name for path in (tmp_path / "parts").iterdir()} == names

    # As two processes of one machine: two numbers have one sum.
    launch(2, command, "train", str(tmp_path / "graph"), "--out", str(tmp_path / "one"))
    assert run.weights.read_bytes() == (tmp_path / "one" / "weights.safetensors").read_bytes()


def both(shown: list[str], folder: Path) -> None:
    """Runs commands at the same time, and waits for them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    here = {"10.0.0.1": "127.0.0.1", "10.0.0.2": "127.0.0.2", "29500": str(port), "/shared": str(folder)}
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "OMP_NUM_THREADS": "1",
    }
    started = []
    for line in shown:
        for name, replacement in here.items():
            line = line.replace(name, replacement)
        started.append(subprocess.Popen(["bash", "-c", line], env=environment, stderr=subprocess.PIPE, text=True))
    errors = [process.communicate(timeout=300)[1] for process in started]
    assert [process.returncode for process in started] == [0, 0], errors
