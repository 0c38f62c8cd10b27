"""Arithmetic and comparison operators of NDArray as C slots."""

from .._ndarray cimport NDArrayBase

# A key with NumPy arrays of bool in place of the masks in it: NDArrays of bool, and what
# comparisons gave. Raises where an array of floats could be a mask as well as numbers of rows.
cdef object with_masks(NDArrayBase array, object key)

cdef class NDArrayArithmetic(NDArrayBase):
    pass
