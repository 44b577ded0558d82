"""The node ids of a graph that is stored: looked up and read a group at a time, so that they need not fit in memory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from numpy.typing import NDArray

from localgcl.graph import Graph
from localgcl.graph.stored import FolderError, Header
from localgcl.io.ids import Ids, plain, same_type

Array = NDArray[Any]


class StoredIds(NamedTuple):
    """Ids of nodes in order, in groups.

    Args:
        num_nodes: Number of nodes.
        sizes: Number of ids in each group; none where the ids are 0, 1, 2... in order.
        read: Gives a group by its number.
        kind: pyarrow's type of the ids.
    """

    num_nodes: int
    sizes: tuple[int, ...]
    read: Callable[[int], Ids]
    kind: Any

    @classmethod
    def of_graph(cls, graph: Graph) -> "StoredIds":
        """The ids of a graph in memory. Those that are neither integers nor text are taken as text."""
        names, n = graph.node_ids, graph.num_nodes
        if names.dtype.kind in "iu":
            if np.array_equal(names, np.arange(n)):
                return cls._numbered(n)
            ids = pa.array(names.astype(np.int64))
        else:
            ids = pa.array([str(name) for name in names.tolist()], pa.large_string())
        return cls(n, (n,), lambda _: ids, ids.type)

    @classmethod
    def of_folder(cls, folder: Path, header: Header) -> "StoredIds":
        """The ids of a graph folder, which stay on disk."""
        if "ids.parquet" not in header.files:
            return cls._numbered(header.nodes)
        file = pyarrow.parquet.ParquetFile(folder / "ids.parquet")
        sizes = tuple(file.metadata.row_group(group).num_rows for group in range(file.num_row_groups))
        if sum(sizes) != header.nodes:
            raise FolderError(
                f"{folder / 'ids.parquet'} has {sum(sizes)} ids for {header.nodes} nodes; run localgcl convert again"
            )
        integers = pa.types.is_integer(file.schema_arrow.field("id").type)

        def read(group: int) -> Ids:
            return plain(file.read_row_group(group, columns=["id"]).column(0))

        return cls(header.nodes, sizes, read, pa.int64() if integers else pa.large_string())

    @classmethod
    def _numbered(cls, count: int) -> "StoredIds":
        return cls(count, (), lambda _: pa.array([], pa.int64()), pa.int64())

    @property
    def numbered(self) -> bool:
        """Whether the ids are 0, 1, 2... in order."""
        return not self.sizes

    def find(self, wanted: Ids) -> Array:
        """Position of the node of each id, -1 where there is none. One pass over the ids; none where they are 0, 1, 2..."""
        if self.numbered:
            return _numbers(wanted, self.num_nodes)
        found = np.full(len(wanted), -1, dtype=np.int64)
        before = 0
        for group, size in enumerate(self.sizes):
            looked_for, here = same_type([wanted, self.read(group)])
            place = pc.index_in(looked_for, value_set=here)
            there = ~place.is_null().to_numpy(zero_copy_only=False)
            found[there] = before + place.drop_null().to_numpy()
            before += size
        return found

    def take(self, nodes: Array) -> Ids:
        """The ids of some nodes, whose positions increase. Groups without any of them are not read."""
        if self.numbered:
            return pa.array(nodes)
        ends = np.cumsum(self.sizes)
        taken = [pa.array([], self.kind)]
        for group in np.unique(np.searchsorted(ends, nodes, side="right")).tolist():
            first = int(ends[group]) - self.sizes[group]
            here = nodes[(nodes >= first) & (nodes < ends[group])] - first
            taken.append(self.read(group).take(pa.array(here)))
        return pa.concat_arrays(taken)


def _numbers(ids: Ids, count: int) -> Array:
    """Ids as positions below `count`; -1 for all others, such as the text "07", which no integer reads as."""
    if not pa.types.is_int64(ids.type):
        texts = ids.to_pylist()
        # Not isdigit: other scripts have digits, too.
        numbers = [int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else -1 for text in texts]
        return _within(np.array([n if str(n) == text else -1 for n, text in zip(numbers, texts, strict=True)], np.int64), count)
    return _within(ids.to_numpy(), count)


def _within(numbers: Array, count: int) -> Array:
    return np.where((numbers >= 0) & (numbers < count), numbers, -1)
