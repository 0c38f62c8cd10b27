"""The operator that the layout pass inserts: it reorders an array to channels-last order, or back.

(N, C, *size) in row-major memory becomes the same array in memory order (N, *size, C); `to_last`
False is the way back, and each is the gradient of the other.
"""

from libc.stdint cimport int64_t

from ..._typedefs cimport TBlob, dtype_size, kAddTo, kFloat32, kNullOp
from ...kernels.movement.transpose cimport transpose_3d
from ...kernels.parallel cimport threads_for
from ...kernels.quantization.int8_conv cimport transpose_integers
from .._base cimport Operator, OpContext

from math import prod

from ...base.errors import ArgumentError
from ..parameters import Bool
from ..property import OperatorProperty
from ..second_order import Linear


PERMUTABLE = ("float32", "int8", "uint8", "int32")  # dtypes of channels-last arrays


class ChannelsLastProperty(OperatorProperty, operator="_channels_last"):
    """The data in channels-last memory order, or, with ``to_last=False``, back in row-major order;
    the shape is (N, C, ...) in both; float32, or integers of 8 or 32 bits. Inserted by the layout
    pass."""

    to_last = Bool(True, doc="Whether the output, not the input, is in channels-last order.")

    inputs_doc = {"data": "Input (N, C, ...)."}
    backward_reads = ("out_grad",)
    second_order = Linear()
    example = """
    >>> mx.nd.op._channels_last(mx.nd.zeros((1, 3, 4, 5)), to_last=True).shape
    (1, 3, 4, 5)
    """

    def create_operator(self, ctx, in_shapes, in_types):
        if len(in_shapes[0]) < 2 or in_types[0] not in PERMUTABLE:
            raise ArgumentError(f"operator {self.op_name} takes {', '.join(PERMUTABLE)} data with "
                                f"at least 2 axes, got {in_types[0]} of shape {in_shapes[0]}")
        return ChannelsLastOperator(self, in_shapes[0])


cdef class ChannelsLastOperator(Operator):
    cdef int64_t batch, channels, inner
    cdef bint to_last

    def __init__(self, prop, shape):
        self.batch, self.channels, self.inner = shape[0], shape[1], prod(shape[2:])
        self.to_last = prop.to_last

    cdef void _copy(self, const TBlob* source, TBlob* target, int req, bint to_last) noexcept nogil:
        cdef int64_t rows = self.channels if to_last else self.inner
        cdef int64_t columns = self.inner if to_last else self.channels
        if req == kNullOp:
            return
        if source.dtype == kFloat32:
            transpose_3d(self.batch, rows, columns, <const float*>source.data, <float*>target.data,
                         req == kAddTo)
        else:
            transpose_integers(source.data, target.data, dtype_size(source.dtype), self.batch, rows,
                               columns, req == kAddTo, threads_for(source.size))

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        self._copy(&in_data[0], &out_data[0], req[0], self.to_last)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        self._copy(&out_grad[0], &in_grad[0], req[0], not self.to_last)
        return 0
