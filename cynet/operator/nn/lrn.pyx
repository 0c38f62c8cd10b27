# cython: wraparound=True
"""LRN: out = data * (knorm + alpha / nsize * sum of data^2 over nsize channels around)^-beta."""

from libc.stdint cimport int64_t

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ...kernels.normalization.lrn cimport LocalResponse, lrn_backward, lrn_forward, response_space
from ...kernels.parallel cimport threads_for
from .._base cimport Operator, OpContext

from math import prod

from ...base.errors import ArgumentError, ShapeError
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..graph_hooks import GraphHooks
from ..parameters import Float, Int
from ..property import OperatorProperty, ResourceRequest, merge_shapes


class LRNHooks(GraphHooks):
    """A channels-last form."""

    def channels_last(self, prop, in_shapes, in_types):
        return (ChannelsLastLRN(**prop.params()), [0]) if in_types[0] == "float32" else None


class LRNProperty(OperatorProperty):
    """Local response normalization across channels.

    ``out[n, c] = data[n, c] * (knorm + alpha / nsize * sum_k data[n, k] ** 2) ** -beta`` with k
    over the `nsize` channels around c, as far as there are any.
    """

    alpha = Float(1e-4, doc="Factor of the squares.")
    beta = Float(0.75, doc="Exponent.")
    knorm = Float(2.0, doc="Added to the squares.")
    nsize = Int(doc="Number of channels that are summed, odd.", low=1, high=(1 << 31) - 1)

    graph = LRNHooks(float32_beside_half=())
    inputs_doc = {"data": "Input (N, C, ...)."}

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if self.nsize % 2 == 0:
            raise ArgumentError(f"operator {self.op_name}: nsize {self.nsize} must be odd, "
                                "so that as many channels are summed before as behind")

    def infer_shape(self, in_shapes, out_shapes):
        data = merge_shapes(in_shapes[0], out_shapes[0])
        if data is not None and len(data) < 2:
            raise ShapeError(f"data has shape {data}, expected at least 2 axes")
        return [data], [data], []

    def backward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], in_data[0]]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        return LRNOperator(self, in_shapes[0], False)


class ChannelsLastLRN(LRNProperty):
    """Local response normalization of channels-last data."""

    op_name = "LRN"

    def create_operator(self, ctx, in_shapes, in_types):
        return LRNOperator(self, in_shapes[0], True)


cdef class LRNOperator(Operator):
    cdef LocalResponse shape
    cdef int64_t work

    def __init__(self, prop, data, last):
        cdef LocalResponse* s = &self.shape
        s.batch, s.channels, s.inner = data[0], data[1], prod(data[2:])
        s.size, s.alpha, s.beta, s.knorm = prop.nsize, prop.alpha, prop.beta, prop.knorm
        s.last = last
        self.work = prod(data) * (8 + prop.nsize)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int threads = threads_for(self.work)
        if req[0] == kNullOp or self.work == 0:
            return 0
        if in_data[0].dtype == kFloat32:
            lrn_forward(&self.shape, <const float*>in_data[0].data, <float*>out_data[0].data,
                        req[0] == kAddTo, threads)
        else:
            lrn_forward(&self.shape, <const double*>in_data[0].data, <double*>out_data[0].data,
                        req[0] == kAddTo, threads)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int threads = threads_for(self.work)
        cdef size_t size = sizeof(float) if in_data[0].dtype == kFloat32 else sizeof(double)
        cdef void* space
        if req[0] == kNullOp or self.work == 0:
            return 0
        space = get_space(&ctx.requested[0], response_space(self.shape) * threads * size)
        if in_data[0].dtype == kFloat32:
            lrn_backward(&self.shape, <const float*>out_grad[0].data, <const float*>in_data[0].data,
                         <float*>in_grad[0].data, req[0] == kAddTo, threads, <float*>space)
        else:
            lrn_backward(&self.shape, <const double*>out_grad[0].data,
                         <const double*>in_data[0].data,
                         <double*>in_grad[0].data, req[0] == kAddTo, threads, <double*>space)
        return 0


register_operator("LRN", LRNProperty)
