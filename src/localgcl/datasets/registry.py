"""READERS: how `load` reads each data set.

One assignment adds a data set of your own to `load` and to the command line, with or without an entry in the catalogue:

    READERS["mine"] = Reader((), lambda contents: lg.sbm(1000))

With raw files, give their checksums too: `RawFile("Mine/edges.csv", url, checksums=("sha256:...",))`.
"""

from localgcl.datasets.readers import Reader, geom_gcn, gnn_benchmark, heterophilous, images, ogb, planetoid

READERS: dict[str, Reader] = {
    **planetoid.GRAPHS,
    **gnn_benchmark.GRAPHS,
    **geom_gcn.GRAPHS,
    **heterophilous.GRAPHS,
    **ogb.GRAPHS,
    **images.GRAPHS,
}
"""The reader of each data set, by the name that `load` takes."""
