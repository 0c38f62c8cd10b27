"""Binary loops: picked by functor name, dtype and request when an operator is made."""

from .elementwise cimport Kernel

# loop == NULL when functors.h has no such functor in this table
cdef Kernel find_binary(const char* name, int dtype, bint add) noexcept nogil
