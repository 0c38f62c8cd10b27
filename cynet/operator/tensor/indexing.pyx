# distutils: extra_compile_args = -O1
"""Operators that read and write by index: take, pick, batch_take, one_hot, gather_nd, scatter_nd.

Index arrays may have any dtype (fractions are cut off) and have no gradient; their values are
brought into bounds by `mode`, or refused.
"""

from libc.stdint cimport int64_t
from libc.string cimport memset

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, dtype_size, kAddTo, kNullOp
from ...kernels.movement.index cimport (
    INDEX_RAISE, bound_indices, read_indices, run_gather, run_one_hot, run_pick, run_scatter
)
from .._base cimport Operator, OpContext

from ...base.dtype import dtype_flag
from ...base.errors import ArgumentError
from .index_properties import MODES


cdef int64_t* _indices(OpContext* ctx, const TBlob* index, int64_t n, int mode,
                       str where) except NULL nogil:
    """The values of `index` as int64 within [0, n), in temporary space."""
    cdef int64_t* values = <int64_t*>get_space(&ctx.requested[0], index.size * sizeof(int64_t))
    cdef int64_t wrong
    read_indices(index.dtype, index.data, values, index.size)
    wrong = bound_indices(values, index.size, n, mode)
    if wrong >= 0:
        with gil:
            raise ArgumentError(
                f"operator {where}: index {values[wrong]} is out of bounds for an axis of "
                f"length {n}; there are 0 to {n - 1}")
    return values


cdef void _zero(const TBlob* blob, int req) noexcept nogil:
    """Zeros for a write request: an index's gradient, or what values are then added into."""
    if req != kNullOp and req != kAddTo:
        memset(blob.data, 0, blob.size * dtype_size(blob.dtype))


cdef class AxisOperator(Operator):
    """Data (outer, n, inner) and an index into its middle axis."""

    cdef int64_t outer, n, inner
    cdef int dtype, mode
    cdef str name

    def __init__(self, name, dtype, outer, n, inner, mode):
        self.name, self.dtype = name, dtype_flag(dtype)
        self.outer, self.n, self.inner = outer, n, inner
        self.mode = MODES.index(mode)


cdef class TakeOperator(AxisOperator):
    """Rows of data by index."""

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int64_t* index
        if req[0] != kNullOp:
            index = _indices(ctx, &in_data[1], self.n, self.mode, self.name)
            run_gather(self.dtype, req[0] == kAddTo, self.outer, self.n, self.inner,
                       in_data[1].size,
                       index, in_data[0].data, out_data[0].data)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int64_t* index
        _zero(&in_grad[0], req[0])
        _zero(&in_grad[1], req[1])
        if req[0] != kNullOp:
            index = _indices(ctx, &in_data[1], self.n, self.mode, self.name)
            run_scatter(self.dtype, True, self.outer, self.n, self.inner, in_data[1].size, index,
                        out_grad[0].data, in_grad[0].data)
        return 0


cdef class PickOperator(AxisOperator):
    """One element of each row of data."""

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int64_t* index
        if req[0] != kNullOp:
            index = _indices(ctx, &in_data[1], self.n, self.mode, self.name)
            run_pick(self.dtype, False, req[0] == kAddTo, self.outer, self.n, self.inner, index,
                     in_data[0].data, out_data[0].data)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int64_t* index
        _zero(&in_grad[0], req[0])
        _zero(&in_grad[1], req[1])
        if req[0] != kNullOp:
            index = _indices(ctx, &in_data[1], self.n, self.mode, self.name)
            run_pick(self.dtype, True, True, self.outer, self.n, self.inner, index, in_grad[0].data,
                     out_grad[0].data)
        return 0


cdef class OneHotOperator(Operator):
    """A row of `depth` values for each index."""

    cdef int64_t depth
    cdef double on, off
    cdef int dtype

    def __init__(self, dtype, depth, on, off):
        self.dtype = dtype_flag(dtype)
        self.depth, self.on, self.off = depth, on, off

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int64_t* index
        if req[0] != kNullOp:
            index = <int64_t*>get_space(&ctx.requested[0], in_data[0].size * sizeof(int64_t))
            read_indices(in_data[0].dtype, in_data[0].data, index, in_data[0].size)
            run_one_hot(self.dtype, req[0] == kAddTo, in_data[0].size, self.depth, self.on,
                        self.off,
                        index, out_data[0].data)
        return 0


cdef int64_t* _flat_indices(OpContext* ctx, const TBlob* index, const int64_t* lengths,
                            str where) except NULL nogil:
    """Positions that the columns of `index` (axes, m) name in an array of `lengths`, row-major;
    negative indices count from the end."""
    cdef int64_t* values = <int64_t*>get_space(&ctx.requested[0], index.size * sizeof(int64_t))
    cdef int64_t axes = index.shape[0], m = index.size / axes, a, j, wrong
    read_indices(index.dtype, index.data, values, index.size)
    for a in range(axes):
        for j in range(a * m, (a + 1) * m):
            if -lengths[a] <= values[j] < 0:
                values[j] += lengths[a]
        wrong = bound_indices(values + a * m, m, lengths[a], INDEX_RAISE)
        if wrong >= 0:
            with gil:
                raise ArgumentError(
                    f"operator {where}: index {values[a * m + wrong]} is out of bounds for "
                    f"axis {a} of length {lengths[a]}")
        if a > 0:
            for j in range(m):
                values[j] = values[j] * lengths[a] + values[a * m + j]
    return values


cdef class GatherNDOperator(Operator):
    """Elements or blocks of data at index tuples; `scatters`: the other way round."""

    cdef int64_t lengths[8]
    cdef int64_t n, inner
    cdef int dtype
    cdef bint scatters
    cdef str name

    def __init__(self, name, dtype, lengths, inner, bint scatters):
        cdef int i
        self.name, self.dtype, self.scatters = name, dtype_flag(dtype), scatters
        self.n = 1
        for i, length in enumerate(lengths):
            self.lengths[i] = length
            self.n *= length
        self.inner = inner

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int64_t* index
        cdef int64_t m = in_data[1].size / in_data[1].shape[0]
        if req[0] == kNullOp:
            return 0
        index = _flat_indices(ctx, &in_data[1], self.lengths, self.name)
        if self.scatters:
            _zero(out_data, req[0])
            run_scatter(self.dtype, req[0] == kAddTo, 1, self.n, self.inner, m, index,
                        in_data[0].data,
                        out_data[0].data)
        else:
            run_gather(self.dtype, req[0] == kAddTo, 1, self.n, self.inner, m, index,
                       in_data[0].data,
                       out_data[0].data)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int64_t* index
        cdef int64_t m = in_data[1].size / in_data[1].shape[0]
        _zero(&in_grad[1], req[1])
        if req[0] == kNullOp:
            return 0
        index = _flat_indices(ctx, &in_data[1], self.lengths, self.name)
        if self.scatters:
            run_gather(self.dtype, req[0] == kAddTo, 1, self.n, self.inner, m, index,
                       out_grad[0].data,
                       in_grad[0].data)
        else:
            _zero(&in_grad[0], req[0])
            run_scatter(self.dtype, True, 1, self.n, self.inner, m, index, out_grad[0].data,
                        in_grad[0].data)
        return 0
