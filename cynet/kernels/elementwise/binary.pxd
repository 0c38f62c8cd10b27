"""Binary loops: picked by functor name, dtype and request when an operator is made."""

from .elementwise cimport Kernel

# Raises MissingLoop when the table has no such functor for the dtype
cdef Kernel find_binary(const char* name, int dtype, bint add) except *
