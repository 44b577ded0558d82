"""That shapes in signatures are checked while tests run, and where they are not."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from jaxtyping import Float, TypeCheckError, jaxtyped
from torch import Tensor

from localgcl.training.steps import spread
from tests import signatures
from tests.unchecked import unchecked


def scaled(scale: float) -> Callable[..., Any]:
    @jaxtyped(typechecker=signatures.check)
    def product(x: Float[Tensor, "n d"], y: Float[Tensor, " d"], *, wrong: bool = False) -> Float[Tensor, " n"]:
        return scale * (x @ y)[: 2 if wrong else None]

    return product


def test_functions_of_the_package_are_checked() -> None:
    wrong: Any = torch.ones(3, 2, 2)
    for _ in range(2):
        with pytest.raises(TypeCheckError):
            spread(wrong)
        with unchecked():
            assert spread(wrong) == 0


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_a_check_that_was_compiled_before_is_as_strict(scale: float) -> None:
    first, known, second = scaled(scale), len(signatures.CHECKS), scaled(scale)
    assert len(signatures.CHECKS) == known
    for product in (first, second):
        assert product(torch.ones(3, 4), torch.ones(4)).tolist() == [4 * scale] * 3
        for wrong in (
            (torch.ones(3, 4), torch.ones(3)),
            (torch.ones(3, 4), torch.ones(4).long()),
            (torch.ones(3), torch.ones(3)),
        ):
            with pytest.raises(TypeCheckError):
                product(*wrong)
        with pytest.raises(TypeCheckError, match="return value"):
            product(torch.ones(3, 4), torch.ones(4), wrong=True)


def test_functions_of_one_name_have_their_own_checks() -> None:
    def taking(kind: type) -> Callable[..., Any]:
        @jaxtyped(typechecker=signatures.check)
        def take(value: kind) -> None:  # type: ignore[valid-type]
            del value

        return take

    taking(int)(1)
    taking(str)("1")
    for kind, value in ((int, "1"), (str, 1)):
        with pytest.raises(TypeCheckError):
            taking(kind)(value)
