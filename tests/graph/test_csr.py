"""Compressed sparse rows, square and rectangular, against dense matrices of counts."""

from typing import Any

import numpy as np
import pytest
import torch

from localgcl.graph.csr import CSR, sort_edges


def rectangular(rows: int = 4, columns: int = 7, entries: int = 15, seed: int = 0) -> CSR:
    """Random entries, some of them twice and some on the diagonal; row 2 is empty."""
    rng = np.random.default_rng(seed)
    row = rng.choice([i for i in range(rows) if i != 2], entries)
    column = rng.integers(columns, size=entries)
    row[0] = column[0] = 1
    order = np.lexsort((column, row))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows))])
    return CSR(torch.from_numpy(indptr), torch.from_numpy(column[order]), columns)


def dense(csr: CSR) -> Any:
    """How often each entry is stored."""
    counts = np.zeros((csr.num_rows, csr.num_columns), dtype=np.int64)
    np.add.at(counts, (csr.rows.numpy(), csr.indices.numpy()), 1)
    return counts


def sorted_rows(csr: CSR) -> bool:
    return all((np.diff(row) >= 0).all() for row in np.split(csr.indices.numpy(), csr.indptr[1:-1].numpy()))


@pytest.mark.parametrize("columns", [4, 7])
def test_rows_and_degrees_are_those_of_the_pointers(columns: int) -> None:
    csr = rectangular(columns=columns)
    assert csr.rows.tolist() == [i for i in range(csr.num_rows) for _ in range(int(csr.degree[i]))]
    assert csr.degree.tolist() == dense(csr).sum(1).tolist()


@pytest.mark.parametrize("columns", [4, 7])
def test_the_transpose_says_where_each_entry_came_from(columns: int) -> None:
    csr = rectangular(columns=columns)
    indptr, indices, order = csr.transposed
    turned = CSR(indptr, indices, csr.num_rows)
    np.testing.assert_array_equal(dense(turned), dense(csr).T)
    assert sorted_rows(turned)
    assert torch.equal(csr.rows[order], indices)
    assert torch.equal(csr.indices[order], turned.rows)


def test_a_rectangle_is_not_symmetric() -> None:
    assert not rectangular().is_symmetric
    assert sort_edges(torch.tensor([0, 1, 2]), torch.tensor([1, 0, 2]), 3).is_symmetric


@pytest.mark.parametrize("columns", [4, 7])
def test_loops_are_taken_out_and_put_in(columns: int) -> None:
    csr = rectangular(columns=columns)
    counts, diagonal = dense(csr), np.eye(csr.num_rows, csr.num_columns, dtype=np.int64)
    assert csr.has_loops
    bare = np.where(diagonal > 0, 0, counts)
    np.testing.assert_array_equal(dense(csr.without_loops), bare)
    np.testing.assert_array_equal(dense(csr.with_loops), bare + diagonal)
    assert sorted_rows(csr.with_loops)
    assert csr.without_loops.without_loops is csr.without_loops


def test_kept_entries_and_their_transpose_agree() -> None:
    csr = rectangular(entries=30)
    mask = torch.rand(csr.num_entries, generator=torch.Generator().manual_seed(1)) < 0.5
    kept = csr.keep(mask)
    fresh = CSR(kept.indptr, kept.indices, kept.num_columns)
    assert kept.num_entries == int(mask.sum())
    assert torch.equal(kept.rows, fresh.rows)
    for ours, theirs in zip(kept.transposed, fresh.transposed, strict=True):
        assert torch.equal(ours, theirs)
