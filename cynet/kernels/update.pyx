"""Loops of the optimizers' update rules (contract in update.pxd)."""

from libc.stdint cimport int64_t

from .dispatch cimport cpu_level
from .parallel cimport threads_for


cdef extern from "update.h" namespace "cynet" nogil:
    UpdateLoop find_update_loop(const char* name, int dtype, int master, int add,
                                int level) noexcept


cdef UpdateLoop find_update(const char* rule, int dtype, bint master, bint add) noexcept nogil:
    return find_update_loop(rule, dtype, master, add, cpu_level())


cdef void run_update(UpdateLoop loop, const UpdateParams* params, const UpdateArrays* arrays,
                     int64_t n) noexcept nogil:
    loop(threads_for(n), params[0], arrays[0], n)
