"""_image_normalize: (data - mean) / std of each channel of (C, H, W) or (N, C, H, W)."""

from cython.parallel cimport prange
from libc.stdint cimport int64_t

from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.image.pixels cimport normalize_plane
from ...kernels.parallel cimport threads_for
from .._base cimport Operator, OpContext

from ...base.errors import ArgumentError, shown
from .._base import register_operator
from ..parameters import FloatTuple
from ..property import OperatorProperty, merge_shapes
from .layout import check_image, check_pixels


class NormalizeProperty(OperatorProperty):
    """``(data - mean) / std`` of each channel."""

    mean = FloatTuple((0.0,), doc="One number, or one a channel.")
    std = FloatTuple((1.0,), doc="One number, or one a channel.")
    inputs_doc = {"data": "Image (C, H, W) or batch (N, C, H, W) of 1 or 3 channels."}

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(in_shapes[0], out_shapes[0])
        if shape is not None:
            axis = len(shape) - 3
            check_image(self, shape, (1, 3), "(C, H, W) or (N, C, H, W)", axis)
            for name, values in (("mean", self.mean), ("std", self.std)):
                if shape[axis] and len(values) not in (1, shape[axis]):
                    raise ArgumentError(
                        f"operator {self.op_name}: parameter '{name}' takes one number or one for "
                        f"each of {int(shape[axis])} channels, got {shown(values)}")
        return [shape], [shape], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return out_grad

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_grad[0], in_grad[0])]

    def create_operator(self, ctx, in_shapes, in_types):
        check_pixels(self, ctx, in_types)
        *_, channels, height, width = in_shapes[0]
        mean, std = (v * channels if len(v) == 1 else v for v in (self.mean, self.std))
        return NormalizeOperator(channels, height * width, mean, std)


cdef class NormalizeOperator(Operator):
    cdef int64_t channels, plane
    cdef float mean[3]
    cdef float std[3]

    def __init__(self, channels, plane, mean, std):
        self.channels, self.plane = channels, plane
        for i in range(channels):
            self.mean[i], self.std[i] = mean[i], std[i]

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        self._planes(&in_data[0], self.mean, req[0], &out_data[0])
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef float[3] nothing
        nothing[0] = nothing[1] = nothing[2] = 0
        self._planes(&out_grad[0], nothing, req[0], &in_grad[0])
        return 0

    cdef void _planes(self, const TBlob* source, const float* mean, int req,
                      TBlob* target) noexcept nogil:
        cdef int threads = threads_for(source.size * 2)
        cdef int64_t i, n = self.plane
        cdef bint add = req == kAddTo
        if req == kNullOp:
            return
        for i in prange(source.size // n, num_threads=threads, schedule="static"):
            normalize_plane(source.dtype, source.data, i, n, mean[i % self.channels],
                            self.std[i % self.channels], target.data, add)


register_operator("_image_normalize", NormalizeProperty)
