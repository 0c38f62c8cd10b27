"""The table of kernels: the C++ functions of the files ``kernels/FAMILY/NAME.cc``, by name.

All these files are parts of this one module. `kernel.h` says what a kernel is. Loops over functors,
reductions and update rules are found by the name of what they compute. All raise MissingLoop where
there is nothing of that name for the dtype.
"""

from libc.stdint cimport int64_t, uint64_t
from libcpp.vector cimport vector

from .elementwise.elementwise cimport Kernel as Functor
from .reduce.reduce cimport ReduceLoop
from .update.update cimport UpdateLoop

cdef extern from "kernel.h" namespace "cynet" nogil:
    int MAX_TENSORS
    struct Blob:
        void* data
        int64_t size
        int dtype
    cppclass FirstIndex:
        int64_t place() noexcept  # lowest recorded index, or -1
        vector[double] values
    cppclass Failure(FirstIndex):  # the index at which the run failed
        FirstIndex noted  # a value that the user is to be warned of
    struct Args:
        const Blob** in_ "in"
        const Blob** out
        bint* wanted
        bint* add
        const void* params
        int threads, level
        bint training
        void* space
        Failure* failure
        uint64_t seed, stream
        uint64_t* rows
        bint rows_known
    ctypedef void (*KernelFunction)(const Args& args) noexcept
    ctypedef int64_t (*SpaceFunction)(const Args& args) noexcept

cdef class Kernel:  # a compiled kernel with its parameters
    # A kernel for one dtype at the CPU's level, and its parameters.
    cdef KernelFunction run
    cdef SpaceFunction space  # bytes of workspace; NULL if it needs none
    cdef int cost  # simple operations for each element of the largest tensor
    cdef const void* params
    cdef readonly tuple names  # names of the parameters
    cdef bytes _memory  # the bytes that `params` points to
    cdef list _arrays    # the arrays that pointers in `params` point to

# Finds a kernel, or a functor of an array, or of an array and the parameter `number`. A parameter
# is an item of `params` or an attribute
# of `prop`; raises ArgumentError when it is neither.
cdef Kernel find_kernel(str name, int dtype, dict params, object prop)

# out = F(x); out = gradient F(x or y); out = F(a, b); out = gradient F(a, b)
cdef Functor find_unary(const char* name, int dtype, bint add) except *
cdef Functor find_unary_grad(const char* name, int dtype, bint add) except *
cdef Functor find_binary(const char* name, int dtype, bint add) except *
cdef Functor find_binary_grad(const char* name, int dtype, bint add) except *

cdef ReduceLoop find_reduce(const char* name, int dtype) except NULL

# `master`: the weight has a float32 copy.
cdef UpdateLoop find_update(const char* rule, int dtype, bint master, bint add) except NULL
# True if the rule does not change weights whose gradient is 0.
cdef bint skips_zero_gradients(const char* rule) noexcept nogil
