"""Embeddings -> the plane: by UMAP where it is installed, else by two principal components."""

import typing
import warnings
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float32, Int32

from localgcl.evaluation.nearest_rows import Nearest
from localgcl.ops.rows import principal_directions

Kind = Literal["auto", "umap", "pca"]
KINDS: tuple[Kind, ...] = typing.get_args(Kind)
NEIGHBOURS = 15
"""Nearest nodes that UMAP reads."""
_LEAST = 5
"""Nodes that UMAP needs at least."""


def lay_out(
    z: Float32[np.ndarray, "n d"], near: Nearest, *, kind: Kind = "auto", seed: int = 0
) -> tuple[Float32[np.ndarray, "n 2"], str]:
    """Positions of nodes in the plane, and how they were found, in one sentence.

    UMAP starts from the two principal components and takes `near` instead of searching again; the same seed gives the same map.

    Args:
        z: Embeddings.
        near: Their nearest nodes.
        kind: "umap" (extra `viz`), "pca", or "auto": UMAP if it is installed.
        seed: Seed of UMAP.

    Raises:
        ImportError: UMAP was asked for and is not installed.
    """
    flat = principal(z, seed)
    if kind == "pca" or len(z) < _LEAST:
        return flat, "Two principal components of the unit rows."
    try:
        return _umap(flat, z, near, seed), (
            f"UMAP of {near.rows.shape[1]} nearest nodes by cosine (seed {seed}). Nodes side by side are alike; far-off "
            "groups are drawn nearer, so distances between groups mean little."
        )
    except ImportError as error:
        if kind == "umap":
            raise ImportError("a layout by UMAP needs: pip install 'localgcl[viz]'") from error
        return flat, "Two principal components of the unit rows: UMAP is not installed (pip install 'localgcl[viz]')."


def principal(z: Float32[np.ndarray, "n d"], seed: int) -> Float32[np.ndarray, "n 2"]:
    """The first two principal components of the unit rows."""
    unit = torch.nn.functional.normalize(torch.from_numpy(np.ascontiguousarray(z)))
    unit -= unit.mean(dim=0)
    two = principal_directions(unit, 2, generator=torch.Generator().manual_seed(seed))
    # Two nodes, or embeddings of one number, have fewer directions.
    two = torch.nn.functional.pad(two, (0, 2 - two.shape[1]))
    xy: Float32[np.ndarray, "n 2"] = (unit @ two).numpy()
    return xy


def _umap(
    flat: Float32[np.ndarray, "n 2"], z: Float32[np.ndarray, "n d"], near: Nearest, seed: int
) -> Float32[np.ndarray, "n 2"]:
    import umap  # type: ignore[import-untyped,unused-ignore]  # it ships no types

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a seed means one thread, and that new rows cannot be added: both are meant
        # Where fewer were found, the node itself stands in, at distance 0.
        own = np.arange(len(z), dtype=np.int32)[:, None]
        rows: Int32[np.ndarray, "n k"] = np.where(near.rows < 0, own, near.rows)
        distance = np.where(near.rows < 0, 0.0, 1.0 - near.similarity).astype(np.float32)
        places = np.concatenate([own, rows], axis=1)  # UMAP counts a node as its own nearest
        lengths = np.concatenate([np.zeros_like(own, dtype=np.float32), distance], axis=1)
        reducer = umap.UMAP(
            n_neighbors=places.shape[1],
            min_dist=0.25,  # nodes of a group lie side by side, and can be told apart
            metric="cosine",
            init=_spread(flat, seed),
            random_state=seed,
            precomputed_knn=(places, lengths),
            force_approximation_algorithm=True,  # below 4,096 rows UMAP would look for neighbours again
        )
        found: Float32[np.ndarray, "n 2"] = np.asarray(reducer.fit_transform(z), dtype=np.float32)
    # UMAP leaves out nodes that it cannot connect: they stay where they started.
    lost = ~np.isfinite(found).all(axis=1)
    found[lost] = _spread(flat, seed)[lost]
    return gathered(found)


def gathered(xy: Float32[np.ndarray, "n 2"]) -> Float32[np.ndarray, "n 2"]:
    """Pulls outliers in: beyond the 95% quantile, a distance from the median grows as its logarithm.

    UMAP pushes small components ever further away, and a picture that shows them all would show little of the rest.
    """
    middle = np.median(xy, axis=0)
    away = np.linalg.norm(xy - middle, axis=1, keepdims=True)
    usual = float(np.quantile(away, 0.95))
    if usual == 0:
        return xy
    factor = np.where(away > usual, usual * (1 + 0.5 * np.log(np.maximum(away, usual) / usual)) / np.maximum(away, usual), 1.0)
    nearer: Float32[np.ndarray, "n 2"] = (middle + (xy - middle) * factor).astype(np.float32)
    return nearer


def _spread(flat: Float32[np.ndarray, "n 2"], seed: int) -> Float32[np.ndarray, "n 2"]:
    """Initial positions for UMAP, at most 10 from the origin; a little noise separates nodes that coincide."""
    largest = float(np.abs(flat).max())
    scaled = 10.0 * flat / (largest or 1.0)
    noise = np.random.default_rng(seed).normal(scale=1e-4, size=flat.shape)
    start: Float32[np.ndarray, "n 2"] = (scaled + noise).astype(np.float32)
    return start
