"""Chains: elementwise loops that run over their arrays together, a block at a time."""

from libc.stdint cimport int64_t

from .elementwise cimport Kernel

cdef extern from "elementwise/fused.h" namespace "cynet" nogil:
    # a chain's space is rows x columns; strides are in elements, 0 or 1 along a row
    struct FusedOperand:
        int array      # index of the array; -1: a register; -2: a constant
        int index      # index of the register
        int column     # stride along a row
        int bytes      # bytes of an element
        int64_t row    # stride from row to row
        int64_t offset
        char number[8]
    enum FusedLoopKind:
        FUSED_KERNEL, FROM_UINT8, FROM_INT8, TO_UINT8, TO_INT8
        ARITHMETIC, FOLDED  # an instruction that computes; one that is merged into another
    struct FusedLoop:
        Kernel kernel
        int kind       # FusedLoopKind
        int reads      # operands: 1 F(a), 2 F(a, b), 3 a * F(b, c)
        int operand[3]
        int target
        int by_rows    # 1: an operand's rows are not contiguous
        int op         # this field and the next ones are 0 until plan_chain sets them
        int scaled[2]
        int first
        int n_steps
    struct FusedStep:
        int op
        int operand
        int scaled
        int ahead
    struct FusedLoops:
        int64_t rows
        int64_t columns
        int64_t block  # elements of a block, at most
        int64_t work   # cost of an element in simple operations
        int element    # bytes
        int n_loops
        const FusedLoop* loops
        const FusedOperand* operands
        const FusedStep* steps
    enum:
        FUSED_REGISTERS  # the maximum number
        FUSED_BYTES      # bytes of all registers together

# Makes of a chain's loops, operands, rows, columns and element what runs: lines of arithmetic that
# follow one another become one loop, so `loops` changes. `steps` holds up to three a loop, or is
# NULL: each line stays a loop. `registers`: how many there are.
cdef int plan_chain(FusedLoops* chain, FusedLoop* loops, FusedStep* steps,
                    int registers) noexcept nogil
# Runs all loops block by block; an operand is an index into `arrays`. Returns 1 for a NaN as
# integer.
cdef int run_fused_blocks(int threads, const FusedLoops* chain, void** arrays) noexcept nogil
