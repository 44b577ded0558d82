"""Chameleon and Squirrel without their duplicated nodes: npz files of plain arrays, with ten splits as masks."""

import functools
from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp
import torch

from localgcl.datasets.readers import Reader
from localgcl.datasets.storage import RawFile
from localgcl.graph import Graph, Split
from localgcl.io.numpy_files import read_npz

ADDRESS = "https://github.com/yandex-research/heterophilous-graphs/raw/main/data"


def read_heterophilous(contents: Mapping[str, bytes], file: str, name: str) -> Graph:
    """The undirected graph in `file`, whose list of edges names each of them once."""
    names = ("edges", "node_features", "node_labels", "train_masks", "val_masks", "test_masks")
    edges, x, y, *masks = read_npz(contents[file], file, names).values()
    if edges.ndim != 2 or edges.shape[1] != 2 or x.ndim != 2 or x.dtype.kind not in "biuf":
        raise ValueError(
            f"{file} has edges of shape {edges.shape} and features of shape {x.shape} and {x.dtype}; download it again"
        )
    if {mask.shape for mask in masks} != {(*masks[0].shape[:1], len(x))}:
        raise ValueError(f"{file} has masks of shapes {', '.join(str(mask.shape) for mask in masks)}; download it again")
    splits = []
    for k, parts_of_split in enumerate(zip(*masks, strict=True)):
        train, val, test = (torch.from_numpy(np.flatnonzero(mask)) for mask in parts_of_split)
        splits.append(Split(train, val, test, f"heterophilous-{k}"))
    return Graph.from_edges(edges[:, 0], edges[:, 1], x=sp.csr_array(x), y=y, splits=splits, name=name).symmetrized()


def _reader(name: str, file: str) -> Reader:
    raw = RawFile(f"heterophilous/raw/{file}", f"{ADDRESS}/{file}")
    return Reader((raw,), functools.partial(read_heterophilous, file=file, name=name))


GRAPHS = {
    "chameleon-filtered": _reader("chameleon-filtered", "chameleon_filtered.npz"),
    "squirrel-filtered": _reader("squirrel-filtered", "squirrel_filtered.npz"),
}
