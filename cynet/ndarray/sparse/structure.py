"""Structures of sparse arrays in NumPy: checked, sorted, joined; nothing here waits for values."""

import math

import numpy as np

from ...base.errors import ArgumentError, SizeError

product = math.prod  # of a shape: how many elements it has
MAX_ELEMENTS = 1 << 62  # int64 must index all elements


def row_of_each_element(indptr):
    """The row of each element of a csr matrix."""
    return np.repeat(np.arange(len(indptr) - 1, dtype=np.int64), np.diff(indptr))


def row_major_indices(indices, indptr, columns):
    """The row-major position of each element in the matrix, ascending."""
    if (len(indptr) - 1) * columns > MAX_ELEMENTS:
        raise ArgumentError(
            f"a csr matrix of {len(indptr) - 1} x {columns} has too many cells for this operator"
        )
    return row_of_each_element(indptr) * columns + indices


def csr_from_row_major(numbers, shape):
    """Indices and indptr of a matrix with elements at these row-major positions."""
    rows, indices = np.divmod(numbers, max(shape[1], 1))
    return indices, indptr_from_rows(rows, shape[0])


def indptr_from_rows(rows, n):
    """Return the index at which each of `n` rows begins, from the ascending rows of elements."""
    return np.searchsorted(rows, np.arange(n + 1, dtype=np.int64)).astype(np.int64)


def find_rows(rows, wanted):
    """Return the index of each of `wanted` in ascending `rows`, and whether it is there."""
    at = np.searchsorted(rows, wanted)
    if not len(rows):
        return at, np.zeros(len(wanted), bool)
    at = np.minimum(at, len(rows) - 1)
    return at, rows[at] == wanted


def _raise_error(kind, expected, found):
    raise ArgumentError(f"{kind}: expected {expected}, found {found}")


def _check_csr_lengths(indices, indptr, shape, nnz):
    if indptr.ndim != 1 or len(indptr) != shape[0] + 1:
        _raise_error("csr indptr", f"{shape[0] + 1} numbers, one more than rows", indptr.shape)
    if indices.ndim != 1 or len(indices) != nnz:
        _raise_error("csr indices", f"one for each of {nnz} values", f"shape {indices.shape}")
    if indptr[0] != 0 or indptr[-1] != nnz:
        _raise_error("csr indptr", f"0 at first, {nnz} at last", f"{indptr[0]} and {indptr[-1]}")


def check_element_count(what, shape):
    """Raise where an array of this shape has more elements than can be counted."""
    if product(shape) > MAX_ELEMENTS:
        raise SizeError(f"{what}: an array of shape {shape} has too many elements")


def check_bounds(kind, indices, n):
    """Raise unless all indices are from 0 to n - 1."""
    if len(indices) and (indices.min() < 0 or indices.max() >= n):
        wrong = indices.min() if indices.min() < 0 else indices.max()
        _raise_error(kind, f"numbers from 0 to {n - 1}", wrong)


def check_csr(indices, indptr, shape, nnz, full=True):
    """Raise unless the arrays form a csr matrix; without `full` indices are not checked."""
    _check_csr_lengths(indices, indptr, shape, nnz)
    if not full:
        return
    _check_index_bounds(indices, indptr, shape)
    falls = np.diff(indices) <= 0
    falls[indptr[1:-1][(indptr[1:-1] > 0) & (indptr[1:-1] < nnz)] - 1] = False
    if falls.any():
        at = int(np.flatnonzero(falls)[0])
        _raise_error("csr indices", "numbers that rise in each row", indices[at : at + 2].tolist())


def _check_index_bounds(indices, indptr, shape):
    if (np.diff(indptr) < 0).any():
        _raise_error("csr indptr", "numbers that do not fall", indptr[:9].tolist())
    check_bounds("csr indices", indices, shape[1])


def sorted_csr(indices, indptr, shape, nnz):
    """Return (indices sorted in each row, order of the values or None if they were sorted).

    Raises ArgumentError when it is no structure of a csr matrix, or an element is there twice.
    """
    _check_csr_lengths(indices, indptr, shape, nnz)
    _check_index_bounds(indices, indptr, shape)
    rows = row_of_each_element(indptr)
    same = np.diff(rows) == 0
    if not (np.diff(indices)[same] <= 0).any():
        return indices, None
    order = np.lexsort((indices, rows))
    indices = indices[order]
    twice = (np.diff(indices) == 0) & same
    if twice.any():
        at = int(np.flatnonzero(twice)[0])
        _raise_error(
            "csr indices", "each column of a row once", f"({rows[at]}, {indices[at]}) twice"
        )
    return indices, order


def check_row_indices(indices, shape, n, full=True):
    """Raise unless `indices` fit a row_sparse array of `shape` with `n` stored rows."""
    if indices.ndim != 1 or len(indices) != n:
        _raise_error("row_sparse indices", f"one for each of {n} rows", f"shape {indices.shape}")
    if full:
        check_bounds("row_sparse indices", indices, shape[0])
        falls = np.diff(indices) <= 0
        if falls.any():
            at = int(np.flatnonzero(falls)[0])
            _raise_error("row_sparse indices", "numbers that rise", indices[at : at + 2].tolist())


def sorted_rows(indices, shape, n):
    """Return (sorted row indices, order of the stored rows or None if they were sorted)."""
    check_row_indices(indices, shape, n, False)
    check_bounds("row_sparse indices", indices, shape[0])
    if not (np.diff(indices) <= 0).any():
        return indices, None
    order = np.argsort(indices, kind="stable")
    indices = indices[order]
    twice = np.diff(indices) == 0
    if twice.any():
        _raise_error("row_sparse indices", "each row once", f"{indices[:-1][twice][0]} twice")
    return indices, order
