"""Sparse arrays for tests: random, or with given rows."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import ArgumentError, ShapeError, shown
from ..base.guard import guarded
from ..ndarray.sparse import csr_matrix, row_sparse_array
from ..ndarray.sparse.structure import csr_from_row_major
from .arrays import assign_each
from .compare import default_context, default_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..typing import Context, DTypeLike, NDArray, Shape

__all__ = ["create_sparse_array", "create_sparse_array_zd", "rand_sparse_ndarray"]
__all__ += ["shuffle_csr_column_indices"]


@guarded
def rand_sparse_ndarray(
    shape: Shape,
    stype: str,
    density: float | None = None,
    dtype: DTypeLike | None = None,
    distribution: str | None = None,
    data_init: float | None = None,
    rsp_indices: Sequence[int] | None = None,
    modifier_func: Callable[..., Any] | None = None,
    shuffle_csr_indices: bool = False,
    ctx: Context | None = None,
) -> tuple[NDArray, Any]:
    """Draw a random sparse array from ``numpy.random``; return it and its parts.

    Parameters
    ----------
    shape : tuple of int
    stype : str
        ``'csr'`` or ``'row_sparse'``.
    density : float, optional
        Share of elements (csr) or rows (row_sparse) that are not zero, about; random by default.
    dtype : numpy dtype, optional
        float32 by default.
    distribution : str, optional
        ``'uniform'``, or of csr ``'powerlaw'``: each row has twice the elements of the one before,
        until the density is reached.
    data_init : float, optional
        All values; random ones from -1 to 1 by default.
    rsp_indices : list of int, optional
        The rows of a row_sparse array.
    modifier_func : callable, optional
        Applied to each value.
    shuffle_csr_indices : bool
        Leave the columns of each row of a csr matrix in random order.
    ctx : Context, optional

    Returns
    -------
    (RowSparseNDArray, (values, indices)) or (CSRNDArray, (indptr, indices, values))
        The parts are NumPy arrays.

    Examples
    --------
    >>> array, (values, rows) = mx.test_utils.rand_sparse_ndarray((9, 2), "row_sparse", 0.5)
    >>> len(values) == len(rows) and array.stype
    'row_sparse'
    """
    if not isinstance(stype, str) or stype not in ("csr", "row_sparse"):
        raise ArgumentError(
            f"rand_sparse_ndarray: stype is 'csr' or 'row_sparse', got {shown(stype)}"
        )
    density = np.random.rand() if density is None else density
    if not 0 <= density <= 1:
        raise ArgumentError(f"rand_sparse_ndarray: density is from 0 to 1, got {shown(density)}")
    distribution = distribution or "uniform"
    ctx, dtype = ctx or default_context(), dtype or default_dtype()
    if stype == "row_sparse":
        if distribution != "uniform":
            raise ArgumentError(f"rand_sparse_ndarray: rows are 'uniform', got {distribution!r}")
        rows = np.flatnonzero(np.random.rand(shape[0]) < density)
        if rsp_indices is not None:
            rows = np.unique(np.asarray(rsp_indices, np.int64))
        values = _initial_values((len(rows), *shape[1:]), data_init, modifier_func, dtype)
        array = row_sparse_array((values, rows), shape=shape, dtype=dtype, ctx=ctx)
        return array, (values, rows)
    if len(shape) != 2:
        raise ShapeError(f"rand_sparse_ndarray: a csr matrix has two axes, got shape {shape}")
    if distribution == "uniform":
        keep = np.random.rand(*shape) < density
    elif distribution == "powerlaw":
        keep = _doubling_positions(shape, density)
    else:
        raise ArgumentError(
            f"rand_sparse_ndarray: distribution is 'uniform' or 'powerlaw', got {distribution!r}"
        )
    indices, indptr = csr_from_row_major(np.flatnonzero(keep), shape)
    values = _initial_values((len(indices),), data_init, modifier_func, dtype)
    array = csr_matrix((values, indices, indptr), shape=shape, dtype=dtype, ctx=ctx)
    if shuffle_csr_indices:
        indices = _shuffle_row_indices(indices, indptr)
        array = csr_matrix((values, indices, indptr), shape=shape, dtype=dtype, ctx=ctx)
    return array, (indptr, indices, values)


def _initial_values(shape, init, modifier, dtype):
    values = np.random.uniform(-1, 1, shape) if init is None else np.full(shape, init)
    return assign_each(values, modifier).astype(dtype)


def _doubling_positions(shape, density):
    """Return positions of elements: 1, 2, 4, ... elements in successive rows."""
    keep, left, n = np.zeros(shape, bool), int(density * shape[0] * shape[1]), 1
    for row in keep:
        count = min(n, left, shape[1])
        row[:count] = True
        left, n = left - count, 2 * n
    return keep


def _shuffle_row_indices(indices, indptr):
    indices = indices.copy()
    for begin, end in pairwise(indptr):
        np.random.shuffle(indices[begin:end])
    return indices


@guarded
def shuffle_csr_column_indices(csr: Any) -> None:
    """Shuffle the column indices of each row of a SciPy csr matrix in place.

    The values stay where they are.
    """
    csr.indices[:] = _shuffle_row_indices(csr.indices, csr.indptr)


@guarded
def create_sparse_array(
    shape: Shape,
    stype: str,
    data_init: float | None = None,
    rsp_indices: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    modifier_func: Callable[..., Any] | None = None,
    density: float = 0.5,
    shuffle_csr_indices: bool = False,
) -> NDArray:
    """Make the array of `rand_sparse_ndarray`, without its parts."""
    array, _ = rand_sparse_ndarray(
        shape,
        stype,
        density,
        dtype,
        data_init=data_init,
        rsp_indices=rsp_indices,
        modifier_func=modifier_func,
        shuffle_csr_indices=shuffle_csr_indices,
    )
    return array


@guarded
def create_sparse_array_zd(
    shape: Shape,
    stype: str,
    density: float,
    data_init: float | None = None,
    rsp_indices: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    modifier_func: Callable[..., Any] | None = None,
    shuffle_csr_indices: bool = False,
) -> NDArray:
    """Make a sparse array like `create_sparse_array`; with `density` 0 it stores no elements."""
    if density == 0:
        rsp_indices = None
    return create_sparse_array(
        shape, stype, data_init, rsp_indices, dtype, modifier_func, density, shuffle_csr_indices
    )


def random_sparse_array(shape, stype, density, dtype, modifier, shuffle, distribution, ctx):
    """Make the sparse array that `rand_ndarray` returns."""
    array, _ = rand_sparse_ndarray(
        shape,
        stype,
        density,
        dtype,
        distribution,
        modifier_func=modifier,
        shuffle_csr_indices=shuffle,
        ctx=ctx,
    )
    return array
