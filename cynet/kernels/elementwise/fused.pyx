"""Runs chains (contract in fused.pxd)."""

from ..._typedefs cimport kFloat32, kFloat64
from ..isa.dispatch cimport cpu_level
from ..table cimport find_binary, find_unary
from .elementwise cimport Kernel

cdef enum:
    BLOCK_ELEMENTS = 1024  # elements of a block, at most
    LONG_BLOCK_ELEMENTS = 4096  # of a block where one loop computes all lines

cdef long joined_line_count = 0  # loops saved by joining, for tests

cdef extern from "elementwise/fused_broadcast.h" namespace "cynet" nogil:
    enum:
        PLUS, MINUS, TIMES, OVER, NEGATIVE, SQUARE, RELU
    void set_convert_level(int level) noexcept
    void set_arithmetic_loop(int op, const Kernel& kernel) noexcept
    int run "cynet::run_fused_blocks" (int threads, const FusedLoops& chain, void** arrays) noexcept
    void join_arithmetic(FusedLoops* chain, FusedLoop* loops, FusedStep* steps) noexcept


cdef int run_fused_blocks(int threads, const FusedLoops* chain, void** arrays) noexcept nogil:
    return run(threads, chain[0], arrays)


cdef int plan_chain(FusedLoops* chain, FusedLoop* loops, FusedStep* steps,
                    int registers) noexcept nogil:
    global joined_line_count
    cdef int most = BLOCK_ELEMENTS, before = chain.n_loops
    chain.loops = loops
    if steps != NULL:
        join_arithmetic(chain, loops, steps)
        joined_line_count += before - chain.n_loops
    if chain.n_loops == 1 and loops[0].kind == ARITHMETIC:
        most = LONG_BLOCK_ELEMENTS  # one loop computes all lines, vector by vector
    chain.block = min(most, FUSED_BYTES // max(registers, 1) // chain.element // 64 * 64)
    return 0


def count_joined_lines():
    """Return the number of loops saved by joining so far, for tests."""
    return joined_line_count


cdef int _register_arithmetic() except -1:
    cdef int dtype
    for dtype in (kFloat32, kFloat64):
        set_arithmetic_loop(PLUS, find_binary(b"plus", dtype, False))
        set_arithmetic_loop(MINUS, find_binary(b"minus", dtype, False))
        set_arithmetic_loop(TIMES, find_binary(b"mul", dtype, False))
        set_arithmetic_loop(OVER, find_binary(b"div", dtype, False))
        set_arithmetic_loop(NEGATIVE, find_unary(b"negative", dtype, False))
        set_arithmetic_loop(SQUARE, find_unary(b"square", dtype, False))
        set_arithmetic_loop(RELU, find_unary(b"relu", dtype, False))
    return 0


set_convert_level(cpu_level())
_register_arithmetic()
