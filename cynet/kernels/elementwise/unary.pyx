"""Unary loops: the table of functors.h's unary functions, compiled here and nowhere else."""

from ..isa.dispatch cimport cpu_level, no_loop
from .elementwise cimport Kernel


cdef extern from "elementwise/unary_table.h" namespace "cynet" nogil:
    struct Row:
        pass
    const Row* unary_table
    Kernel find_kernel(...) noexcept


cdef Kernel find_unary(const char* name, int dtype, bint add) except *:
    cdef Kernel found = find_kernel(unary_table, name, dtype, add, cpu_level())
    if found.loop == NULL:
        no_loop(name, dtype)
    return found
