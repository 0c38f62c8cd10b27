"""The rows that index arrays and masks pick, as numbers: rows are the axes after the last one that
an array indexes."""

cimport numpy as cnp

from .._ndarray cimport NDArrayBase

# True for ints, slices, None and ...; ArgumentTypeError where `item` is no index.
cdef bint is_basic(object item)

# True for ``:``, whose bounds may be arrays, which None does not compare with.
cdef bint is_whole(object item)

# Row numbers along the first axis by one array of ints within bounds; None: by `rows_by_number`. As
# it, in half the time.
cdef cnp.ndarray rows_of_one(NDArrayBase array, object item)

# The same by a tuple of arrays of int32 or int64 and of one shape on the host, one for each of the
# first axes.
cdef cnp.ndarray rows_of_many(NDArrayBase array, object key)

# (row numbers as NumPy picks them, sizes of one row) for items that name every axis.
cdef tuple rows_by_number(NDArrayBase array, tuple items)
