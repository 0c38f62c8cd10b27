"""Sparse arrays from dense ones and back, and rows of csr matrices."""

from typing import Any

import numpy as np

from ...base.dtype import name_of
from ...base.errors import ArgumentError
from ...operator import get_operator
from ...operator.checks.outside import report_out_of_range
from .._call import invoke
from .._tape import link_rows_to_graph
from ..creation import zeros as dense_zeros
from ..dlpack import from_numpy
from . import arrays, structure


def apply_dense(function, *inputs, **params):
    """Call a function of dense arrays on the device of the first array."""
    context = inputs[0].context
    if context.device_type == "gpu":  # indices are on the host
        inputs = tuple(each.as_in_context(context) for each in inputs)
    return function(*inputs, **params)


def call_op(name, *inputs, **params):
    """Call an operator of the registry on dense arrays, on the device of the first array."""
    return apply_dense(lambda *given: invoke(get_operator(name), given, params), *inputs)


def apply_to_values(entry, array, params):
    """Apply an elementwise operator to the values that a sparse array stores."""
    return array._with_values(invoke(entry, (array._values_array,), params))


def indices_to_ndarray(indices):
    """A NumPy array of indices as an int64 NDArray, which may share its memory."""
    indices = np.ascontiguousarray(indices, np.int64)
    return from_numpy(indices, zero_copy=indices.flags.writeable)


def take_rows(values, order):
    """Rows of `values` at the indices in `order`."""
    if not len(order):
        return zero_values(values, (0, *values.shape[1:]))
    return call_op("take", values, indices_to_ndarray(order.copy()))


def scatter_rows(values, order, n):
    """An array of `n` rows with `values` at the indices in `order`; the other rows are 0."""
    shape = (n, *values.shape[1:])
    if not len(order) or not values.size:
        return zero_values(values, shape)
    return call_op("scatter_nd", values, indices_to_ndarray(order[None].copy()), shape=shape)


def zero_values(like: Any, shape: Any) -> Any:
    """Zeros with the dtype and device of `like`."""
    return dense_zeros(shape, ctx=like.context, dtype=name_of(like.dtype))


def sparse_zeros(stype, shape, like):
    """A sparse array of zeros, of the dtype and device of the array `like`."""
    none = np.zeros(0, np.int64)
    if stype == "csr":
        indptr = np.zeros(shape[0] + 1, np.int64)
        return arrays.make_sparse("csr", shape, zero_values(like, (0,)), none, indptr)
    return arrays.make_sparse("row_sparse", shape, zero_values(like, (0, *shape[1:])), none)


def to_dense(array):
    """A canonical sparse array as a dense array."""
    values, shape = array._values_array, array.shape
    if not values.size:
        return zero_values(values, shape)
    if array.stype == "row_sparse":
        return scatter_rows(values, array._indices, shape[0])
    coordinates = np.stack([structure.row_of_each_element(array._indptr), array._indices])
    return call_op("scatter_nd", values, indices_to_ndarray(coordinates), shape=shape)


def from_dense(array, stype):
    """`array` as a csr or row_sparse array; waits for its values."""
    host, shape = array.asnumpy(), array.shape
    if stype == "csr":
        rows, indices = np.nonzero(host)
        if not len(rows):
            return sparse_zeros(stype, shape, array)
        values = call_op("gather_nd", array, indices_to_ndarray(np.stack([rows, indices])))
        indptr = structure.indptr_from_rows(rows, shape[0])
        return arrays.make_sparse(stype, shape, values, indices.astype(np.int64), indptr)
    rows = np.flatnonzero((host != 0).reshape(shape[0], -1).any(axis=1)) if host.size else ()
    if not len(rows):
        return sparse_zeros(stype, shape, array)
    return arrays.make_sparse(stype, shape, take_rows(array, rows), rows.astype(np.int64))


