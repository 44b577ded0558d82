"""What the published pickles hold is read; each attack on an unpickler is refused in one line."""

import os
import pickle
import pickletools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from localgcl.datasets.readers import planetoid
from localgcl.datasets.readers.planetoid import loads
from tests.datasets.python2 import (
    BUILD,
    REDUCE,
    array,
    csr_object,
    dtype,
    matrix,
    name,
    neighbours,
    number,
    pickled,
    several,
    text,
)

X = np.array([[0, 1.5, 0], [2, 0, 0]], dtype=np.float32)


def refused(body: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=f"evil.pkl cannot be read, .*{why}") as caught:
        loads(pickled(body), "evil.pkl")
    assert str(caught.value).isprintable()


# What is read


@pytest.mark.parametrize("kind", ["<i4", "<f4", "<i8", "<f8"])
@pytest.mark.parametrize("shape", [(6,), (2, 3), (0, 3)])
def test_arrays(kind: str, shape: tuple[int, ...]) -> None:
    values = np.resize(np.arange(6), shape).astype(kind)
    read = loads(pickled(array(values)), "a")
    assert isinstance(read, np.ndarray)
    assert read.dtype == values.dtype
    np.testing.assert_array_equal(read, values)


def test_matrices() -> None:
    read = loads(pickled(matrix(X)), "m")
    assert isinstance(read, sp.csr_array)
    np.testing.assert_array_equal(read.toarray(), X)


def test_dictionaries_of_lists() -> None:
    lists = {0: [1, 70_000], 300: [], 2: [0]}
    assert loads(pickled(neighbours(lists)), "g") == lists


def test_the_pickles_of_these_tests_are_pickles() -> None:
    """Python's own unpickler reads them too: they fail above for what they hold, not for how they are written."""
    for body in (matrix(X), array(X), neighbours({1: [2]})):
        assert [instruction.name for instruction, _, _ in pickletools.genops(pickled(body))][-1] == "STOP"
    assert pickle.loads(pickled(neighbours({1: [2]})), fix_imports=True) == {1: [2]}


# Attacks: commands


class Attack:
    """Runs a command when unpickled by a trusting reader."""

    def __init__(self, command: Any, argument: str) -> None:
        self.command, self.argument = command, argument

    def __reduce__(self) -> Any:
        return self.command, (self.argument,)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_a_pickle_that_would_run_a_command_does_not(protocol: int, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    content = pickle.dumps(Attack(os.mkdir, str(trace)), protocol=protocol)
    with pytest.raises(ValueError, match=r"evil cannot be read, .*(mkdir|KeyError, 149)"):
        loads(content, "evil")
    assert not trace.exists()
    pickle.loads(content)  # the attack works on a trusting reader: without this line the test could not fail
    assert trace.exists()


@pytest.mark.parametrize(
    "path", ["os system", "posix system", "builtins eval", "__builtin__ getattr", "numpy load", "numpy.ndarray __init__"]
)
def test_names_of_commands_are_refused(path: str) -> None:
    refused(name(*path.split(" ")) + several(text("true")) + REDUCE, f"the name '{path}', which no published file does")


# Attacks: state of classes and of what is shared


def test_the_attributes_of_a_class_cannot_be_set() -> None:
    """BUILD may write to the class: `csr_matrix.tocsr` would be another from then on, in the whole process."""
    state = b"}(" + text("tocsr") + number(7) + b"u"
    for known in planetoid._Unpickler.names:
        before = dict(vars(planetoid._Unpickler.names[known]))
        refused(name(*known.split(" ")) + state + BUILD, "TypeError")
        refused(name(*known.split(" ")) + several(b"N", state) + BUILD, "TypeError")
        assert vars(planetoid._Unpickler.names[known]) == before
    assert callable(sp.csr_matrix.tocsr)


@pytest.mark.parametrize("made", [neighbours({}), text("x"), several(), b"]", name("numpy", "ndarray") + b")" + REDUCE])
def test_a_state_is_given_only_to_what_waits_for_one(made: bytes) -> None:
    refused(made + b"}(" + text("x") + number(7) + b"u" + BUILD, "AttributeError|a state for something that has none")


# Attacks: arrays and types


def test_an_array_cannot_be_called_into_being() -> None:
    """`ndarray(shape, dtype, buffer, offset, strides)` reads memory that is not its own if strides are negative."""
    shape, strides = several(number(1000)), several(number(-8))
    refused(
        name("numpy", "ndarray") + several(shape, text("f8"), text(bytes(8)), number(0), strides) + REDUCE,
        "TypeError",
    )
    refused(name("numpy", "ndarray") + several(several(number(2**31 - 1), number(2**31 - 1))) + REDUCE, "TypeError")


@pytest.mark.parametrize("shape", [(2**31 - 1,), (2**31 - 1, 2**31 - 1), (7,), (0,), (-6,), (-2, -3), (2, 3, 1), ()])
def test_a_shape_must_be_that_of_the_values(shape: tuple[int, ...]) -> None:
    refused(array(np.arange(6, dtype=np.int32), shape=shape), "an array of another size than its values")


def test_an_empty_array_of_any_shape_cannot_be_asked_for() -> None:
    """`_reconstruct(ndarray, (10**9,), 'b')` reserves a gigabyte before there is a state."""
    body = name("numpy.core.multiarray", "_reconstruct") + several(name("numpy", "ndarray"), several(number(10**9)), text("b"))
    refused(body + REDUCE, "an array that is not empty at first")


@pytest.mark.parametrize("code", ["O8", "O", "V16", "S8", "U2", "c8", "m8", "f8,f8", "(1000000,1000000)f8", ""])
def test_types_other_than_numbers_are_refused(code: str) -> None:
    refused(name("numpy", "dtype") + several(text(code), number(0), number(1)) + REDUCE, "numbers of another type")


def test_a_type_cannot_be_turned_into_another_by_its_state() -> None:
    """The state of a type may name fields and sub-arrays, of which numpy makes types with objects in them."""
    fields = several(number(3), text("|"), b"N", several(text("a")), b"}", number(8), number(1), number(63))
    refused(name("numpy", "dtype") + several(text("f8"), number(0), number(1)) + REDUCE + fields + BUILD, "another byte order")
    refused(dtype("i4", ">"), "numbers of another byte order")


def test_values_must_be_bytes() -> None:
    objects = several(number(1), several(number(1)), dtype("i8"), b"\x89", b"](" + number(1) + b"e")
    body = array(np.zeros(1))
    start = body.index(REDUCE) + 1
    refused(body[:start] + objects + BUILD, "an array of other things than numbers")


# Attacks: matrices


def parts(**changed: bytes) -> dict[str, bytes]:
    sound = {"format": text("csr"), "_shape": several(number(3), number(3))}
    sound |= {"data": array(np.ones(3)), "indices": array(np.arange(3)), "indptr": array(np.arange(4))}
    return sound | changed


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"indptr": array([0, 10**9, 0, 3])}, "must rise from 0"),
        ({"indptr": array([0, 2, 1, 3])}, "must rise from 0"),
        ({"indices": array([0, 1, 3])}, "column indices run from 0 to 3"),
        ({"data": array(np.ones(2))}, r"values have shape \(2,\)"),
        ({"_shape": several(number(2**31 - 1), number(3))}, "4 row pointers"),
        ({"_shape": several(number(-1), number(3))}, "without its parts"),
        ({"indptr": number(5)}, "without its parts"),
        ({"format": text("coo")}, "of another format"),
    ],
)
def test_matrices_with_wrong_parts_are_refused(changed: dict[str, bytes], why: str) -> None:
    assert isinstance(loads(pickled(csr_object(parts())), "sound"), sp.csr_array)
    refused(csr_object(parts(**changed)), why)


