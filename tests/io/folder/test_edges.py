"""Merging does not depend on where batches end."""

from collections.abc import Iterator

import numpy as np
import pytest

from localgcl.io.folder.edges import EdgeRun, Merging

SOURCE = np.array([0, 0, 0, 0, 1, 1, 2, 2, 2])
TARGET = np.array([1, 1, 1, 2, 0, 0, 0, 0, 0])
DIRECTION = np.array([0, 0, 1, 1, 0, 1, 0, 0, 1])
WEIGHT = np.array([0.1, 0.2, 3, 1, 3, 0.3, 0.1, 0.2, 0.7], dtype=np.float32)


def runs(size: int, *, weighted: bool) -> Iterator[EdgeRun]:
    columns = (SOURCE, TARGET, DIRECTION, WEIGHT) if weighted else (SOURCE, TARGET)
    whole = EdgeRun(*columns)
    return (whole.part(slice(start, start + size)) for start in range(0, len(SOURCE), size))


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_repeats_are_merged_across_batches(size: int) -> None:
    found = list(Merging(weighted=False).merged(runs(size, weighted=False)))
    assert np.concatenate([run.source for run in found]).tolist() == [0, 0, 1, 2]
    assert np.concatenate([run.target for run in found]).tolist() == [1, 2, 0, 0]


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_weights_are_summed_across_batches(size: int) -> None:
    merging = Merging(weighted=True)
    found = [run.weights for run in merging.merged(runs(size, weighted=True)) if run.weights is not None]
    # Repeats are summed to single precision first.
    third = np.float64(np.float32(np.float64(WEIGHT[0]) + WEIGHT[1]))
    expected = [third + 3, 1, 3 + np.float64(WEIGHT[5]), third + np.float64(WEIGHT[8])]
    np.testing.assert_array_equal(np.concatenate(found), expected)
    assert not merging.undirected


def test_nothing_to_merge() -> None:
    assert list(Merging(weighted=True).merged([])) == []
    empty = EdgeRun(SOURCE[:0], TARGET[:0])
    assert list(Merging(weighted=False).merged([empty, empty])) == []
