# cython: wraparound=True
"""BatchNorm under other names: with relu behind it, and with statistics over several devices."""

from cython cimport floating
from libc.math cimport sqrt
from libc.stdint cimport int64_t

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, dtype_size, kAddTo, kFloat32, kNullOp, kWriteTo
from ...kernels.elementwise.elementwise cimport Kernel, run_binary, run_unary
from ...kernels.table cimport find_unary, find_unary_grad
from .._base cimport Operator, OpContext

from ...base.dtype import dtype_flag
from ...base.errors import ArgumentError
from .._base import register_operator
from ..parameters import Bool, Float, Int, Str
from ..property import ResourceRequest
from .batch_norm import BatchNormHooks, BatchNormOperator, BatchNormProperty


class SyncBatchNormHooks(BatchNormHooks):
    """BatchNorm's channels-last form, where its third output is not seen."""

    def channels_last(self, prop, in_shapes, in_types):
        return None if prop.output_mean_var else super().channels_last(prop, in_shapes, in_types)


class BatchNormWithReLUHooks(BatchNormHooks):
    """BatchNorm's channels-last form, with its relu."""

    def channels_last(self, prop, in_shapes, in_types):
        found = super().channels_last(prop, in_shapes, in_types)
        return found and (found[0].changed(relu=True), found[1])


class BatchNormWithReLUProperty(BatchNormProperty):
    """BatchNorm, and relu of its output.

    ``out = max((data - mean) / sqrt(var + eps) * gamma + beta, 0)``; statistics, parameters and
    what moves them as in BatchNorm.
    """

    graph = BatchNormWithReLUHooks(moves_states=False, float32_beside_half=("gamma", "beta"))
    relu = True

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space] * 2

    def backward_resource(self, in_shapes):
        return [ResourceRequest.temp_space] * 2

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        needed = super().declare_backward_dependency(out_grad, in_data, out_data)
        return [*needed, in_data[2], out_data[0]]

    def create_operator(self, ctx, in_shapes, in_types):
        operator = super().create_operator(ctx, in_shapes, in_types)
        folded = not isinstance(operator, BatchNormOperator)
        return operator if folded else ReluBehind(operator, in_types[0])


class SyncBatchNormProperty(BatchNormProperty):
    """BatchNorm whose statistics are those of the whole batch, over all devices.

    On one device (``ndev=1``) that is BatchNorm, but `output_mean_var` gives the variance itself.
    Statistics over several are refused.
    """

    output_mean_var = Bool(False, doc="Also give the mean and the variance as outputs.")
    graph = SyncBatchNormHooks(moves_states=False, float32_beside_half=("gamma", "beta"))

    eps = Float(1e-3, doc="Added to the variance.", low=0.0)
    ndev = Int(1, doc="Number of devices; 1 alone is there.", low=1)
    key = Str(doc="Name of the layer among those that share statistics.")
    axis, cudnn_off, min_calib_range, max_calib_range = 1, False, None, None

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if self.ndev != 1:
            raise ArgumentError(
                f"operator {self.op_name}: parameter 'ndev' takes 1, got {self.ndev}: statistics "
                "over several devices are not provided")

    def create_operator(self, ctx, in_shapes, in_types):
        operator = super().create_operator(ctx, in_shapes, in_types)
        return VarianceShown(operator, self.eps) if self.output_mean_var else operator

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space] * 2

    def backward_resource(self, in_shapes):
        return [ResourceRequest.temp_space] * 2


cdef class VarianceShown(Operator):
    """Another operator whose third output is the variance, where its own is
    ``1 / sqrt(var + eps)``."""

    cdef Operator inner
    cdef double eps

    def __init__(self, Operator inner not None, double eps):
        self.inner, self.eps = inner, eps

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef TBlob outputs[3]
        cdef int requests[3]
        cdef int i
        for i in range(3):
            outputs[i], requests[i] = out_data[i], req[i]
        if req[2] != kNullOp:
            outputs[2].data = get_space(&ctx.requested[1],
                                        out_data[2].size * dtype_size(out_data[2].dtype))
            requests[2] = kWriteTo
        self.inner.forward(ctx, in_data, requests, outputs, aux_states)
        if req[2] != kNullOp and out_data[2].dtype == kFloat32:
            _variances(<const float*>outputs[2].data, <float*>out_data[2].data, out_data[2].size,
                       self.eps, req[2] == kAddTo)
        elif req[2] != kNullOp:
            _variances(<const double*>outputs[2].data, <double*>out_data[2].data,
                       out_data[2].size, self.eps, req[2] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef TBlob outputs[3]
        cdef int i
        for i in range(3):
            outputs[i] = out_data[i]
        outputs[2].data = get_space(&ctx.requested[1],
                                    out_data[2].size * dtype_size(out_data[2].dtype))
        if out_data[2].dtype == kFloat32:
            _inverses(<const float*>out_data[2].data, <float*>outputs[2].data, out_data[2].size,
                      self.eps)
        else:
            _inverses(<const double*>out_data[2].data, <double*>outputs[2].data,
                      out_data[2].size, self.eps)
        return self.inner.backward(ctx, out_grad, in_data, outputs, req, in_grad, aux_states)


cdef void _variances(const floating* inverses, floating* variances, int64_t n, double eps,
                     bint add) noexcept nogil:
    cdef int64_t i
    cdef double value
    for i in range(n):
        value = 1 / (<double>inverses[i] * inverses[i]) - eps
        variances[i] = <floating>(value + (variances[i] if add else 0))


cdef void _inverses(const floating* variances, floating* inverses, int64_t n,
                    double eps) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        inverses[i] = <floating>(1 / sqrt(variances[i] + eps))


cdef class ReluBehind(Operator):
    """Another operator with relu of its first output behind it."""

    cdef Operator inner
    cdef Kernel relu, added, mask

    def __init__(self, Operator inner not None, dtype):
        flag = dtype_flag(dtype)
        self.inner = inner
        self.relu, self.added = find_unary(b"relu", flag, False), find_unary(b"relu", flag, True)
        self.mask = find_unary_grad(b"relu_grad_y", flag, False)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef TBlob outputs[3]
        cdef int requests[3]
        cdef int i
        for i in range(3):
            outputs[i], requests[i] = out_data[i], req[i]
        if req[0] == kAddTo:
            outputs[0].data = get_space(&ctx.requested[1],
                                        out_data[0].size * dtype_size(out_data[0].dtype))
            requests[0] = kWriteTo
        self.inner.forward(ctx, in_data, requests, outputs, aux_states)
        if req[0] != kNullOp:
            run_unary(&self.added if req[0] == kAddTo else &self.relu, outputs[0].data,
                      out_data[0].data, out_data[0].size)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef TBlob masked = out_grad[0]
        masked.data = get_space(&ctx.requested[1], masked.size * dtype_size(masked.dtype))
        run_binary(&self.mask, out_grad[0].data, 1, out_data[0].data, 1, masked.data, masked.size)
        return self.inner.backward(ctx, &masked, in_data, out_data, req, in_grad, aux_states)


register_operator("_contrib_BatchNormWithReLU", BatchNormWithReLUProperty)
register_operator("_contrib_SyncBatchNorm", SyncBatchNormProperty)