def test_a_class_is_called_without_arguments() -> None:
    refused(name("scipy.sparse.csr", "csr_matrix") + several(several(number(10**9), number(1))) + b"\x81", "takes no arguments")


# Attacks: memory and the machine itself


def test_a_memo_of_any_number_costs_nothing() -> None:
    """Python's own unpickler reserves a table up to the largest number: 32 GiB here."""
    lists = neighbours({1: [2]})
    assert loads(pickled(lists + b"r" + (2**32 - 1).to_bytes(4, "little")), "g") == {1: [2]}


def test_lengths_are_compared_with_what_is_there() -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        loads(b"\x80\x02T" + (2**31 - 1).to_bytes(4, "little") + b"short.", "p")
    with pytest.raises(ValueError, match="cannot be read"):
        loads(b"\x80\x04\x8e" + (2**40).to_bytes(8, "little") + b"short.", "p")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"R", "IndexError"),
        (b"t", "IndexError"),
        (b"(N" + REDUCE, "IndexError"),
        (b"h\x05", "UnpicklingError"),
        (b"]" + text("x") + b"a", "neither an array nor a matrix nor a dictionary"),
        (b"}(" + b"]" + number(1) + b"u", "keys that are neither"),
        (b"}(" + number(1) + b"u", "IndexError"),
        (number(1), "neither an array nor a matrix nor a dictionary"),
        (name("numpy", "dtype"), "neither an array nor a matrix"),
        (b"(((((", "IndexError"),
        (b"Q", "KeyError, 81"),
        (b"\x82\x01", "KeyError, 130"),
    ],
)
def test_instructions_that_do_not_fit_are_refused(body: bytes, why: str) -> None:
    refused(body, why)


def test_deep_nesting_is_no_recursion() -> None:
    refused(b")" + b"\x85" * 5_000, "neither an array")
    refused(b"}()" + b"\x85" * 5_000 + b"Nu", "keys that are neither")
    refused(name("numpy", "dtype") + b")" + b"\x85" * 5_000 + REDUCE, "TypeError")


@pytest.mark.parametrize("content", [b"", b"not a pickle", b"\x80\x02}q", b"\x80\x02", b"\x80\x63N."])
def test_what_is_no_pickle_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="p cannot be read"):
        loads(content, "p")
