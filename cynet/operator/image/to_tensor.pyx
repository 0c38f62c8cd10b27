"""_image_to_tensor: pixels (H, W, C) or (N, H, W, C) as floats (C, H, W) or (N, C, H, W) / 255."""

from cython.parallel cimport prange
from libc.stdint cimport int64_t

from ..._typedefs cimport TBlob, dtype_size, kAddTo, kNullOp
from ...kernels.image.pixels cimport to_tensor_row, to_tensor_row_backward
from ...kernels.parallel cimport threads_for
from .._base cimport Operator, OpContext

from .._base import register_operator
from ..checks.shapes import agree
from ..property import OperatorProperty
from .layout import check_image, check_pixels, sizes_of


class ToTensorProperty(OperatorProperty):
    """Images as float32 with the channels first, divided by 255: from 0 to 1 for uint8."""

    inputs_doc = {"data": "Image (H, W, C) or batch (N, H, W, C)."}

    def infer_shape(self, in_shapes, out_shapes):
        data, out = in_shapes[0], out_shapes[0]
        check_image(self, data)
        check_image(self, out, words="(C, H, W) or (N, C, H, W)")
        if data is None and out is not None:
            data = (*out[:len(out) - 3], 0, 0, 0)
        if data is None:
            return [None], [None], []
        n = len(data) - 3
        out = agree("output", out, (*data[:n], data[n + 2], data[n], data[n + 1]))
        return [(*out[:n], out[n + 1], out[n + 2], out[n])], [out], []

    def infer_type(self, in_types, out_types):
        return in_types, ["float32"], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return out_grad

    def create_operator(self, ctx, in_shapes, in_types):
        check_pixels(self, ctx, in_types)
        return ToTensorOperator(*sizes_of(in_shapes[0]))


cdef class ToTensorOperator(Operator):
    cdef int64_t images, height, width, channels

    def __init__(self, images, height, width, channels):
        self.images, self.height, self.width, self.channels = images, height, width, channels

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int64_t each = self.height * self.width * self.channels, row
        cdef int64_t size = each * dtype_size(in_data[0].dtype)
        cdef int threads = threads_for(in_data[0].size * 2)
        cdef bint add = req[0] == kAddTo
        if req[0] == kNullOp:
            return 0
        for row in prange(self.images * self.height, num_threads=threads, schedule="static"):
            to_tensor_row(
                in_data[0].dtype, <const char*>in_data[0].data + row // self.height * size,
                row % self.height, self.height, self.width, self.channels,
                <float*>out_data[0].data + row // self.height * each, add)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int64_t each = self.height * self.width * self.channels, row
        cdef int64_t size = each * dtype_size(in_grad[0].dtype)
        cdef int threads = threads_for(in_grad[0].size * 2)
        cdef bint add = req[0] == kAddTo
        if req[0] == kNullOp:
            return 0
        for row in prange(self.images * self.height, num_threads=threads, schedule="static"):
            to_tensor_row_backward(
                in_grad[0].dtype, <const float*>out_grad[0].data + row // self.height * each,
                row % self.height, self.height, self.width, self.channels,
                <char*>in_grad[0].data + row // self.height * size, add)
        return 0


register_operator("_image_to_tensor", ToTensorProperty)
