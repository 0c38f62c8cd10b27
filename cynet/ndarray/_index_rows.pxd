"""What index arrays and masks pick: rows by their indices, or what a mask marks. A row spans the
axes after the last axis that an array indexes."""

cimport numpy as cnp

from .._ndarray cimport NDArrayBase

# True for ints, slices, None and ...; ArgumentTypeError where `item` is no index.
cdef bint is_basic(object item)

# True for ``:``, whose bounds may be arrays, which None does not compare with.
cdef bint is_whole(object item)

# The rows along the first axis that one array of int32 or int64 on the host picks; None: another
# key, or not all of it is within bounds.
cdef NDArrayBase by_numbers(NDArrayBase array, object key)

# Row indices along the first axis by one array of ints within bounds; None: by `rows_by_number`. As
# it, in half the time.
cdef cnp.ndarray rows_of_one(NDArrayBase array, object item)

# Row indices by a tuple of arrays of int32 or int64 and of one shape on the host, one for each of
# the first axes.
cdef cnp.ndarray rows_of_many(NDArrayBase array, object key)

# (row indices as NumPy picks them, sizes of one row) for items that name every axis.
cdef tuple rows_by_number(NDArrayBase array, tuple items)

# A NumPy array of bool.
cdef bint is_mask(object item)

# The elements that one mask of the shape of array's first axes picks, both on the host; None: the
# key is another one.
cdef NDArrayBase by_mask(NDArrayBase array, object key)

# A key with NumPy arrays of bool in place of the masks in it.
cdef object with_masks(NDArrayBase array, object key)

# A bool or a mask without axes, or one of them among others.
cdef bint has_truth(object key)

# ``x[key]`` of such a key; and, for ``x[key] = value``, the key in which they are new axes, as in
# NumPy; None where one of them is False, so that nothing is picked.
cdef object with_truths(NDArrayBase array, object key)
cdef object without_truths(object key)
