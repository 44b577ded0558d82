"""The loss of a batch: rectangular neighbourhoods, and rows that do not count."""

from typing import Any

import pytest
import torch
from torch import Tensor

from localgcl.graph.csr import CSR
from localgcl.losses import hard_log_sums
from localgcl.losses.local import local_contrastive, local_terms
from localgcl.nn.features import RandomFourier
from localgcl.ops import edge_dot
from tests.losses.problems import CLOSE, seeded, with_gradient
from tests.references.graphs import messy_graph, random_rows

TAU = 0.7
OWN, ALL = 5, 9  # rows of the batch, and rows with those that are only neighbours


def neighbours() -> CSR:
    """Five rows over nine columns; row 3 has no neighbour, row 4 names a neighbour twice and itself."""
    lists = [[1, 5, 8], [0, 6], [2, 7, 8], [], [4, 6, 6]]
    indptr = torch.tensor([0, *(len(row) for row in lists)]).cumsum(0)
    return CSR(indptr, torch.tensor([column for row in lists for column in row]), ALL)


def plain_loss(z: Tensor, csr: CSR, counted: list[int], *, include_self: bool = False) -> Tensor:
    """Eq. 5, term by term: anchors and negatives are the rows that count, positives any row of z."""
    u = torch.nn.functional.normalize(z)
    total = z.new_zeros(())
    for i in counted:
        positives = [j for j in csr.indices[csr.indptr[i] : csr.indptr[i + 1]].tolist() if j != i] + [i] * include_self
        if positives:
            total = total - torch.stack([u[i] @ u[j] / TAU for j in positives]).exp().mean().log()
        total = total + torch.stack([u[i] @ u[k] / TAU for k in counted]).exp().sum().log()
    return total / len(counted)


@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("counted", [None, [0, 1, 4]], ids=["all rows", "some rows"])
def test_equals_the_formula_over_rows_that_count(counted: list[int] | None, include_self: bool) -> None:
    csr, z = neighbours(), random_rows(ALL, 4)
    mask = None if counted is None else torch.zeros(OWN, dtype=torch.bool).index_fill(0, torch.tensor(counted), True)
    options: dict[str, Any] = {"temperature": TAU, "negatives": "exact", "include_self": include_self, "counted": mask}
    value, grad = with_gradient(lambda z: local_contrastive(z, csr, **options), z)
    rows = list(range(OWN)) if counted is None else counted
    expected, expected_grad = with_gradient(lambda z: plain_loss(z, csr, rows, include_self=include_self), z)
    torch.testing.assert_close(value, expected, **CLOSE)
    torch.testing.assert_close(grad, expected_grad, **CLOSE)


@pytest.mark.parametrize("positives", ["mean", "max", "weighted"])
@pytest.mark.parametrize("negatives", ["exact", "rff"])
def test_rows_that_do_not_count_might_as_well_not_be_there(positives: Any, negatives: str) -> None:
    """A batch of the first rows, once cut off and once masked: the same terms and the same gradient."""
    graph, z = messy_graph(), random_rows(12, 5)
    whole, half = graph.csr, 6
    cut = CSR(whole.indptr[: half + 1], whole.indices[: int(whole.indptr[half])], whole.num_columns)
    maker: Any = "exact" if negatives == "exact" else RandomFourier(64, fixed_seed=3)
    options: dict[str, Any] = {"temperature": TAU, "positives": positives, "negatives": maker}

    def loss(csr: CSR, counted: Tensor | None) -> tuple[Tensor, Tensor]:
        def value(z: Tensor) -> Tensor:
            terms = local_terms(z, csr, counted=counted, **options)
            return terms.positive + terms.negative

        return with_gradient(value, z)

    for ours, theirs in zip(loss(cut, None), loss(whole, torch.arange(12) < half), strict=True):
        torch.testing.assert_close(ours, theirs, **CLOSE)


def test_the_whole_graph_is_one_batch_of_all_rows() -> None:
    graph, z = messy_graph(), random_rows(12, 5)
    options: dict[str, Any] = {"temperature": TAU, "negatives": "exact"}
    plain = local_terms(z, graph, **options)
    for other in (local_terms(z, graph.csr, **options), local_terms(z, graph, counted=torch.ones(12).bool(), **options)):
        for ours, theirs in zip(plain, other, strict=True):
            torch.testing.assert_close(ours, theirs, **CLOSE)


def test_shares_are_of_rows_that_count() -> None:
    z = random_rows(ALL, 4)
    z[[0, 3, 7]] = 0  # row 3 does not count, row 7 is only a neighbour
    counted = torch.tensor([True, True, True, False, False])
    assert float(local_terms(z, neighbours(), counted=counted, negatives="exact").dead) == pytest.approx(1 / 3)


def test_one_row_of_z_for_each_column() -> None:
    with pytest.raises(ValueError, match="5 embeddings for 9 nodes; give one row per node"):
        local_terms(random_rows(OWN, 4), neighbours())


def test_dot_products_of_a_rectangle() -> None:
    csr, z = neighbours(), random_rows(ALL, 4).requires_grad_()
    torch.testing.assert_close(edge_dot(z, csr), (z @ z.T)[csr.rows, csr.indices])
    assert torch.autograd.gradcheck(lambda z: edge_dot(z, csr), z)


def test_hard_negatives_come_from_rows_with_neighbourhoods() -> None:
    csr, z = neighbours(), random_rows(ALL, 4).requires_grad_()
    found = hard_log_sums(z, csr, temperature=TAU, pool=ALL, selected=4, generator=seeded(0))
    assert found.shape == (OWN,)
    (grad,) = torch.autograd.grad(found[found.isfinite()].sum(), z)
    assert grad[:OWN].abs().sum() > 0
    assert torch.equal(grad[OWN:], torch.zeros(ALL - OWN, 4, dtype=z.dtype))  # rows that are only neighbours are no candidates
