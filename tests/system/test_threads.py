import os
import subprocess
import sys

import pytest
import torch

from localgcl.system import threads
from localgcl.system.threads import reproducible, set_thread_defaults

NAMES = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable is set, 64 cores of which a container may use 3, and torch not yet imported."""
    for name in NAMES:
        monkeypatch.setenv(name, "")  # so that what a test sets is taken back after it
        monkeypatch.delenv(name)
    monkeypatch.setattr(threads, "allowed_cores", lambda: 64)
    monkeypatch.setattr(threads, "available_cores", lambda: 3)
    monkeypatch.delitem(sys.modules, "torch")


def variables() -> dict[str, str]:
    return {name: os.environ[name] for name in NAMES if name in os.environ}


def test_defaults() -> None:
    set_thread_defaults()
    assert variables() == {"GOMP_SPINCOUNT": str(threads.SPIN_COUNT), "OMP_NUM_THREADS": "3"}


def test_without_a_quota_torch_chooses_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "available_cores", lambda: 64)
    set_thread_defaults()
    assert variables() == {"GOMP_SPINCOUNT": str(threads.SPIN_COUNT)}


@pytest.mark.parametrize(
    ("name", "value", "others"),
    [
        ("GOMP_SPINCOUNT", "7", {"OMP_NUM_THREADS"}),
        ("OMP_WAIT_POLICY", "active", {"OMP_NUM_THREADS"}),
        ("OMP_NUM_THREADS", "5", {"GOMP_SPINCOUNT"}),
        ("MKL_NUM_THREADS", "5", {"GOMP_SPINCOUNT"}),
    ],
)
def test_what_the_user_has_set_is_kept(name: str, value: str, others: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    set_thread_defaults()
    assert variables()[name] == value
    assert set(variables()) == {name} | others


def test_nothing_is_set_once_torch_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch)
    set_thread_defaults()
    assert variables() == {}


def printed(*arguments: str, **environment: str) -> str:
    """What a fresh interpreter prints, without this process's variables."""
    inherited = {name: value for name, value in os.environ.items() if name not in NAMES}
    done = subprocess.run([sys.executable, *arguments], env=inherited | environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


SHOW = "import os; print(os.environ.get('GOMP_SPINCOUNT'))"


def test_importing_the_package_sets_them_and_imports_no_torch() -> None:
    code = f"import sys, localgcl; print('torch' in sys.modules); {SHOW}"
    assert printed("-c", code).split() == ["False", str(threads.SPIN_COUNT)]
    assert printed("-c", code, OMP_WAIT_POLICY="passive").split() == ["False", "None"]
    assert printed("-c", f"import torch, localgcl; {SHOW}") == "None"


@pytest.mark.parametrize("command", ["from localgcl.commands import main; main(['methods'])", "import runpy, sys; run()"])
def test_the_command_line_sets_them_before_torch_is_loaded(command: str) -> None:
    code = f"""
import importlib.abc, os, sys
class Watch(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "torch":
            print("torch finds", os.environ.get("GOMP_SPINCOUNT"))
            sys.exit()
sys.meta_path.insert(0, Watch())
def run():
    sys.argv = ["localgcl", "methods"]
    try:
        runpy.run_module("localgcl", run_name="__main__")
    except SystemExit:
        pass
{command}
"""
    assert f"torch finds {threads.SPIN_COUNT}" in printed("-c", code)


def test_openmp_reads_the_count() -> None:
    """GNU OpenMP prints its settings when it is loaded; other OpenMP libraries have no such setting."""
    code = "import localgcl, torch"
    inherited = {name: value for name, value in os.environ.items() if name not in NAMES} | {"OMP_DISPLAY_ENV": "verbose"}
    done = subprocess.run([sys.executable, "-c", code], env=inherited, capture_output=True, text=True, check=True)
    if "GOMP_SPINCOUNT" not in done.stderr:
        pytest.skip("torch does not use GNU OpenMP here")
    assert f"GOMP_SPINCOUNT = '{threads.SPIN_COUNT}'" in done.stderr


def settings() -> tuple[int, bool, str]:
    return torch.get_num_threads(), torch.are_deterministic_algorithms_enabled(), torch.get_float32_matmul_precision()


def test_settings_of_torch_are_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch)
    before = settings()

    def fail() -> None:
        with reproducible(before[0] + 1, deterministic=True, tf32=True):
            assert settings() == (before[0] + 1, True, "high")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert settings() == before
