"""Mirror images: _image_flip_*, and _image_random_flip_*, which mirror every second one."""

from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint8_t

from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.image.colors cimport draw_mirrored
from ...kernels.image.pixels cimport mirror
from ...kernels.parallel cimport threads_for
from .._base cimport Operator, OpContext
from ..results cimport deliver, room_for

from .._base import register_operator
from ..property import OperatorProperty, ResourceRequest, merge_shapes
from ..tensor.transpose import ReversedProperty
from .layout import check_image, check_pixels, sizes_of

_DOC = {"data": "Image (H, W, C) or batch (N, H, W, C)."}


class FlipLeftRightProperty(ReversedProperty):
    """The image, or each of a batch, mirrored left to right."""

    inputs_doc = _DOC

    def reversed_axes(self, ndim):
        return (ndim - 2,)

    def infer_shape(self, in_shapes, out_shapes):
        check_image(self, in_shapes[0])
        return super().infer_shape(in_shapes, out_shapes)


class FlipTopBottomProperty(FlipLeftRightProperty):
    """The image, or each of a batch, mirrored top to bottom."""

    def reversed_axes(self, ndim):
        return (ndim - 3,)


class RandomFlipLeftRightProperty(OperatorProperty):
    """The image mirrored left to right, or as it is, each with probability 1/2; in a batch each
    image on its own."""

    sideways = True
    inputs_doc = _DOC

    def list_outputs(self):
        return ["output", "mirrored"]

    def num_visible_outputs(self):
        return 1

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(in_shapes[0], out_shapes[0])
        check_image(self, shape)
        images = None if shape is None else sizes_of(shape)[:1]
        return [shape], [shape, images], []

    def infer_type(self, in_types, out_types):
        kind = in_types[0] or out_types[0]
        return [kind], [kind, "uint8"], []

    def forward_resource(self, in_shapes):
        return [ResourceRequest.random, ResourceRequest.temp_space]

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], out_data[1]]

    def create_operator(self, ctx, in_shapes, in_types):
        check_pixels(self, ctx, in_types)
        return RandomFlipOperator(self.sideways, *sizes_of(in_shapes[0]))


class RandomFlipTopBottomProperty(RandomFlipLeftRightProperty):
    """The image mirrored top to bottom, or as it is, each with probability 1/2; in a batch each
    image on its own."""

    sideways = False


cdef class RandomFlipOperator(Operator):
    cdef bint sideways
    cdef int64_t images, height, width, channels

    def __init__(self, sideways, images, height, width, channels):
        self.sideways, self.images = sideways, images
        self.height, self.width, self.channels = height, width, channels

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef uint8_t* mirrored = <uint8_t*>room_for(ctx, out_data, req, 1)
        cdef int64_t i
        for i in range(self.images):
            mirrored[i] = draw_mirrored(ctx.requested[0].seed, ctx.requested[0].stream, i)
        self._move(in_data, mirrored, req[0], out_data)
        deliver(out_data, req, 1, mirrored)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        self._move(out_grad, <const uint8_t*>out_data[1].data, req[0], in_grad)
        return 0

    cdef void _move(self, const TBlob* source, const uint8_t* mirrored, int req,
                    TBlob* target) noexcept nogil:
        """A mirror image's gradient is that of the output, mirrored."""
        cdef int threads = threads_for(source[0].size)
        cdef bint add = req == kAddTo
        cdef int64_t i
        if req == kNullOp:
            return
        for i in prange(self.images, num_threads=threads, schedule="static"):
            mirror(source[0].dtype, source[0].data, i, self.height, self.width, self.channels,
                   self.sideways, mirrored[i] != 0, target[0].data, add)


register_operator("_image_flip_left_right", FlipLeftRightProperty)
register_operator("_image_flip_top_bottom", FlipTopBottomProperty)
register_operator("_image_random_flip_left_right", RandomFlipLeftRightProperty)
register_operator("_image_random_flip_top_bottom", RandomFlipTopBottomProperty)
