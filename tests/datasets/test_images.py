import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from localgcl.datasets import digits
from localgcl.datasets.readers import images


def test_features_are_pixels_from_zero_to_one() -> None:
    graph, published = digits(), load_digits()
    np.testing.assert_allclose(graph.x.numpy(), published.data / 16)
    assert graph.x.layout == torch.strided
    assert graph.y is not None
    assert graph.y.tolist() == published.target.tolist()


def test_edges_link_each_image_with_its_nearest() -> None:
    graph, k = digits(), images.NEIGHBOURS
    assert graph.is_symmetric
    assert not graph.loops.any()
    assert int(graph.degree.min()) >= k
    distances = torch.cdist(graph.x[:50], graph.x)
    for node in range(50):
        linked = graph.indices[graph.indptr[node] : graph.indptr[node + 1]]
        others = torch.ones(graph.num_nodes, dtype=torch.bool)
        others[linked] = others[node] = False
        kth = distances[node].sort().values[k]  # position 0 is the image itself
        assert bool((distances[node, others] >= kth - 1e-5).all())


def test_the_number_of_neighbours_is_the_smallest_that_connects(monkeypatch: pytest.MonkeyPatch) -> None:
    assert digits().summary()["components"] == 1
    monkeypatch.setattr(images, "NEIGHBOURS", images.NEIGHBOURS - 1)
    assert digits().summary()["components"] > 1
