"""FoldedActivation (contract in folded.pxd)."""

from libc.stdint cimport int64_t

from ..._typedefs cimport kFloat32
from ...kernels.elementwise cimport run_binary
from ...kernels.unary_grad cimport find_unary_grad

from .activation import FUNCTIONS


cdef class FoldedActivation:
    """The act_type `activation`, or None, of an output of `size` elements."""

    def __init__(self, activation, int64_t size):
        cdef bytes gradient
        self.size = size
        if activation is not None:
            gradient = FUNCTIONS[activation].gradient.encode()
            self.mask = find_unary_grad(gradient, kFloat32, False)
            self.nbytes = aligned_floats(size)

    cdef void* gradient(self, void* grad, const void* out, void* space) noexcept nogil:
        if self.nbytes == 0:
            return grad
        run_binary(&self.mask, grad, 1, out, 1, space, self.size)
        return space
