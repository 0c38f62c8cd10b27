"""A program of noted calls becomes one function of the engine."""

from libc.stdint cimport int64_t, uint64_t

from ..._engine cimport VarHandle
from ..._ndarray cimport Chunk
from ...kernels.elementwise.elementwise cimport Kernel

cdef enum:
    MOST_ARRAYS = 48
    MOST_LINES = 64
    LEAST_COLUMNS = 16  # shorter rows take longer together than the memory that is spared

cdef enum Kind:     # how an array lies in the space of the program
    WHOLE = 0
    ONE = 1         # an array of one element, which all elements use
    LEADING = 2     # a row, for all rows
    TRAILING = 3    # an element for each row

cdef struct Noted:
    # An array of the program.
    Chunk* chunk     # a reference is held
    VarHandle var
    char* data       # NULL: nobody holds it, and its block was given back
    int64_t size
    int kind         # Kind
    int writes       # number of calls that write the array
    bint fresh       # the array held nothing before
    bint counted     # a caller relies on one write of the array
    # these fields are set when the program is pushed
    bint in_memory        # the array is seen outside of the program, or found no register
    bint used
    bint written     # the array is written by the lines that are pushed together
    int place        # among the arrays of the function, or -1
    int last         # the last line that reads or writes the array
    int cell         # register of the array, or -1
    uint64_t waits   # bits of the inputs that are not there yet, of which it is computed

cdef struct Line:
    # One loop.
    Kernel kernel
    int reads
    int operand[3]   # numbers of arrays; -1: the number
    int target
    int call         # number of the operator call that the line belongs to
    int work         # work of the call; only its first line has it
    bint more        # the line adds to the result of the line before
    char number[8]

cdef struct Program:
    int n_calls, n_arrays, n_lines
    bint shares      # two arrays have one variable
    int dtype
    int64_t count    # elements of an array
    int64_t columns  # elements of a row; 0: any number
    Noted arrays[MOST_ARRAYS]
    Line lines[MOST_LINES]

cdef long pushed_programs  # number of programs that were pushed so far
cdef long written_arrays   # number of arrays that pushed programs wrote
# Push it. It is empty before the GIL may be let go of: what other threads note then stays.
cdef int push_program(Program* program) except -1
