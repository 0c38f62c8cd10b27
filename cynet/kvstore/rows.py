"""Rows of a stored value, for `KVStore.row_sparse_pull`."""

from __future__ import annotations

import numpy as np

from .._core.sparse_kind import dense_of
from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..ndarray import NDArray
from ..ndarray.sparse.arrays import RowSparseNDArray
from ..ndarray.sparse.convert import row_sparse_of_dense
from ..ndarray.sparse.functions import retain


def row_ids_per_output(outs, row_ids):
    """Return one array of row indices for each of the `outs` arrays to write."""
    if row_ids is None:
        raise ArgumentError("kvstore row_sparse_pull: 'row_ids' is missing: the rows to take")
    ids = list(row_ids) if isinstance(row_ids, (list, tuple)) else [row_ids]
    ids = [e for each in ids for e in (each if isinstance(each, (list, tuple)) else [each])]
    for each in ids:
        if not isinstance(each, NDArray):
            raise ArgumentTypeError(
                f"kvstore row_sparse_pull: row_ids are NDArrays, got {shown(each)}"
            )
    if len(ids) == 1:
        ids *= outs
    if len(ids) != outs:
        raise ArgumentError(
            f"kvstore row_sparse_pull: {outs} arrays to write to need one array of row_ids or as"
            f" many, got {len(ids)}"
        )
    return ids


def pull_rows(key, stored, out, ids):
    """Copy the rows of `stored` whose indices are in `ids` to the row_sparse array `out`."""
    if not isinstance(out, RowSparseNDArray):
        raise ArgumentError(
            f"kvstore row_sparse_pull: key {shown(key)}: 'out' must be a row_sparse array, got"
            f" storage type {shown(out.stype)}"
        )
    if stored.stype == "row_sparse":
        rows = retain(stored, ids)
    else:
        what = f"kvstore row_sparse_pull: key {shown(key)}: row_ids"
        wanted = np.unique(ids.asnumpy().astype(np.int64))
        rows = row_sparse_of_dense(what, dense_of(stored).detach(), wanted)
    rows.copyto(out)
