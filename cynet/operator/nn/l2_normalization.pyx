# cython: wraparound=True
"""L2Normalization: out = data / sqrt(sum(data^2) + eps), in data's shape."""

from libc.stdint cimport int64_t

from ..._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ...kernels.normalization.line_norm cimport l2_norm_backward, l2_norm_forward
from .._base cimport Operator, OpContext

from math import prod

from ...base.errors import ShapeError
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..graph_hooks import GraphHooks
from ..parameters import Enum, Float
from ..property import OperatorProperty, merge_shapes


class L2NormalizationProperty(OperatorProperty):
    """Divide by the Euclidean norm: ``out = data / sqrt(sum(data ** 2) + eps)``.

    The sum goes over a whole sample ('instance'), over the channels at each position ('channel'),
    or over the positions of each channel ('spatial').
    """

    eps = Float(1e-10, doc="Added to the sum.", low=0.0)
    mode = Enum(("channel", "instance", "spatial"), "instance", doc="What is summed.")

    graph = GraphHooks(float32_beside_half=())
    inputs_doc = {"data": "Input (N, C, ...)."}

    def infer_shape(self, in_shapes, out_shapes):
        data = merge_shapes(in_shapes[0], out_shapes[0])
        least = 2 if self.mode == "instance" else 3
        if data is not None and len(data) < least:
            raise ShapeError(f"data has shape {data}, expected at least {least} axes in mode "
                             f"'{self.mode}'")
        return [data], [data], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], in_data[0]]

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_grad[0], in_grad[0])]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        shape = in_shapes[0]
        lines = {
            "instance": (shape[0], prod(shape[1:]), 1),
            "channel": (shape[0], shape[1], prod(shape[2:])),
            "spatial": (shape[0] * shape[1], prod(shape[2:]), 1),
        }[self.mode]
        return L2NormalizationOperator(*lines, self.eps)


cdef class L2NormalizationOperator(Operator):
    cdef int64_t outer, n, inner
    cdef double eps

    def __init__(self, outer, n, inner, eps):
        self.outer, self.n, self.inner, self.eps = outer, n, inner, eps

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] == kNullOp:
            return 0
        if in_data[0].dtype == kFloat32:
            l2_norm_forward(<const float*>in_data[0].data, <float*>out_data[0].data, self.outer,
                            self.n, self.inner, self.eps, req[0] == kAddTo)
        else:
            l2_norm_forward(<const double*>in_data[0].data, <double*>out_data[0].data, self.outer,
                            self.n, self.inner, self.eps, req[0] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if req[0] == kNullOp:
            return 0
        if in_data[0].dtype == kFloat32:
            l2_norm_backward(<const float*>out_grad[0].data, <const float*>in_data[0].data,
                             <float*>in_grad[0].data, self.outer, self.n, self.inner, self.eps,
                             req[0] == kAddTo)
        else:
            l2_norm_backward(<const double*>out_grad[0].data, <const double*>in_data[0].data,
                             <double*>in_grad[0].data, self.outer, self.n, self.inner, self.eps,
                             req[0] == kAddTo)
        return 0


register_operator("L2Normalization", L2NormalizationProperty)