def slice_rows(matrix, begin, end):
    """Rows `begin` to `end` of a canonical csr matrix."""
    low, high = matrix._indptr[begin], matrix._indptr[end]
    indptr = matrix._indptr[begin : end + 1] - low
    if low == high:
        return sparse_zeros("csr", (end - begin, matrix.shape[1]), matrix._values_array)
    values = matrix._values_array[int(low) : int(high)].copy()
    shape = (end - begin, matrix.shape[1])
    return arrays.make_sparse("csr", shape, values, matrix._indices[low:high], indptr)


def rows_at_indices(matrix, rows):
    """The rows of a canonical csr matrix at the indices `rows`."""
    counts = np.diff(matrix._indptr)[rows]
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    positions = np.arange(indptr[-1]) + np.repeat(matrix._indptr[rows] - indptr[:-1], counts)
    values = take_rows(matrix._values_array, positions)
    shape = (len(rows), matrix.shape[1])
    return arrays.make_sparse("csr", shape, values, matrix._indices[positions], indptr)


def mask_elements(matrix, keep, indices=None, columns=None):
    """A canonical csr matrix without the elements for which `keep` is False; optionally with new
    column `indices`, out of `columns`."""
    indices = matrix._indices if indices is None else indices
    columns = matrix.shape[1] if columns is None else columns
    positions = np.flatnonzero(keep)
    before = np.concatenate([[0], np.cumsum(keep)]).astype(np.int64)
    shape = (matrix.shape[0], columns)
    values = take_rows(matrix._values_array, positions)
    return arrays.make_sparse("csr", shape, values, indices[positions], before[matrix._indptr])


def clipped_indices(prop, name, indices, n, tell=True, refuse=False):
    """An operator's array `indices` as NumPy's int64, clipped to 0 .. n - 1; an index outside is
    reported, or refused, as by the dense operator."""
    rows = indices.asnumpy()
    outside = rows[~((rows > -1) & (rows < n))]
    if outside.size and tell:
        report_out_of_range(prop, name, float(outside[0]), n, refuse=refuse)
    return np.clip(rows.astype(np.int64), 0, n - 1)


def row_sparse_of_dense(what, data, rows):
    """The rows of a dense array at ascending indices (NumPy) as a row_sparse array, linked to the
    graph entry of `data`. `what`: the indices' name in errors."""
    structure.check_bounds(what, rows, data.shape[0])
    values = take_rows(data.detach(), rows)
    return link_rows_to_graph(data, arrays.make_sparse("row_sparse", data.shape, values, rows))


def as_row_sparse(values: Any) -> Any:
    """A row_sparse array of all rows of a dense array, in the memory of that array."""
    return arrays.make_sparse("row_sparse", values.shape, values, np.arange(values.shape[0]))


def dense_for_update(array, copies):
    """Return a dense array that an update changes in place of a sparse one. Where rows are
    missing it is a copy, and (array, copy) is added to `copies`, to be written back."""
    if isinstance(array, (tuple, list)):
        return tuple(dense_for_update(each, copies) for each in array)
    if array is None or array.stype == "default":
        return array
    if array.stype == "row_sparse" and len(array.parts()[1][0]) == array.shape[0]:
        return array.parts()[0]
    copies.append((array, array.tostype("default")))
    return copies[-1][1]


def values_of_all_rows(array):
    """The values of a row_sparse array with all rows, to be changed in place; dense arrays, tuples
    of arrays and None are returned unchanged.

    Raises ArgumentError: a row is missing, so that there is no memory for its new values.
    """
    if isinstance(array, (tuple, list)):
        return tuple(map(values_of_all_rows, array))
    if array is None or array.stype == "default":
        return array
    values, index = array.parts()
    if array.stype != "row_sparse" or len(index[0]) != array.shape[0]:
        raise ArgumentError(
            f"update: a weight or state that is {array.stype} of shape {array.shape} has values for"
            f" {len(index[-1])} rows; expected a dense array, or a row_sparse one with all rows"
        )
    return values
