"""Arithmetic and comparison operators of arrays as C slots. The array's Face, mx.nd's or mx.np's,
holds the functions that they call."""

from .._core.face cimport Face
from .._ndarray cimport NDArrayBase
from ..operator._base cimport OpEntry
from ._resolve cimport Call

cdef class CallCache:  # the last Calls of one operator
    # A cache of one function's last Calls, so that alternating shapes are not resolved again.
    cdef list values, calls
    cdef Py_ssize_t oldest

    cdef Call find_cached_call(self, object value, NDArrayBase lhs, NDArrayBase rhs)
    cdef int add_call(self, object value, Call call) except -1

cdef class OpSlot:  # a binary operator of one Face, with its last Calls
    # A binary operator of one Face: its entries in the registry, and the last Call of each.
    cdef Face face
    cdef str sign
    cdef tuple names
    cdef OpEntry same_entry, broadcast_entry, scalar_entry, reflected_entry
    cdef Call last_same, last_broadcast, last_scalar, last_reflected
    cdef object scalar, reflected  # the numbers in last_scalar, last_reflected
    cdef CallCache recent_same, recent_broadcast, recent_scalar, recent_reflected

    cdef NDArrayBase apply_to_arrays(self, NDArrayBase lhs, NDArrayBase rhs, NDArrayBase out)
    cdef NDArrayBase apply_to_scalar(self, NDArrayBase array, object value, NDArrayBase out)
    cdef NDArrayBase apply_reflected_scalar(self, NDArrayBase array, object value)
    cdef object apply(self, NDArrayBase array, object other, NDArrayBase out)
    cdef object apply_reflected(self, NDArrayBase array, object other)
    cdef object refuse_value(self, object other)
    # The Call for an array and a number that differs from the last one.
    cdef Call scalar_call(self, Call last, object before, OpEntry entry, NDArrayBase array,
                          object value)
    # Convert a NumPy operand to an array of the Face, or to a number.
    cdef object operand_from_numpy(self, NDArrayBase array, object other)
    # Return `out`; subclasses mark results of zeros and ones as masks.
    cdef NDArrayBase mark_mask_of_arrays(self, NDArrayBase out, NDArrayBase lhs, NDArrayBase rhs)
    cdef NDArrayBase mark_mask_of_scalar(self, NDArrayBase out)
    cdef NDArrayBase mark_mask_of_reflected(self, NDArrayBase out, NDArrayBase array, object value)

cdef class NDArrayArithmetic(NDArrayBase):
    pass
