"""FullyConnected by BLAS, in float32 and float64.

out = data weight^T + bias; data (N, K), weight (M, K), bias (M,), out (N, M).
"""

from cython cimport floating
from libc.stdint cimport int64_t

from ...._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ....kernels.gemm.blas cimport gemm
from ....kernels.reduce.row_sums cimport broadcast_rows, sum_rows
from ..._base cimport Operator, OpContext


cdef class BlasFullyConnected(Operator):
    """FullyConnected by BLAS: forward and the gradients of data and weight."""

    cdef int64_t rows, units, hidden
    cdef bint has_bias

    def __init__(self, prop, rows, units, hidden):
        self.rows, self.units, self.hidden = rows, units, hidden
        self.has_bias = not prop.no_bias

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if in_data[0].dtype == kFloat32:
            self._forward(<float*>NULL, in_data, req, out_data)
        else:
            self._forward(<double*>NULL, in_data, req, out_data)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if out_grad[0].dtype == kFloat32:
            self._backward(<float*>NULL, out_grad, in_data, req, in_grad)
        else:
            self._backward(<double*>NULL, out_grad, in_data, req, in_grad)
        return 0

    cdef void _forward(self, floating* kind, const TBlob* in_data, const int* req,
                       TBlob* out_data) noexcept nogil:
        cdef floating* out = <floating*>out_data[0].data
        cdef floating beta = 1
        if req[0] == kNullOp:
            return
        if self.has_bias:
            broadcast_rows(<const floating*>in_data[2].data, self.rows, self.hidden, out,
                           req[0] == kAddTo)
        elif req[0] != kAddTo:
            beta = 0
        gemm(False, True, self.rows, self.hidden, self.units, <floating>1,
             <const floating*>in_data[0].data, self.units, <const floating*>in_data[1].data,
             self.units, beta, out, self.hidden)

    cdef void _backward(self, floating* kind, const TBlob* out_grad, const TBlob* in_data,
                        const int* req, TBlob* in_grad) noexcept nogil:
        cdef const floating* grad = <const floating*>out_grad[0].data
        cdef floating zero = 0, one = 1
        if req[1] != kNullOp:
            gemm(True, False, self.hidden, self.units, self.rows, one, grad, self.hidden,
                 <const floating*>in_data[0].data, self.units,
                 one if req[1] == kAddTo else zero, <floating*>in_grad[1].data, self.units)
        if self.has_bias and req[2] != kNullOp:
            sum_rows(grad, self.rows, self.hidden, <floating*>in_grad[2].data, req[2] == kAddTo)
        if req[0] != kNullOp:
            gemm(False, False, self.rows, self.units, self.hidden, one, grad, self.hidden,
                 <const floating*>in_data[1].data, self.units,
                 one if req[0] == kAddTo else zero, <floating*>in_grad[0].data, self.units)
