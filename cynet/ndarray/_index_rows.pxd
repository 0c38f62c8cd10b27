"""Indexing by integer arrays and masks: the indices of the rows that they select. A row spans the
axes after the last axis that an array indexes."""

cimport numpy as cnp

from .._ndarray cimport NDArrayBase

# True for ints, slices, None and ...; ArgumentTypeError where `item` is no index.
cdef bint is_basic_index(object item)

# True for ``:``, whose bounds may be arrays, which None does not compare with.
cdef bint is_full_slice(object item)

# The rows along the first axis that an int32 or int64 array on the host selects; None for another
# key, or if an index is out of bounds.
cdef NDArrayBase rows_by_array(NDArrayBase array, object key)  # None for another key

# Row indices for one array of ints along the first axis, in half the time of `rows_and_shape`;
# None if only that can compute them.
cdef cnp.ndarray indices_of_array(NDArrayBase array, object item)  # row indices

# Row indices for a tuple of int32 or int64 arrays of one shape on the host, which index the first
# axes.
cdef cnp.ndarray indices_of_arrays(NDArrayBase array, object key)  # row indices, or None

# (row indices in NumPy's order, shape of a row) for items that name every axis.
cdef tuple rows_and_shape(NDArrayBase array, tuple items)

# True for a NumPy array of bool.
cdef bint is_mask(object item)

# The elements that a mask with the shape of the array's first axes selects, both on the host; None
# for another key.
cdef NDArrayBase elements_by_mask(NDArrayBase array, object key)  # None for another key

# The key, with each mask as a NumPy array of bool.
cdef object resolve_masks(NDArrayBase array, object key)  # masks as NumPy arrays

# True for a bool or a mask without axes, and for a tuple with such an item.
cdef bint key_has_bool(object key)

# ``x[key]`` for a key with bools. For ``x[key] = value``, the key with a new axis instead of its
# bools; None if one is False, so that nothing is selected.
cdef object apply_bool_key(NDArrayBase array, object key)
cdef object key_without_bools(object key)  # a new axis instead
