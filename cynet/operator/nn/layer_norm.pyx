# distutils: extra_compile_args = -O1
# cython: wraparound=True
"""LayerNorm: out = (data - mean) / sqrt(var + eps) * gamma + beta along one axis.

data, out (..., C, ...) with C along `axis`; gamma, beta (C,); mean and std are data's shape with 1
there.
"""

from cython cimport floating
from libc.stdint cimport int64_t

from ..._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ...kernels.normalization.line_norm cimport (
    layer_norm_backward, layer_norm_backward_scale, layer_norm_forward
)
from .._base cimport Operator, OpContext

from math import prod

from ...base.errors import ShapeError
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..graph_hooks import GraphHooks
from ..parameters import Bool, Float, Int
from ..property import OperatorProperty, merge_shapes
from ..checks.shapes import agree


class LayerNormProperty(OperatorProperty):
    """Normalize along `axis` to mean 0 and variance 1, then scale and shift its entries.

    ``out = (data - mean) / sqrt(var + eps) * gamma + beta``.
    """

    axis = Int(-1, doc="The axis to normalize along.")
    eps = Float(1e-5, doc="Added to the variance.", low=0.0)
    output_mean_var = Bool(False, doc="Also give the mean and sqrt(var + eps) as outputs.")

    graph = GraphHooks(float32_beside_half=())
    inputs_doc = {"data": "Input.", "gamma": "Scale (C,).", "beta": "Shift (C,)."}

    def list_outputs(self):
        return ["output", "mean", "std"]

    def num_visible_outputs(self):
        return 3 if self.output_mean_var else 1

    def infer_shape(self, in_shapes, out_shapes):
        data = merge_shapes(in_shapes[0], out_shapes[0])
        length, line = merge_shapes(*in_shapes[1:], (0,)), merge_shapes(*out_shapes[1:])
        if data is not None:
            axis = self.position(data)
            length = agree("gamma or beta", length, (data[axis],))
            data = (*data[:axis], length[0], *data[axis + 1:])
            line = agree("mean or std", line, (*data[:axis], 1, *data[axis + 1:]))
        return [data, length, length], [data, line, line], []

    def position(self, shape):
        """`axis` counted from the front."""
        if not -len(shape) <= self.axis < len(shape):
            raise ShapeError(f"axis {self.axis} is out of range for data of shape {tuple(shape)}")
        return self.axis % len(shape)

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], in_data[0], in_data[1], out_data[1], out_data[2]]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_grad[0], in_grad[0])]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        shape, axis = in_shapes[0], self.position(in_shapes[0])
        return LayerNormOperator(prod(shape[:axis]), shape[axis], prod(shape[axis + 1:]), self.eps)


cdef class LayerNormOperator(Operator):
    cdef int64_t outer, n, inner
    cdef double eps

    def __init__(self, outer, n, inner, eps):
        self.outer, self.n, self.inner, self.eps = outer, n, inner, eps

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if in_data[0].dtype == kFloat32:
            return self._forward(<float*>NULL, in_data, req, out_data)
        return self._forward(<double*>NULL, in_data, req, out_data)

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if in_data[0].dtype == kFloat32:
            self._backward(<const float*>out_grad[0].data, in_data, out_data, req, in_grad)
        else:
            self._backward(<const double*>out_grad[0].data, in_data, out_data, req, in_grad)
        return 0

    cdef int _forward(self, floating* kind, const TBlob* in_data, const int* req,
                      TBlob* out_data) except -1 nogil:
        layer_norm_forward(
            <const floating*>in_data[0].data, <const floating*>in_data[1].data,
            <const floating*>in_data[2].data,
            <floating*>(out_data[0].data if req[0] != kNullOp else NULL),
            <floating*>(out_data[1].data if req[1] != kNullOp else NULL),
            <floating*>(out_data[2].data if req[2] != kNullOp else NULL),
            self.outer, self.n, self.inner, self.eps, req[0] == kAddTo, req[1] == kAddTo,
            req[2] == kAddTo)
        return 0

    cdef void _backward(self, const floating* dy, const TBlob* in_data, const TBlob* out_data,
                        const int* req, TBlob* in_grad) noexcept nogil:
        cdef const floating* x = <const floating*>in_data[0].data
        cdef const floating* mean = <const floating*>out_data[1].data
        cdef const floating* std = <const floating*>out_data[2].data
        if req[1] != kNullOp or req[2] != kNullOp:  # data's gradient may take dy's place
            layer_norm_backward_scale(
                dy, x, mean, std, <floating*>(in_grad[1].data if req[1] != kNullOp else NULL),
                <floating*>(in_grad[2].data if req[2] != kNullOp else NULL), self.outer, self.n,
                self.inner, req[1] == kAddTo, req[2] == kAddTo)
        if req[0] != kNullOp:
            layer_norm_backward(dy, x, <const floating*>in_data[1].data, mean, std,
                                <floating*>in_grad[0].data, self.outer, self.n, self.inner,
                                req[0] == kAddTo)


register_operator("LayerNorm", LayerNormProperty)
