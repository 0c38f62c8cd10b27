# distutils: extra_compile_args = -O1
# cython: wraparound=True
"""softmax_cross_entropy: out (1,) = - sum_n log softmax(data[n])[label[n]], data (N, C)."""

from cython cimport floating
from libc.stdint cimport int64_t
from libc.string cimport memset

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, dtype_size, kAddTo, kFloat32, kNullOp
from ...kernels.reduce.softmax cimport softmax_forward
from .._base cimport Operator, OpContext

from ...base.errors import ShapeError
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..graph_hooks import GraphHooks
from ..property import OperatorProperty, ResourceRequest
from ..checks.shapes import agree


class SoftmaxCrossEntropyProperty(OperatorProperty):
    """Sum of the cross-entropies of softmax(data) with the labels' classes.

    ``out = - sum_n log(softmax(data[n])[label[n]])``, of shape (1,). A label outside the classes
    counts as the nearest of them.
    """

    graph = GraphHooks(float32_beside_half=())
    inputs_doc = {"data": "Scores (N, C).", "label": "Class of each row, (N,)."}

    def infer_shape(self, in_shapes, out_shapes):
        data, label = in_shapes
        if data is not None:
            if len(data) != 2:
                raise ShapeError(f"data has shape {tuple(data)}, expected (N, C)")
            label = agree("label", label, data[:1])
            data = (label[0], data[1])
        return [data, label], [agree("output", out_shapes[0], (1,))], []

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def backward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], *in_data]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        return SoftmaxCrossEntropyOperator(*in_shapes[0])


cdef class SoftmaxCrossEntropyOperator(Operator):
    cdef int64_t rows, classes

    def __init__(self, rows, classes):
        self.rows, self.classes = rows, classes

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] == kNullOp:
            return 0
        if in_data[0].dtype == kFloat32:
            return self._forward(<const float*>in_data[0].data, <const float*>in_data[1].data, ctx,
                                 <float*>out_data[0].data, req[0] == kAddTo)
        return self._forward(<const double*>in_data[0].data, <const double*>in_data[1].data, ctx,
                             <double*>out_data[0].data, req[0] == kAddTo)

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if req[1] != kNullOp and req[1] != kAddTo:
            memset(in_grad[1].data, 0, in_grad[1].size * dtype_size(in_grad[1].dtype))
        if req[0] == kNullOp:
            return 0
        if in_data[0].dtype == kFloat32:
            return self._backward(<const float*>in_data[0].data, <const float*>in_data[1].data,
                                  (<float*>out_grad[0].data)[0], ctx, <float*>in_grad[0].data,
                                  req[0] == kAddTo)
        return self._backward(<const double*>in_data[0].data, <const double*>in_data[1].data,
                              (<double*>out_grad[0].data)[0], ctx, <double*>in_grad[0].data,
                              req[0] == kAddTo)

    cdef int64_t _class(self, floating label) noexcept nogil:
        if label >= self.classes:
            return self.classes - 1
        return <int64_t>label if label > 0 else 0

    cdef int _forward(self, const floating* x, const floating* label, OpContext* ctx, floating* out,
                      bint add) except -1 nogil:
        cdef double total = 0
        cdef int64_t i
        cdef floating* logs = <floating*>get_space(
            &ctx.requested[0], self.rows * self.classes * sizeof(floating))
        softmax_forward(x, logs, self.rows, self.classes, 1, 1, True, NULL, False, False)
        for i in range(self.rows):
            total -= logs[i * self.classes + self._class(label[i])]
        out[0] = <floating>(total + out[0] if add else total)
        return 0

    cdef int _backward(self, const floating* x, const floating* label, floating grad,
                       OpContext* ctx, floating* dx, bint add) except -1 nogil:
        cdef int64_t i, k, at
        cdef floating value
        cdef floating* soft = <floating*>get_space(
            &ctx.requested[0], self.rows * self.classes * sizeof(floating))
        softmax_forward(x, soft, self.rows, self.classes, 1, 1, False, NULL, False, False)
        for i in range(self.rows):
            at = i * self.classes
            soft[at + self._class(label[i])] -= 1
            for k in range(at, at + self.classes):
                value = grad * soft[k]
                if add:
                    dx[k] += value
                else:
                    dx[k] = value
        return 0


register_operator("softmax_cross_entropy", SoftmaxCrossEntropyProperty)
