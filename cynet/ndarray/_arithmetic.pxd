"""Arithmetic and comparison operators of NDArray as C slots."""

from .._ndarray cimport NDArrayBase

cdef class NDArrayArithmetic(NDArrayBase):
    pass
