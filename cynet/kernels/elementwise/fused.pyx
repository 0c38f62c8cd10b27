"""Chains (contract in fused.pxd)."""

from ..isa.dispatch cimport cpu_level
from ..parallel cimport threads_for

cdef extern from "elementwise/fused_broadcast.h" namespace "cynet" nogil:
    void convert_at(int level) noexcept
    void run_fused_blocks(int threads, const FusedLoops& chain, void** arrays) noexcept


cdef void run_fused(const FusedLoops* chain, void** arrays) noexcept nogil:
    run_fused_blocks(threads_for(chain.rows * chain.columns * chain.work), chain[0], arrays)


convert_at(cpu_level())
