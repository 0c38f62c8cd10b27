# cython: wraparound=True
"""Convolution and Deconvolution of row-major data by matrix products, for any machine, shape and
floating type (kernels/conv/im2col.pxd)."""

from cython cimport floating

from ...._resource cimport get_space
from ...._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ....kernels.conv.im2col cimport (
    ConvShape, conv_backward_data, conv_backward_weight, conv_fill_dims, conv_forward, conv_threads,
    conv_workspace_elements
)
from ....kernels.reduce.row_sums cimport add_channels, sum_channels
from ..._base cimport Operator, OpContext

from ..spatial_window import to_3d


cdef class UnrolledConvolution(Operator):  # by im2col and BLAS
    """The convolution of a ConvDesc, or the deconvolution, in which forward and the gradient of
    data are swapped. `implicit`: forward is implicit gemm."""

    cdef ConvShape shape
    cdef bint has_bias, transposed

    def __init__(self, desc, implicit):
        cdef int i
        cdef ConvShape* s = &self.shape
        s.batch, s.channels, s.filters = desc.batch, desc.channels, desc.filters
        s.groups = desc.groups
        geometry = zip(to_3d(desc.data[2:], 1), to_3d(desc.out[2:], 1), to_3d(desc.kernel, 1),
                       to_3d(desc.stride, 1), to_3d(desc.dilate, 1), to_3d(desc.pad, 0))
        for i, values in enumerate(geometry):
            s.in_size[i], s.out_size[i], s.kernel[i], s.stride[i], s.dilate[i], s.pad[i] = values
        conv_fill_dims(s, implicit)
        self.has_bias, self.transposed = desc.bias, desc.transposed

    def largest_matrix_size(self):
        """The largest size of the matrix products, which must fit BLAS's integers."""
        return max(self.shape.in_space, self.shape.out_space, self.shape.unrolled,
                   self.shape.filters)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] == kNullOp:
            return 0
        if in_data[0].dtype == kFloat32:
            return self._forward(<float*>NULL, ctx, in_data, req, out_data)
        return self._forward(<double*>NULL, ctx, in_data, req, out_data)

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if out_grad[0].dtype == kFloat32:
            return self._backward(<float*>NULL, ctx, out_grad, in_data, req, in_grad)
        return self._backward(<double*>NULL, ctx, out_grad, in_data, req, in_grad)

    cdef int _forward(self, floating* kind, OpContext* ctx, const TBlob* in_data, const int* req,
                      TBlob* out_data) except -1 nogil:
        cdef int threads = conv_threads(&self.shape)
        cdef floating* space = <floating*>get_space(
            &ctx.requested[0],
            conv_workspace_elements(&self.shape, threads, False) * sizeof(floating))
        cdef const floating* data = <const floating*>in_data[0].data
        cdef const floating* weight = <const floating*>in_data[1].data
        cdef const floating* bias = <const floating*>(in_data[2].data if self.has_bias else NULL)
        cdef floating* out = <floating*>out_data[0].data
        cdef bint add = req[0] == kAddTo
        if not self.transposed:
            conv_forward(&self.shape, data, weight, bias, out, add, threads, space)
            return 0
        conv_backward_data(&self.shape, weight, data, out, add, threads, space)
        if self.has_bias:
            add_channels(bias, self.shape.batch, self.shape.channels, self.shape.in_space, out)
        return 0

    cdef int _backward(self, floating* kind, OpContext* ctx, const TBlob* out_grad,
                       const TBlob* in_data, const int* req, TBlob* in_grad) except -1 nogil:
        cdef const floating* grad = <const floating*>out_grad[0].data
        cdef const floating* data = <const floating*>in_data[0].data
        cdef const floating* weight = <const floating*>in_data[1].data
        cdef const floating* x = grad if self.transposed else data  # input of the convolution
        cdef const floating* dy = data if self.transposed else grad
        cdef floating* dx = <floating*>in_grad[0].data
        cdef int threads = conv_threads(&self.shape)
        cdef floating* space = <floating*>get_space(
            &ctx.requested[0],
            conv_workspace_elements(&self.shape, threads, True) * sizeof(floating))
        if req[1] != kNullOp:
            conv_backward_weight(&self.shape, x, dy, <floating*>in_grad[1].data, req[1] == kAddTo,
                                 threads, space)
        if self.has_bias and req[2] != kNullOp:
            if self.transposed:
                sum_channels(grad, self.shape.batch, self.shape.channels, self.shape.in_space,
                             <floating*>in_grad[2].data, req[2] == kAddTo)
            else:
                sum_channels(grad, self.shape.batch, self.shape.filters, self.shape.out_space,
                             <floating*>in_grad[2].data, req[2] == kAddTo)
        if req[0] == kNullOp:
            return 0
        if self.transposed:
            conv_forward(&self.shape, grad, weight, <const floating*>NULL, dx, req[0] == kAddTo,
                         threads, space)
        else:
            conv_backward_data(&self.shape, weight, grad, dx, req[0] == kAddTo, threads, space)
        return 0
