"""Elementwise functions of two sparse arrays, by their sorted element indices."""

import numpy as np

from . import arrays, convert, structure


def element_indices(array):
    """Sorted flat indices of a csr matrix's stored elements, or indices of a row_sparse array's
    stored rows."""
    if array.stype == "csr":
        return structure.row_major_indices(array._indices, array._indptr, array.shape[1])
    return array._indices


def array_from_elements(cells, values, like):
    """A sparse array like `like` that stores `values` at the element indices `cells`."""
    if like.stype == "csr":
        return arrays.make_sparse(
            "csr", like.shape, values, *structure.csr_from_row_major(cells, like.shape)
        )
    return arrays.make_sparse("row_sparse", like.shape, values, cells)


def same_layout(lhs, rhs):
    """Return whether both arrays have one sparse storage type and one shape."""
    return lhs.stype == rhs.stype != "default" and lhs.shape == rhs.shape


def same_structure(lhs, rhs):
    """Return whether both arrays store the same elements."""
    return np.array_equal(lhs._indices, rhs._indices) and (
        lhs.stype != "csr" or np.array_equal(lhs._indptr, rhs._indptr)
    )


def apply_to_union(function, lhs, rhs):
    """Apply a function with f(0, 0) = 0 to the elements that either array stores."""
    if same_structure(lhs, rhs):
        return lhs._with_values(convert.apply_dense(function, lhs._values_array, rhs._values_array))
    of_lhs, of_rhs = element_indices(lhs), element_indices(rhs)
    cells = np.union1d(of_lhs, of_rhs)
    a, b = (
        convert.scatter_rows(array._values_array, np.searchsorted(cells, own), len(cells))
        for array, own in ((lhs, of_lhs), (rhs, of_rhs))
    )
    return array_from_elements(cells, convert.apply_dense(function, a, b), lhs)


def apply_to_intersection(function, lhs, rhs):
    """Apply a function with f(x, 0) = f(0, x) = 0 to the elements that both arrays store."""
    if same_structure(lhs, rhs):
        return lhs._with_values(convert.apply_dense(function, lhs._values_array, rhs._values_array))
    cells, a, b = np.intersect1d(element_indices(lhs), element_indices(rhs), True, True)
    if not len(cells):
        return convert.sparse_zeros(lhs.stype, lhs.shape, lhs._values_array)
    a, b = convert.take_rows(lhs._values_array, a), convert.take_rows(rhs._values_array, b)
    return array_from_elements(cells, convert.apply_dense(function, a, b), lhs)


def combine_with_dense(function, lhs, rhs):
    """`function` of a sparse array and a dense array broadcast to it, at the elements that the
    sparse array stores; None where the shapes do not broadcast."""
    if not lhs._values_array.size:
        return lhs if _broadcasts_to(rhs.shape, lhs.shape) and rhs.dtype == lhs.dtype else None
    if not _broadcasts_to(rhs.shape, lhs.shape):
        return None
    if lhs.stype == "row_sparse":
        if rhs.ndim == lhs.ndim and rhs.shape[0] != 1:
            rhs = convert.take_rows(rhs, lhs._indices)
        rhs = rhs.reshape((1,) * (lhs.ndim - rhs.ndim) + rhs.shape)
        return lhs._with_values(convert.apply_dense(function, lhs._values_array, rhs))
    indices = [structure.row_of_each_element(lhs._indptr), lhs._indices]
    axes = range(2 - rhs.ndim, 2)
    indices = [indices[k] if n != 1 else 0 * indices[k] for k, n in zip(axes, rhs.shape)]
    if not indices:
        return None
    picked = convert.call_op("gather_nd", rhs, convert.indices_to_ndarray(np.stack(indices)))
    return lhs._with_values(convert.apply_dense(function, lhs._values_array, picked))


def _broadcasts_to(shape, to):
    pairs = zip(shape[::-1], to[::-1])
    return len(shape) <= len(to) and all(n in (1, m) for n, m in pairs)
