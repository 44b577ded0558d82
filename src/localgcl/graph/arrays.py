"""Arrays of users -> arrays that torch can read: native byte order, no negative strides, nothing masked."""

import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# torch warns that writing to a tensor of a read-only array is undefined. A Graph is never written to.
warnings.filterwarnings("ignore", message="The given NumPy array is not writable", category=UserWarning)


def as_array(values: Any, what: str = "values") -> Array:
    """The values as an array that torch can read, copied only where byte order or strides ask for it.

    Args:
        values: An array or anything numpy makes one of.
        what: What they are, for messages, in the plural.

    Raises:
        ValueError: Some entries are masked.
    """
    check_unmasked(values, what)
    array = np.asarray(values)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    # Not ascontiguousarray: to numpy an axis of length 1 is contiguous whatever its stride, to torch it is not.
    return array.copy() if any(stride < 0 for stride in array.strides) else array


_WIDEST = 64


def text_ids(texts: Array) -> Array:
    """Texts of dtype object as an array of fixed width; as they are if one has more than 64 characters.

    numpy gives every text the room of the longest, so one long name would cost its length for each node.
    """
    return texts if max(map(len, texts.tolist()), default=0) > _WIDEST else texts.astype(str)


def ids_memory(ids: Array) -> int:
    """Bytes of an array of ids. O(n)."""
    return ids.nbytes + (sum(map(sys.getsizeof, ids.tolist())) if ids.dtype == object else 0)


def check_unmasked(values: Any, what: str) -> None:
    """ValueError if `values` is an array with masked entries: numpy would silently use the numbers under the mask."""
    if isinstance(values, np.ma.MaskedArray) and (masked := int(np.ma.getmaskarray(values).sum())):
        raise ValueError(
            f"{what} have {masked:,} masked entries; fill them first, for example by .filled(0), or drop their rows"
        )


def is_frozen(array: Array) -> bool:
    """Whether nobody can write to the memory of the array, as with a file mapped read-only."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return False
        owner = owner.base
    return True
