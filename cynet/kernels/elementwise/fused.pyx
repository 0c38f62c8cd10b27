"""Chains (contract in fused.pxd)."""

from ..isa.dispatch cimport cpu_level
from ..parallel cimport threads_for

cdef extern from "elementwise/fused_broadcast.h" namespace "cynet" nogil:
    void convert_at(int level) noexcept
    void run_chain_blocks(int threads, const Chain& chain, void** arrays) noexcept


cdef void run_chain(const Chain* chain, void** arrays) noexcept nogil:
    run_chain_blocks(threads_for(chain.rows * chain.columns * chain.work), chain[0], arrays)


convert_at(cpu_level())
