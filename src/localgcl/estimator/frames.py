"""Output of estimators as scikit-learn's `set_output` asks for it, with node ids as the index."""

from typing import Any

from numpy.typing import NDArray
from sklearn.utils._set_output import _get_output_config  # the only way to learn what `set_output` was told

Array = NDArray[Any]


def with_index(estimator: Any, z: Array, node_ids: Array) -> Any:
    """The embeddings `z` as they are, or as a pandas frame indexed by `node_ids` if the output of `estimator` is to be one.

    scikit-learn turns an array into a frame itself and names its columns, but it does not know the ids of nodes. It keeps the
    index of a frame.
    """
    if _get_output_config("transform", estimator)["dense"] != "pandas":
        return z
    import pandas as pd  # the user asked for it

    return pd.DataFrame(z, index=pd.Index(node_ids, name="node", tupleize_cols=False))
