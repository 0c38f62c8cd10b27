"""Operators on padded sequences: SequenceMask, SequenceLast, SequenceReverse.

Data is (time, batch, ...), or (batch, time, ...) with ``axis=1``; `sequence_length` has one length,
1 to time, for each of the batch, and no gradient.
"""

from libc.stdint cimport int64_t
from libc.string cimport memset

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, dtype_size, kAddTo, kInt64, kNullOp
from ...kernels.elementwise.elementwise cimport run_cast
from ...kernels.movement.index cimport run_gather, run_mask_rows, run_scatter
from .._base cimport Operator, OpContext

from ...base.dtype import dtype_flag
from ...base.errors import ArgumentError, ShapeError
from .._base import register_operator
from ..parameters import Bool, Float, Int
from ..property import OperatorProperty, ResourceRequest, merge_shapes

cdef enum:
    MASK = 0
    LAST = 1
    REVERSE = 2


class SequenceProperty(OperatorProperty):
    """Base of the three."""

    inputs_doc = {
        "data": "Sequences, (time, batch, ...) or with axis=1 (batch, time, ...).",
        "sequence_length": "Length of each sequence; only with use_sequence_length.",
    }
    use_sequence_length = Bool(False, doc="Whether `sequence_length` is given; else all are full.")
    kind = MASK

    def list_arguments(self):
        return ["data", "sequence_length"] if self.use_sequence_length else ["data"]

    def out_shape(self, shape):
        """The output's shape."""
        return shape

    def infer_shape(self, in_shapes, out_shapes):
        shape = in_shapes[0]
        if shape is None and self.kind != LAST:
            shape = out_shapes[0]
        if shape is None:
            return list(in_shapes), [out_shapes[0]], []
        if self.axis not in (0, 1):
            raise ArgumentError(f"{self.op_name}: parameter 'axis' takes 0 or 1, got {self.axis}")
        if len(shape) < 2:
            raise ShapeError(f"{self.op_name} takes data of at least 2 axes, got shape {shape}")
        ins = [shape]
        if self.kind != LAST:
            ins = [merge_shapes(shape, out_shapes[0])]
        if self.use_sequence_length:
            ins.append(merge_shapes((shape[1 - self.axis],), in_shapes[1]))
        return ins, [merge_shapes(self.out_shape(shape), out_shapes[0])], []

    def infer_type(self, in_types, out_types):
        kind = in_types[0] or out_types[0]
        return [kind, *(t or kind for t in in_types[1:])], [kind], []

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def backward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [*out_grad, *in_data[1:]]

    def create_operator(self, ctx, in_shapes, in_types):
        return SequenceOperator(self, in_shapes[0], in_types[0])


class SequenceMaskProperty(SequenceProperty):
    """Sequences whose elements beyond their lengths are replaced by `value`; a length above that of
    the axis keeps all, one below 0 none."""

    value = Float(0.0, doc="Value of the elements beyond the lengths.")
    axis = Int(0, doc="The axis of time, 0 or 1.")


class SequenceLastProperty(SequenceProperty):
    """The last element of each sequence."""

    axis = Int(0, doc="The axis of time, 0 or 1.")
    kind = LAST

    def out_shape(self, shape):
        return (shape[1 - self.axis], *shape[2:])


class SequenceReverseProperty(SequenceProperty):
    """Sequences reversed within their lengths, which are at most that of the axis; what lies beyond
    stays."""

    axis = Int(0, doc="The axis of time; 0 alone.", low=0, high=0)
    kind = REVERSE


cdef class SequenceOperator(Operator):
    """One of the three for one shape and dtype."""

    cdef int kind, dtype
    cdef bint batch_first
    cdef int64_t time, batch, inner
    cdef double value
    cdef str name

    def __init__(self, prop, shape, dtype):
        self.name, self.kind, self.dtype = prop.op_name, prop.kind, dtype_flag(dtype)
        self.batch_first = prop.axis == 1
        self.time, self.batch = shape[prop.axis], shape[1 - prop.axis]
        self.inner = 1
        for n in shape[2:]:
            self.inner *= n
        self.value = prop.value if prop.kind == MASK else 0.0

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int64_t* length
        cdef bint add = req[0] == kAddTo
        if req[0] == kNullOp:
            return 0
        length = _lengths(self, ctx, in_data)
        if self.kind == MASK:
            run_mask_rows(self.dtype, add, self.batch_first, self.time, self.batch, self.inner,
                          length,
                          in_data[0].data, self.value, out_data[0].data)
            return 0
        run_gather(self.dtype, add, 1, self.time * self.batch, self.inner, _rows(self, length),
                   length + self.batch, in_data[0].data, out_data[0].data)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int64_t* length
        cdef bint add = req[0] == kAddTo
        if ctx.n_in > 1 and req[1] != kNullOp and req[1] != kAddTo:
            memset(in_grad[1].data, 0, in_grad[1].size * dtype_size(in_grad[1].dtype))
        if req[0] == kNullOp:
            return 0
        length = _lengths(self, ctx, in_data)
        if self.kind == MASK:
            run_mask_rows(self.dtype, add, self.batch_first, self.time, self.batch, self.inner,
                          length,
                          out_grad[0].data, 0.0, in_grad[0].data)
            return 0
        if self.kind == LAST and not add:
            memset(in_grad[0].data, 0, in_grad[0].size * dtype_size(self.dtype))
        run_scatter(self.dtype, add, 1, self.time * self.batch, self.inner, _rows(self, length),
                    length + self.batch, out_grad[0].data, in_grad[0].data)
        return 0


cdef int64_t* _lengths(SequenceOperator self, OpContext* ctx,
                       const TBlob* in_data) except NULL nogil:
    """Lengths of the sequences, checked, in temporary space; room for the rows lies behind them."""
    cdef int64_t* length = <int64_t*>get_space(
        &ctx.requested[0], (self.batch + self.batch * self.time) * sizeof(int64_t))
    cdef int64_t b, least = 1 if self.kind == LAST else 0
    if ctx.n_in > 1:
        run_cast(in_data[1].dtype, kInt64, in_data[1].data, length, self.batch)
    for b in range(self.batch):
        if ctx.n_in == 1:
            length[b] = self.time
            continue
        if self.kind != LAST:
            length[b] = max(length[b], 0)
        if self.kind == MASK:
            length[b] = min(length[b], self.time)
        if not least <= length[b] <= self.time:
            with gil:
                raise ArgumentError(
                    f"{self.name}: sequence_length {length[b]} is outside of {least} to "
                    f"{self.time}")
    return length


cdef int64_t _rows(SequenceOperator self, int64_t* length) noexcept nogil:
    """Which row of data each row of the output is, behind the lengths; returns their number."""
    cdef int64_t* row = length + self.batch
    cdef int64_t b, t
    if self.kind == LAST:
        for b in range(self.batch):
            t = length[b] - 1
            row[b] = b * self.time + t if self.batch_first else t * self.batch + b
        return self.batch
    for t in range(self.time):
        for b in range(self.batch):
            row[t * self.batch + b] = (
                (length[b] - 1 - t) * self.batch + b if t < length[b] else t * self.batch + b)
    return self.time * self.batch


register_operator("SequenceMask", SequenceMaskProperty)
register_operator("SequenceLast", SequenceLastProperty)
register_operator("SequenceReverse", SequenceReverseProperty)
