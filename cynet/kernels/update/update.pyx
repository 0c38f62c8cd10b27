"""Loops of the optimizers' update rules (contract in update.pxd)."""

from libc.stdint cimport int64_t

from ..isa.dispatch cimport cpu_level, no_loop
from ..parallel cimport threads_for


cdef extern from "update/update.h" namespace "cynet" nogil:
    UpdateLoop find_update_loop(const char* name, int dtype, int master, int add,
                                int level) noexcept
    bint rule_rests(const char* name) noexcept


cdef bint update_rests(const char* rule) noexcept nogil:
    return rule_rests(rule)


cdef UpdateLoop find_update(const char* rule, int dtype, bint master, bint add) except NULL:
    cdef UpdateLoop loop = find_update_loop(rule, dtype, master, add, cpu_level())
    if loop == NULL:
        no_loop(rule, dtype)
    return loop


cdef void run_update(UpdateLoop loop, const UpdateParams* params, const UpdateArrays* arrays,
                     int64_t n) noexcept nogil:
    loop(threads_for(n), params[0], arrays[0], n)
