# cython: wraparound=True
"""Regression outputs: an estimate forward, its loss's gradient backward; shapes are data's.

out = data, or sigmoid(data) for the logistic one; grad = grad_scale / m * (out - label), or its
sign for the absolute error, with m numbers in each label.
"""

from cython cimport floating
from cython.parallel cimport prange
from libc.stdint cimport int64_t
from libc.string cimport memset

from ..._typedefs cimport TBlob, dtype_size, kAddTo, kFloat32, kNullOp, kWriteInplace
from ...kernels.elementwise.elementwise cimport Kernel, run_unary
from ...kernels.parallel cimport threads_for
from ...kernels.reduce.softmax_output cimport scaled_difference
from ...kernels.table cimport find_unary
from .._base cimport Operator, OpContext

from math import prod

from ...base.dtype import dtype_flag
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..graph_hooks import GraphHooks
from ..parameters import Float
from ..property import OperatorProperty, merge_shapes
from ..checks.shapes import agree


class RegressionOutputProperty(OperatorProperty):
    """Base of the three outputs below."""

    grad_scale = Float(1.0, doc="Factor of the gradient.")

    graph = GraphHooks(float32_beside_half=(), loss_labels=(1,))
    inputs_doc = {
        "data": "Estimates (N, ...).",
        "label": "Targets of data's shape; (N,) fits data of shape (N, 1).",
    }
    functor, absolute = b"identity", False

    def infer_shape(self, in_shapes, out_shapes):
        data, label = merge_shapes(in_shapes[0], out_shapes[0]), in_shapes[1]
        if data is None:
            return [None, label], [None], []
        if len(data) == 2 and data[1] == 1:
            flat = data[:1]
            if label is None or len(label) == 1:
                return [data, agree("label", label, flat)], [data], []
        label = agree("label", label, data)
        return [merge_shapes(data, label), label], [merge_shapes(data, label)], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [in_data[1], out_data[0]]

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_data[0], in_grad[0])]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        scale = self.grad_scale / prod(in_shapes[1][1:])
        return RegressionOutputOperator(in_types[0], self.functor, self.absolute, scale)


class LinearRegressionOutputProperty(RegressionOutputProperty):
    """Output of a regression with squared error: ``out = data``, gradient ``out - label``.

    The gradient is multiplied by `grad_scale` and divided by the number of elements of one label;
    the gradient of out is not looked at.
    """


class LogisticRegressionOutputProperty(RegressionOutputProperty):
    """Output of a logistic regression: ``out = sigmoid(data)``, gradient ``out - label``.

    The gradient is multiplied by `grad_scale` and divided by the number of elements of one label;
    the gradient of out is not looked at.
    """

    functor = b"sigmoid"


class MAERegressionOutputProperty(RegressionOutputProperty):
    """Output of a regression with absolute error: ``out = data``, gradient ``sign(out - label)``.

    The gradient is multiplied by `grad_scale` and divided by the number of elements of one label;
    the gradient of out is not looked at.
    """

    absolute = True


cdef class RegressionOutputOperator(Operator):
    cdef Kernel write, add
    cdef bint absolute, copies
    cdef double scale

    def __init__(self, dtype, functor, absolute, scale):
        self.write = find_unary(functor, dtype_flag(dtype), False)
        self.add = find_unary(functor, dtype_flag(dtype), True)
        self.absolute, self.copies = absolute, functor == b"identity"
        self.scale = scale

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] != kNullOp and not (self.copies and req[0] == kWriteInplace):
            run_unary(&self.add if req[0] == kAddTo else &self.write, in_data[0].data,
                      out_data[0].data, out_data[0].size)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if req[1] != kNullOp and req[1] != kAddTo:
            memset(in_grad[1].data, 0, in_grad[1].size * dtype_size(in_grad[1].dtype))
        if req[0] == kNullOp:
            return 0
        if out_data[0].dtype == kFloat32:
            self._gradient(<const float*>out_data[0].data, <const float*>in_data[1].data,
                           <float*>in_grad[0].data, out_data[0].size, req[0] == kAddTo)
        else:
            self._gradient(<const double*>out_data[0].data, <const double*>in_data[1].data,
                           <double*>in_grad[0].data, out_data[0].size, req[0] == kAddTo)
        return 0

    cdef void _gradient(self, const floating* y, const floating* label, floating* dx, int64_t n,
                        bint add) noexcept nogil:
        cdef int64_t i
        cdef int threads = threads_for(n)
        cdef floating scale = <floating>self.scale
        if not self.absolute:
            scaled_difference(y, label, <const floating*>NULL, self.scale, dx, n, add)
            return
        for i in prange(n, num_threads=threads, schedule="static"):
            _put(dx + i, scale * <floating>((y[i] > label[i]) - (y[i] < label[i])), add)


cdef inline void _put(floating* to, floating value, bint add) noexcept nogil:
    to[0] = to[0] + value if add else value


register_operator("LinearRegressionOutput", LinearRegressionOutputProperty)
register_operator("LogisticRegressionOutput", LogisticRegressionOutputProperty)
register_operator("MAERegressionOutput", MAERegressionOutputProperty)
