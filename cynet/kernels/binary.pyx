"""Binary loops: the table of functors.h's binary functions, compiled here and nowhere else."""

from .dispatch cimport cpu_level
from .elementwise cimport Kernel


cdef extern from "binary_table.h" namespace "cynet" nogil:
    struct Row:
        pass
    const Row* binary_table
    Kernel find_kernel(...) noexcept


cdef Kernel find_binary(const char* name, int dtype, bint add) noexcept nogil:
    return find_kernel(binary_table, name, dtype, add, cpu_level())
