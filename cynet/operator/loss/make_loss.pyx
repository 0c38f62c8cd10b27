# cython: wraparound=True
"""BlockGrad, make_loss, MakeLoss: out is data; the gradient is a constant, whatever follows."""

from cython cimport floating
from libc.stdint cimport int64_t
from libc.string cimport memset

from ..._typedefs cimport TBlob, dtype_size, kAddTo, kFloat32, kNullOp, kWriteInplace
from ...kernels.elementwise.elementwise cimport Kernel, run_unary
from ...kernels.table cimport find_unary
from .._base cimport Operator, OpContext

from math import prod

from ...base.dtype import dtype_flag
from ...base.errors import ArgumentError
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..graph_hooks import GraphHooks
from ..parameters import Enum, Float
from ..property import OperatorProperty


class ConstantGradientProperty(OperatorProperty):
    """Base of operators that hand their input on; their gradient ignores the output's."""

    inputs_doc = {"data": "Input of any shape."}

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return []

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]


class BlockGradProperty(ConstantGradientProperty):
    """The input as it is; no gradient flows back through it."""

    differentiable = False
    graph = GraphHooks(view=True)

    def create_operator(self, ctx, in_shapes, in_types):
        if ctx.device_type == "gpu":
            raise ArgumentError(f"operator {self.op_name} has no implementation on {ctx}")
        return ConstantGradientOperator(in_types[0], 0.0)


class PlainLossProperty(ConstantGradientProperty):
    """Makes data a loss: out is data, and its gradient is 1 everywhere."""

    graph = GraphHooks(float32_beside_half=())

    def list_outputs(self):
        return ["loss"]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        return ConstantGradientOperator(in_types[0], 1.0)


class MakeLossProperty(ConstantGradientProperty):
    """Makes data a loss: out is data, and its gradient is `grad_scale`, normalized.

    With ``normalization='batch'`` the gradient is divided, as in MXNet, by the number of rows: the
    lengths of all axes but the last (of a vector by nothing). With ``'valid'`` it is divided by the
    number of elements above `valid_thresh` (at least 1).
    """

    grad_scale = Float(1.0, doc="The gradient, before normalization.")
    valid_thresh = Float(0.0, doc="Elements above it count as valid.")
    normalization = Enum(("null", "batch", "valid"), "null", doc="What the gradient is divided by.")

    graph = GraphHooks(float32_beside_half=())

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [in_data[0]] if self.normalization == "valid" else []

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        scale = self.grad_scale
        if self.normalization == "batch":
            scale /= prod(in_shapes[0][:-1])
        threshold = self.valid_thresh if self.normalization == "valid" else None
        return ConstantGradientOperator(in_types[0], scale, threshold)


cdef class ConstantGradientOperator(Operator):
    """Copies forward; fills the gradient with a number."""

    cdef Kernel write, add
    cdef double scale, threshold
    cdef bint counts

    def __init__(self, dtype, scale, threshold=None):
        flag = dtype_flag(dtype)
        self.write = find_unary(b"identity", flag, False)
        self.add = find_unary(b"identity", flag, True)
        self.scale = scale
        self.counts = threshold is not None
        self.threshold = threshold or 0.0

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] != kNullOp and req[0] != kWriteInplace:
            run_unary(&self.add if req[0] == kAddTo else &self.write, in_data[0].data,
                      out_data[0].data, out_data[0].size)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef bint add = req[0] == kAddTo
        if req[0] == kNullOp:
            return 0
        if self.scale == 0:
            if not add:
                memset(in_grad[0].data, 0, in_grad[0].size * dtype_size(in_grad[0].dtype))
        elif in_grad[0].dtype == kFloat32:
            self._fill(<const float*>in_data[0].data, <float*>in_grad[0].data, in_grad[0].size, add)
        else:
            self._fill(<const double*>in_data[0].data, <double*>in_grad[0].data, in_grad[0].size,
                       add)
        return 0

    cdef void _fill(self, const floating* x, floating* dx, int64_t n, bint add) noexcept nogil:
        cdef int64_t i, valid = 0
        cdef floating value = <floating>self.scale
        if self.counts:
            for i in range(n):
                valid += x[i] > <floating>self.threshold
            value = <floating>(self.scale / (valid if valid > 0 else 1))
        for i in range(n):
            if add:
                dx[i] += value
            else:
                dx[i] = value


register_operator("BlockGrad", BlockGradProperty, aliases=("stop_gradient",))
register_operator("make_loss", PlainLossProperty)
register_operator("MakeLoss", MakeLossProperty)
