"""The table of kernels: the C++ functions of the files ``kernels/FAMILY/NAME.cc``, by name.

All these files are parts of this one module. `kernel.h` says what a kernel is.
"""

from .._typedefs cimport TBlob

cdef extern from "kernel.h" namespace "cynet" nogil:
    int MAX_TENSORS
    struct Blob:
        pass
    struct Args:
        const Blob** in_ "in"
        const Blob** out
        bint* wanted
        bint* add
        const void* params
        int threads
    ctypedef void (*KernelFunction)(const Args& args) noexcept

cdef class Kernel:
    # A kernel for one dtype at the CPU's level, and its parameters.
    cdef KernelFunction run
    cdef int cost  # simple operations for each element of the largest tensor
    cdef const void* params
    cdef bytes _memory  # that `params` points to

# Raises MissingLoop when it has no form for the dtype, ArgumentError when there is none of that
# name, or `params` does not name all its fields and nothing else.
cdef Kernel find_kernel(str name, int dtype, dict params)
