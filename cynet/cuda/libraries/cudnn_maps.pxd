"""cuDNN's layers of one input and one output: pooling and softmax, over fixed shapes.

What is computed is queued on run.stream. `add` adds to the result instead of overwriting it.
"""

from ..._typedefs cimport RunContext
from .cudnn cimport TensorDesc


cdef class UnaryLayer:  # a layer with one input and one output
    cdef int dtype
    # y may be x.
    cdef int forward(self, const RunContext* run, const void* x, void* y, bint add) except -1 nogil
    # Compute the gradient dx, which may be dy; y is the output of forward.
    cdef int backward(self, const RunContext* run, const void* y, const void* dy, void* dx,
                      bint add) except -1 nogil


cdef class Pooling(UnaryLayer):
    # Average and sum pooling. forward's y must not be x; backward reads no y.
    cdef TensorDesc x
    cdef TensorDesc y
    cdef void* desc
    cdef float float_factor
    cdef double double_factor
    cdef const void* factor


cdef class Softmax(UnaryLayer):
    cdef TensorDesc x  # (outer, n, inner)
    cdef int algorithm
    cdef int mode
