"""Small graphs in the formats of the publishers: four nodes, three features, two classes. For tests of their readers."""

import dataclasses
import gzip
import io
import zipfile
from collections.abc import Callable, Mapping
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp

from localgcl.datasets import READERS
from localgcl.datasets.catalogue import CATALOGUE
from localgcl.datasets.readers import planetoid, tables
from localgcl.datasets.storage import RawFile, archive_member
from localgcl.graph import Graph
from tests.datasets import python2
from tests.io.helpers import saved

Files = Mapping[str, bytes]

EDGES = np.array([[0, 1, 2, 3], [1, 2, 3, 3]])
ADJACENCY = sp.coo_array((np.ones(4), (EDGES[0], EDGES[1])), shape=(4, 4))
X = np.array([[1, 0, 0.5], [0, 2, 0], [0, 0, 0], [-1, 1e-3, 7]], dtype=np.float32)
Y = [0, 1, 1, 0]

MEMBER = RawFile("edge.csv.gz", "http://there/arxiv.zip", "arxiv/raw/edge.csv.gz")
"""A file that is published inside an archive."""


def read(name: str) -> Callable[[Files], Graph]:
    """The reader of a data set, told that the graph has four nodes and three features, and one node to validate on."""
    entry = {name: dataclasses.replace(CATALOGUE[name], nodes=4, features=3)}

    def small(contents: Files) -> Graph:
        with mock.patch.dict(CATALOGUE, entry), mock.patch.object(planetoid, "NUM_VALIDATION", 1):
            return READERS[name].graph(name, contents)

    return small


def cora() -> Files:
    one_hot = np.eye(2, dtype=np.int32)[[0, 1, 0]]
    parts = {
        "allx": python2.matrix(X[:3]),
        "tx": python2.matrix(X[3:]),
        "ally": python2.array(one_hot),
        "ty": python2.array(one_hot[:1]),
        "y": python2.array(one_hot[:1]),
        "graph": python2.neighbours({0: [1], 1: [0, 2], 2: [1, 3], 3: [2]}),
    }
    return {f"ind.cora.{kind}": python2.pickled(body) for kind, body in parts.items()} | {"ind.cora.test.index": b"3\n"}


def photo(**changed: Any) -> Files:
    """The file with some arrays in place of its own; None drops one."""
    parts: dict[str, Any] = {"adj": sp.csr_array(ADJACENCY), "attr": sp.csr_array(X)}
    keys = ("data", "indices", "indptr", "shape")
    arrays = {f"{part}_{key}": getattr(matrix, key) for part, matrix in parts.items() for key in keys}
    held = {**arrays, "labels": Y, **changed}
    return {"amazon_electronics_photo.npz": saved(np.savez, **{key: part for key, part in held.items() if part is not None})}


def _masks() -> dict[str, Any]:
    return {f"{part}_mask": np.eye(4, dtype=np.uint8)[i] for i, part in enumerate(("train", "val", "test"))}


def _geom_gcn(prefix: str, nodes: bytes) -> Files:
    splits = {f"{prefix}_split_0.6_0.2_{k}.npz": saved(np.savez, **_masks()) for k in range(10)}
    return {tables.NODES: nodes, tables.EDGES: b"node_id\tnode_id\n0\t1\n1\t2\n3\t3\n0\t1\n", **splits}


def chameleon() -> Files:
    return _geom_gcn("chameleon", b"node_id\tfeature\tlabel\n0\t1,0,0\t1\n2\t0,0,1\t0\n1\t1,1,1\t1\n3\t0,0,0\t0\n")


def actor() -> Files:
    return _geom_gcn("film", b"node_id\tfeature\tlabel\n0\t1,0,0\t1\n2\t2\t0\n1\t1,2\t1\n3\t0\t0\n")


def chameleon_filtered(**changed: Any) -> Files:
    """The file with some arrays in place of its own."""
    masks = {f"{key}s": np.stack([mask, mask[::-1]]) for key, mask in _masks().items()}
    arrays: dict[str, Any] = {"edges": EDGES.T, "node_features": X, "node_labels": Y, **masks}
    return {"chameleon_filtered.npz": saved(np.savez, **{**arrays, **changed})}


def arxiv() -> Files:
    texts = {"edge": b"0,1\n1,2\n3,3\n", "node-label": b"0\n1\n1\n0\n", "train": b"0\n", "valid": b"1\n", "test": b"2\n3\n"}
    texts["node-feat"] = b"0.5,1,-1\n0,0,0\n1,1e-3,3\n2,2,2\n"
    return {f"{name}.csv.gz": gzip.compress(text, mtime=0) for name, text in texts.items()}


def archive() -> Files:
    """The archive that holds `MEMBER`."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr(MEMBER.member, b"0,1\n" * 20)
        opened.writestr("arxiv/other", b"other")
    return {"arxiv.zip": buffer.getvalue()}


def read_member(contents: Files) -> bytes:
    return archive_member(contents["arxiv.zip"], MEMBER)


DATASETS: dict[str, Callable[[], Files]] = {
    "cora": cora,
    "photo": photo,
    "chameleon": chameleon,
    "actor": actor,
    "chameleon-filtered": chameleon_filtered,
    "arxiv": arxiv,
}
"""The files of one data set of each format, by name."""
