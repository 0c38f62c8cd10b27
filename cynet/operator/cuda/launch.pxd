"""A GPU program: a fixed list of launches, which native code runs.

Each step takes its arguments from the tensors of the call, from temporary space, from the run's
random stream or from the operator itself, and has the requests for which it runs.
"""

from libc.stdint cimport int64_t, uint64_t

from ..._typedefs cimport TBlob
from ...cuda._device cimport LaunchFn, ReadFn, SizesFn, SpaceFn
from .._base cimport Operator, OpContext

cdef enum:
    MAX_ARGUMENTS = 24  # maximum number of arguments of one launch
    MAX_SPACES = 16     # maximum number of temporary spaces of one direction of an operator
    BLOCK_THREADS = 256         # threads of a block in launches over elements
    MAX_BLOCKS = 65536  # maximum number of blocks of such a launch

cdef enum ArgumentKind:  # where a kernel's argument comes from
    kIn = 0
    kOut = 1
    kOutGrad = 2
    kInGrad = 3
    kAux = 4
    kSpace = 5
    kValue = 6      # a number or a struct
    kAddend = 7     # int: whether the request of array `index` is to add
    kRandomStream = 8      # RandomStream: the random stream of resource `index`
    kConstant = 9   # device memory that the operator holds
    kSize = 10      # int64: elements of output `index`
    kBytes = 11     # int64: bytes of output `index`

cdef enum StepCondition:  # flags; a step runs if each flag that is set holds
    kIfWrite = 1
    kIfAdd = 2
    kIfTraining = 4
    kIfPredicting = 8

cdef struct Argument:  # one argument of a launch
    int kind
    int index
    int64_t offset  # bytes into the array, or into the program's values
    void* pointer   # kConstant
    int64_t nbytes  # kConstant, kSpace

cdef struct RandomStream:  # argument of kernels/random.cu
    uint64_t seed
    uint64_t stream
    const void* base

cdef struct Step:  # one launch, or one check
    void* kernel   # NULL: a check of the two int64 at `arguments[0]`
    int number     # index into the operator's kernels or messages
    unsigned grid[3]
    unsigned block[3]
    unsigned shared
    bint sized     # the grid follows from the size of the first output
    int dtype      # the step runs if that is the first output's DType; -1: always
    int n_arguments
    Argument arguments[MAX_ARGUMENTS]
    int first      # runs if one of the requests first .. first + n_targets - 1 is not null
    int n_targets  # 0: always
    int when

cdef struct Program:  # the steps of forward or of backward
    Step* steps
    int n_steps
    char* values
    int n_spaces
    size_t spaces[MAX_SPACES]  # bytes

cdef class DeviceOperator(Operator):  # runs a list of launches on a GPU
    cdef readonly object device
    cdef Program programs[2]   # forward, backward
    cdef LaunchFn launch
    cdef SpaceFn space
    cdef ReadFn read
    cdef SizesFn sizes
    cdef list kernels, held
    cdef readonly list messages
    cdef int run(self, int direction, OpContext* ctx, const TBlob* in_data, const TBlob* out_data,
                 const TBlob* out_grad, const TBlob* in_grad, const TBlob* aux_states,
                 const int* req) except -1 nogil
