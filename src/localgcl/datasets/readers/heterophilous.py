"""Chameleon and Squirrel without their duplicated nodes: npz files of plain arrays, with ten splits as masks."""

import functools
import io
from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp
import torch

from localgcl.datasets.readers import Reader
from localgcl.datasets.storage import RawFile
from localgcl.graph import Graph, Split

ADDRESS = "https://github.com/yandex-research/heterophilous-graphs/raw/main/data"


def read_heterophilous(contents: Mapping[str, bytes], file: str, name: str) -> Graph:
    """The undirected graph in `file`, whose list of edges names each of them once."""
    with np.load(io.BytesIO(contents[file]), allow_pickle=False) as parts:
        source, target = parts["edges"].T
        x, y = sp.csr_array(parts["node_features"]), parts["node_labels"]
        masks = [parts[f"{part}_masks"] for part in ("train", "val", "test")]
    splits = []
    for k, parts_of_split in enumerate(zip(*masks, strict=True)):
        train, val, test = (torch.from_numpy(np.flatnonzero(mask)) for mask in parts_of_split)
        splits.append(Split(train, val, test, f"heterophilous-{k}"))
    return Graph.from_edges(source, target, x=x, y=y, splits=splits, name=name).symmetrized()


def _reader(name: str, file: str) -> Reader:
    raw = RawFile(f"heterophilous/raw/{file}", f"{ADDRESS}/{file}")
    return Reader((raw,), functools.partial(read_heterophilous, file=file, name=name))


GRAPHS = {
    "chameleon-filtered": _reader("chameleon-filtered", "chameleon_filtered.npz"),
    "squirrel-filtered": _reader("squirrel-filtered", "squirrel_filtered.npz"),
}
