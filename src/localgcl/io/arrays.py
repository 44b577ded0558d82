"""Arrays of any kind as numpy arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor


def to_array(values: Any) -> NDArray[Any]:
    """A tensor on any device, an array, or a list as a numpy array."""
    return np.asarray(values.detach().cpu().numpy() if isinstance(values, Tensor) else values)
