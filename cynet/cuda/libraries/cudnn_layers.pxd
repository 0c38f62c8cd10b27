"""cuDNN's layers over fixed shapes; their work is queued on run.stream.

Each has descriptors of its own; a convolution's algorithm is chosen when it first runs. `add` adds
to the result instead of overwriting it.
"""

from libc.stddef cimport size_t

from ..._typedefs cimport RunContext
from .cudnn cimport Filter, TensorDesc

cdef enum Direction:  # what a convolution computes
    kForward = 0   # x, w -> y
    kToData = 1    # w, dy -> dx
    kToWeight = 2  # x, dy -> dw


cdef class Convolution:  # of cuDNN, with its descriptors
    cdef TensorDesc x
    cdef TensorDesc y
    cdef TensorDesc bias    # (1, channels, 1, ...), added to `biased`: y, or x if transposed
    cdef TensorDesc biased
    cdef Filter w
    cdef void* desc[3]      # cudnnConvolutionDescriptor_t of each Direction: they differ in math
    cdef int algorithm[3]
    cdef bint chosen[3]
    cdef readonly size_t[3] space
    cdef int dtype
    cdef bint tf32
    cdef bint tune
    cdef size_t limit
    cdef str what
    # Choose the algorithm unless one is chosen; space[direction] is then the workspace of `run`.
    cdef int choose_algorithm(self, const RunContext* run, int direction) except -1 nogil
    cdef int run(self, const RunContext* run, int direction, const void* a, const void* b,
                 void* out, bint add, void* space) except -1 nogil
    cdef int add_bias(self, const RunContext* run, const void* bias, void* out) except -1 nogil


cdef class BatchNorm:  # of cuDNN, with its descriptors
    # gamma, beta, mean and so on, of shape (C,)
    cdef TensorDesc x
    cdef TensorDesc parameter
    cdef int dtype
    cdef double eps
    cdef int forward(self, const RunContext* run, const void* x, const void* gamma,
                     const void* beta, void* y, bint add, void* mean,
                     void* inv_std) except -1 nogil
    cdef int forward_inference(self, const RunContext* run, const void* x, const void* gamma,
                               const void* beta, const void* mean, const void* variance, void* y,
                               bint add) except -1 nogil
    cdef int backward(self, const RunContext* run, const void* x, const void* dy,
                      const void* gamma, const void* mean, const void* inv_std, void* dx,
                      bint add, void* dgamma, void* dbeta, bint add_parameters) except -1 nogil
    # to (+)= source, both (C,) or, with `whole`, of x's shape.
    cdef int copy_data(self, const RunContext* run, const void* source, void* to, bint whole,
                       bint add) except -1 nogil
