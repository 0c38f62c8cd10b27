"""Common parts of convolutions by kernels of our own (contract in own.pxd)."""

from ...._resource cimport get_space
from ...._typedefs cimport TBlob, kAddTo, kNullOp
from ....kernels.parallel cimport threads_for
from ....kernels.reduce.row_sums cimport sum_rows
from ..._base cimport OpContext


cdef class OwnConvolution(Operator):  # base of our own kernels' operators
    def __init__(self, desc, prop):
        self.has_bias = not prop.no_bias
        self.rows, self.filters = desc.pixels, desc.filters
        self.activation = FoldedActivation(prop, self.rows * self.filters)
        self.work = self.rows * self.filters * desc.channels

    cdef size_t scratch_bytes(self, int threads, bint backward) noexcept nogil:  # temporary memory
        return 0

    cdef void run_forward(self, const float* x, const float* w, const float* bias, float* y,
                          bint add, int threads, char* space) noexcept nogil:
        pass

    cdef void run_backward_data(self, const float* w, const float* dy, float* dx, bint add,
                                int threads, char* space) noexcept nogil:
        pass

    cdef void run_backward_weight(self, const float* x, const float* dy, float* dw, bint add,
                                  int threads, char* space) noexcept nogil:
        pass

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int threads = threads_for(self.work)
        cdef void* out = out_data[0].data
        if req[0] == kNullOp:
            return 0
        self.run_forward(<const float*>in_data[0].data, <const float*>in_data[1].data,
                         <const float*>(in_data[2].data if self.has_bias else NULL), <float*>out,
                         req[0] == kAddTo, threads,
                         <char*>get_space(&ctx.requested[0], self.scratch_bytes(threads, False)))
        if self.activation.apart:
            self.activation.apply_in_place(out)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int threads = threads_for(self.work)
        cdef size_t masked = self.activation.nbytes
        cdef char* space = <char*>get_space(
            &ctx.requested[0], masked + self.scratch_bytes(threads, True))
        cdef const float* grad = <const float*>self.activation.mask_gradient(
            out_grad[0].data, out_data[0].data, space)
        if req[1] != kNullOp:
            self.run_backward_weight(<const float*>in_data[0].data, grad,
                                     <float*>in_grad[1].data, req[1] == kAddTo, threads,
                                     space + masked)
        if self.has_bias and req[2] != kNullOp:
            sum_rows(grad, self.rows, self.filters, <float*>in_grad[2].data, req[2] == kAddTo)
        if req[0] != kNullOp:
            self.run_backward_data(<const float*>in_data[1].data, grad,
                                   <float*>in_grad[0].data, req[0] == kAddTo, threads,
                                   space + masked)
        return 0
