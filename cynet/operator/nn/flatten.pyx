# cython: wraparound=True
"""Flatten: data (N, d1, d2, ...) as out (N, d1*d2*...), the same bytes."""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

from ..._typedefs cimport TBlob, dtype_size, kAddTo, kFloat32, kNullOp
from .._base cimport Operator, OpContext

from math import prod

from .._base import register_operator
from ..floats import require_float_cpu
from ..property import OperatorProperty
from .window import agree


class FlattenProperty(OperatorProperty):
    """Collapse all axes but the first: (N, d1, d2, ...) becomes (N, d1*d2*...)."""

    inputs_doc = {"data": "Input, at least 1-d."}
    identity = True

    def infer_shape(self, in_shapes, out_shapes):
        data, out = in_shapes[0], out_shapes[0]
        if data is not None:
            out = agree("output", out, (data[0], prod(data[1:])))
            data = (out[0], *data[1:])
        return [data], [out], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0]]

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_grad[0], in_grad[0])]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        return FlattenOperator()


cdef void _copy(const TBlob* source, TBlob* target, int req) noexcept nogil:
    cdef int64_t i
    if req == kNullOp or (req != kAddTo and source.data == target.data):
        return
    if req != kAddTo:
        memcpy(target.data, source.data, source.size * dtype_size(source.dtype))
    elif source.dtype == kFloat32:
        for i in range(source.size):
            (<float*>target.data)[i] += (<float*>source.data)[i]
    else:
        for i in range(source.size):
            (<double*>target.data)[i] += (<double*>source.data)[i]


cdef class FlattenOperator(Operator):
    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        _copy(&in_data[0], &out_data[0], req[0])
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        _copy(&out_grad[0], &in_grad[0], req[0])
        return 0


register_operator("Flatten", FlattenProperty, aliases=("flatten",))
