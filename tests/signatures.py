"""The type checker of the tests: beartype, which compiles the check of each signature once.

A function inside a function is made anew at each call, and beartype would compile its check each time: a third of the time of
small training steps. A check depends on the signature alone, so the first one serves them all.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any, get_args, get_origin

from beartype import BeartypeConf, beartype
from jaxtyping import AbstractArray

# An int is accepted where a float is declared, as type checkers do.
_beartyped = beartype(conf=BeartypeConf(is_pep484_tower=True))
CHECKS: dict[tuple[Any, ...], Callable[..., Any]] = {}


def check(function: FunctionType) -> Callable[..., Any]:
    """A function with the signature of `function`, an empty one made by jaxtyping, that raises if arguments do not fit it."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    kinds = code.co_posonlyargcount, code.co_argcount, code.co_flags, len(function.__defaults__ or ())
    annotations = tuple((name, _meaning(value)) for name, value in function.__annotations__.items())
    key = (function.__module__, function.__qualname__, names, kinds, tuple(function.__kwdefaults__ or ()), annotations)
    if key not in CHECKS:
        CHECKS[key] = _beartyped(function)
    return CHECKS[key]


def _meaning(annotation: Any) -> object:
    """Equal for annotations that say the same: each `Float[Tensor, "n d"]` is a class of its own."""
    if isinstance(annotation, type) and issubclass(annotation, AbstractArray):
        return annotation.dtypes, annotation.array_type, annotation.dim_str
    if isinstance(annotation, list):  # the arguments of a Callable
        return tuple(map(_meaning, annotation))
    if get_args(annotation):
        return get_origin(annotation), tuple(map(_meaning, get_args(annotation)))
    return annotation
