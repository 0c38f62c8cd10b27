"""Makes one engine function of a program of collected calls."""

from libc.stdint cimport int64_t, uint64_t

from ..._engine cimport VarHandle
from ..._ndarray cimport Chunk
from ...kernels.elementwise.elementwise cimport Kernel

cdef enum:
    MAX_ARRAYS = 48  # maximum number of arrays of a program
    MAX_LINES = 64  # maximum number of lines of a program
    MIN_COLUMNS = 16  # of rows; loops over shorter ones are too slow

cdef enum BroadcastKind:     # how an array broadcasts to the outputs
    WHOLE_ARRAY = 0  # as many elements as the outputs
    ONE_ELEMENT = 1         # one element, for all
    ONE_ROW = 2     # one row, for all rows
    ONE_COLUMN = 3    # one element for each row

cdef struct BulkArray:  # an array of a BulkProgram
    # An array of the program.
    Chunk* chunk     # a reference is held
    VarHandle var
    char* data       # NULL: its block was freed, as nobody holds the array
    int64_t size
    int kind         # Kind
    int writes       # number of calls that write the array
    bint fresh       # the array had no values before
    bint counted     # a caller relies on one write of the array
    # these fields are set when the program is pushed
    bint in_memory        # the array is used outside of the program, or has no register
    bint used
    bint written     # the array is written by the lines that are pushed together
    int place        # index in the arrays of the function, or -1
    int last         # the last line that reads or writes the array
    int cell         # register of the array, or -1
    uint64_t waits   # bits of the unfinished inputs on which it depends

cdef struct BulkLine:  # one loop of a BulkProgram
    # One loop.
    Kernel kernel
    int reads
    int operand[3]   # indices of arrays; -1: the constant `number`
    int target
    int call         # index of the operator call that the line belongs to
    int work         # cost of the call in its first line, else 0
    bint more        # the line adds to the result of the line before
    char number[8]

cdef struct BulkProgram:  # waiting elementwise calls, to be fused
    int n_calls, n_arrays, n_lines
    bint shares      # two arrays have one variable
    int dtype
    int64_t count    # elements of an array
    int64_t columns  # elements of a row; 0: any number
    BulkArray arrays[MAX_ARRAYS]
    BulkLine lines[MAX_LINES]

cdef long pushed_programs  # number of programs that were pushed so far
cdef long written_arrays   # number of arrays that pushed programs wrote
# Push it. It is empty before the GIL may be let go of: what other threads note then stays.
cdef int push_program(BulkProgram* program) except -1
