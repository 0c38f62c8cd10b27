# cython: wraparound=True
"""Correlation: how like patches of data1 are to patches of data2 nearby.

Both are (N, C, H, W). For a patch around each place of a lattice and each shift, out holds the mean
over the patch and all channels of ``data1 * data2``, or of ``|data1 - data2|`` (Fischer et al.,
"FlowNet", 2015, section 3).
"""

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, dtype_size, kAddTo, kNullOp
from ...kernels.vision.correlation cimport (
    CorrelationShape, correlate, correlate_backward, correlation_space, correlation_threads
)
from .._base cimport Operator, OpContext

from ...base.errors import ArgumentError, ShapeError
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..graph_hooks import GraphHooks
from ..parameters import Bool, Int
from ..property import OperatorProperty, ResourceRequest
from .planes import merged

WIDEST = 1 << 30  # of a size, so that places fit 64 bits


class CorrelationProperty(OperatorProperty):
    """Compare patches of data1 with shifted patches of data2.

    A patch has kernel_size x kernel_size pixels. Its middle goes over the padded image in steps of
    stride1, at least ``max_displacement + kernel_size // 2`` from its border; shifts go from
    -max_displacement to max_displacement along both axes in steps of stride2, with 0 among them.
    out (N, shifts, H', W') is the mean of ``data1 * data2`` over patch and channels, or of their
    absolute difference; the x of a shift changes fastest.
    """

    kernel_size = Int(1, doc="Pixels of a patch along each axis, odd.", low=1, high=WIDEST)
    max_displacement = Int(1, doc="The largest shift.", low=0, high=WIDEST)
    stride1 = Int(1, doc="Distance of patches.", low=1, high=WIDEST)
    stride2 = Int(1, doc="Distance of shifts.", low=1, high=WIDEST)
    pad_size = Int(0, doc="Zeros around both images.", low=0, high=WIDEST)
    is_multiply = Bool(True, doc="Products; else absolute differences.")

    graph = GraphHooks(float32_beside_half=())
    inputs_doc = {"data1": "First images (N, C, H, W).", "data2": "Second images, alike."}

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if self.kernel_size % 2 == 0:
            raise ArgumentError(f"operator {self.op_name}: kernel_size must be odd, got "
                                f"{self.kernel_size}")

    @property
    def reach(self):
        """Shifts to each side."""
        return self.max_displacement // self.stride2

    def places(self, size):
        """Patches along an axis of `size`; 0 where that is unknown."""
        if size == 0:
            return 0
        border = self.max_displacement + self.kernel_size // 2
        room = size + 2 * self.pad_size - 2 * border
        if room < 1:
            raise ShapeError(
                f"no patch fits: an axis of {size} + 2 * {self.pad_size} (pad_size) has borders of "
                f"{border} (max_displacement + kernel_size // 2) at both ends")
        return (room - 1) // self.stride1 + 1

    def infer_shape(self, in_shapes, out_shapes):
        data = merged("data1", in_shapes[0], (0, 0, 0, 0))
        data = merged("data2", in_shapes[1], data)
        shifts = (2 * self.reach + 1) ** 2
        out = merged("output", out_shapes[0],
                     (data[0], shifts, self.places(data[2]), self.places(data[3])))
        data = merged("data1", data, (out[0], 0, 0, 0))
        return [data, data], [out], []

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def backward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], *in_data]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        return CorrelationOperator(self, in_shapes[0])


cdef class CorrelationOperator(Operator):
    cdef CorrelationShape shape

    def __init__(self, prop, data):
        cdef CorrelationShape* s = &self.shape
        s.batch, s.channels, s.height, s.width = data
        s.kernel, s.displacement, s.pad = prop.kernel_size, prop.max_displacement, prop.pad_size
        s.stride1, s.stride2, s.reach = prop.stride1, prop.stride2, prop.reach
        s.out_height, s.out_width = prop.places(data[2]), prop.places(data[3])
        s.multiply = prop.is_multiply

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int dtype = in_data[0].dtype, threads = correlation_threads(&self.shape)
        cdef void* space
        if req[0] == kNullOp:
            return 0
        space = get_space(&ctx.requested[0],
                          correlation_space(&self.shape, threads) * dtype_size(dtype))
        correlate(dtype, &self.shape, in_data[0].data, in_data[1].data, out_data[0].data,
                  req[0] == kAddTo, threads, space)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int dtype = out_grad[0].dtype, threads = correlation_threads(&self.shape), i
        cdef void* space = get_space(&ctx.requested[0],
                                     correlation_space(&self.shape, threads) * dtype_size(dtype))
        for i in range(2):
            if req[i] != kNullOp:
                correlate_backward(dtype, &self.shape, i == 1, in_data[i].data,
                                   in_data[1 - i].data, out_grad[0].data, in_grad[i].data,
                                   req[i] == kAddTo, threads, space)
        return 0


register_operator("Correlation", CorrelationProperty)
