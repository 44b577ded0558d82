"""Arrays of any kind as numpy arrays."""

from typing import Any

from numpy.typing import NDArray
from torch import Tensor

from localgcl.graph.arrays import as_array


def to_array(values: Any, what: str = "values") -> NDArray[Any]:
    """A tensor on any device, an array, or a list as a numpy array; `what` names them where some are masked."""
    return as_array(values.detach().cpu().numpy() if isinstance(values, Tensor) else values, what)
