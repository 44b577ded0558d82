import contextlib
from collections.abc import Iterator

from jaxtyping import config


@contextlib.contextmanager
def unchecked() -> Iterator[None]:
    """While active, shapes in signatures are not checked, which takes half of the time of small training steps.

    For runs that repeat, with another seed or more steps, what has been checked before.
    """
    before = config.jaxtyping_disable
    config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        config.update("jaxtyping_disable", before)
