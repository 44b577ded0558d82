import collections
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from localgcl.datasets.readers.planetoid import restricted_loads


class Attack:
    """Runs a command when unpickled by a trusting reader."""

    def __init__(self, command: Any, argument: str) -> None:
        self.command, self.argument = command, argument

    def __reduce__(self) -> Any:
        return self.command, (self.argument,)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_that_would_run_a_command_does_not(protocol: int, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    content = pickle.dumps({"x": Attack(os.mkdir, str(trace))}, protocol=protocol)
    with pytest.raises(ValueError, match=r"not a Planetoid file: it names .*mkdir.*delete it"):
        restricted_loads(content)
    assert not trace.exists()
    pickle.loads(content)  # the attack works on a trusting reader: without this line the test could not fail
    assert trace.exists()


@pytest.mark.parametrize("command", [eval, exec, __import__, getattr, bytearray], ids=lambda command: command.__name__)
def test_builtins_other_than_list_are_refused(command: Any) -> None:
    with pytest.raises(ValueError, match=f"it names .*{command.__name__}"):
        restricted_loads(pickle.dumps(Attack(command, "1")))


def test_a_hidden_attribute_of_an_allowed_module_is_refused() -> None:
    # In protocol 4 a dotted name reaches through what it names: that ndarray is allowed must not open its attributes.
    content = b"\x80\x04\x8c\x05numpy\x8c\x10ndarray.__init__\x93."
    with pytest.raises(ValueError, match=r"ndarray\.__init__"):
        restricted_loads(content)


@pytest.mark.parametrize("content", [b"", b"not a pickle", b"\x80\x02}q"], ids=["empty", "text", "truncated"])
def test_what_is_no_pickle_is_a_value_error(content: bytes) -> None:
    with pytest.raises(ValueError, match="not a Planetoid file"):
        restricted_loads(content)


def test_what_the_files_hold_is_read() -> None:
    matrix = sp.csr_matrix(np.eye(3, dtype=np.float32))
    # The published files are of python 2 and protocol 2; python 3 needs one more global to write bytes by that protocol,
    # so the matrix is written by a later one here.
    assert (restricted_loads(pickle.dumps(matrix, protocol=4)) != matrix).nnz == 0
    neighbours = collections.defaultdict(list, {0: [1, 2], 1: [0]})
    assert restricted_loads(pickle.dumps(neighbours, protocol=2)) == neighbours
