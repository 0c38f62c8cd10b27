"""Sums of row_sparse arrays over ranks: only rows that at least one rank has are sent."""

import functools

import numpy as np

from ..base.dtype import name_of
from ..ndarray import zeros
from ..ndarray.sparse.arrays import make_sparse
from ..ndarray.sparse.convert import indices_to_ndarray, scatter_rows, sparse_zeros


def are_row_sparse(arrays):
    """Return whether all arrays of a key are row_sparse."""
    return all(each.stype == "row_sparse" for each in arrays)


def sum_row_sparse(key, arrays, rank, size, add):
    """Return the row_sparse sum of row_sparse arrays over this rank's devices and over all ranks.

    Ranks first exchange how many rows they have, then which, and then sum the values of all rows
    that one of them has.

    key: str or int
    arrays: list of RowSparseNDArray
    rank, size: int
    add (callable): ``add(what, array)`` sums a dense array over the ranks; `what` is the same on
        all.
    """
    own = functools.reduce(lambda a, b: a + b, arrays)
    values, (rows,) = own.parts()
    if size == 1:
        return own
    counts = np.zeros(size, np.int64)
    counts[rank] = len(rows)
    counts = add(f"{key}: how many rows", indices_to_ndarray(counts)).asnumpy()
    if not counts.any():
        return sparse_zeros("row_sparse", own.shape, values)
    begin = int(counts[:rank].sum())
    of_all_ranks = np.zeros(counts.sum(), np.int64)
    of_all_ranks[begin : begin + len(rows)] = rows
    union = np.unique(add(f"{key}: which rows", indices_to_ndarray(of_all_ranks)).asnumpy())
    if values.size:
        part = scatter_rows(values, np.searchsorted(union, rows), len(union))
    else:
        part = zeros((len(union), *own.shape[1:]), dtype=name_of(own.dtype))
    total = add(f"{key}: values of rows", part)
    return make_sparse("row_sparse", own.shape, total.astype(own.dtype, copy=False), union)
