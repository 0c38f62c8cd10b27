"""Binary gradient loops: the table of functors.h's gradients, compiled here and nowhere else."""

from ..isa.dispatch cimport cpu_level, no_loop
from .elementwise cimport Kernel


cdef extern from "elementwise/binary_grad_table.h" namespace "cynet" nogil:
    struct Row:
        pass
    const Row* binary_grad_table
    Kernel find_kernel(...) noexcept


cdef Kernel find_binary_grad(const char* name, int dtype, bint add) except *:
    cdef Kernel found = find_kernel(binary_grad_table, name, dtype, add, cpu_level())
    if found.loop == NULL:
        no_loop(name, dtype)
    return found
