"""LayoutAdapter (contract in layout_adapter.pxd): copies arrays into the layout of an operator in
temporary memory, and its results back."""

from libc.string cimport memcpy

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, aligned, dtype_size, kNullOp, kWriteTo

from ..tensor.strided_moves import StridedPart, StridedCopyOperator, whole_view
from ..tensor.transpose import permute_view

cdef enum:
    MAX_INPUTS = 3  # data, weight and bias


def reorder_moves(shape):
    """(pieces, shape): moves that turn an array (N, *size, C) of `shape` into (N, C, *size)."""
    order = 0, len(shape) - 1, *range(1, len(shape) - 1)
    source = permute_view(whole_view(shape), order)
    return [StridedPart(source, whole_view(source.shape))], source.shape


def reordering_operator(shape, dtype):
    """The Operator that makes these moves on a CPU."""
    return StridedCopyOperator(dtype, reorder_moves(shape)[0])


cdef class LayoutAdapter(Operator):  # runs an operator on arrays of another layout
    """Runs `inner`, of at most three inputs and one output, on arrays of another layout.

    inner (Operator): It reads no shapes of tensors. On a CPU it leaves the last resource alone.
    data, weight, out (Operator or None): How inputs 0 and 1 and the output are copied.
    """

    def __init__(self, Operator inner not None, Operator data, Operator weight, Operator out):
        self.inner, self.data, self.weight, self.out = inner, data, weight, out
        self.stateful = inner.stateful

    cdef char* workspace(self, OpContext* ctx, size_t nbytes) except NULL nogil:  # temporary memory
        return <char*>get_space(&ctx.requested[ctx.n_requested - 1], nbytes)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef TBlob given[MAX_INPUTS]
        cdef TBlob made = out_data[0]
        cdef int requests = req[0]
        cdef char* at
        if req[0] == kNullOp:
            return 0
        at = self.workspace(ctx, _input_bytes(self, ctx, in_data) + _nbytes(self.out, out_data))
        at = _reorder_inputs(self, ctx, in_data, given, at)
        if self.out is not None:
            made.data, requests = at, kWriteTo
        self.inner.forward(ctx, given, &requests, &made, aux_states)
        if self.out is not None:
            _reorder_output(self.out, ctx, &made, req, out_data)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef TBlob given[MAX_INPUTS]
        cdef TBlob wanted[MAX_INPUTS]
        cdef TBlob head, made
        cdef int requests[MAX_INPUTS]
        cdef char* at
        at = self.workspace(ctx, _nbytes(self.out, out_grad) + _nbytes(self.out, out_data)
                            + _input_bytes(self, ctx, in_data) + _input_bytes(self, ctx, in_grad))
        at = _reorder_input(self.out, ctx, out_grad, &head, at)
        at = _reorder_input(self.out, ctx, out_data, &made, at)
        at = _reorder_inputs(self, ctx, in_data, given, at)
        memcpy(wanted, in_grad, ctx.n_in * sizeof(TBlob))
        memcpy(requests, req, ctx.n_in * sizeof(int))
        if self.data is not None and req[0] != kNullOp:
            wanted[0].data, requests[0] = at, kWriteTo
            at += _nbytes(self.data, in_grad)
        if self.weight is not None and req[1] != kNullOp:
            wanted[1].data, requests[1] = at, kWriteTo
        self.inner.backward(ctx, &head, given, &made, requests, wanted, aux_states)
        if self.data is not None and req[0] != kNullOp:
            _reorder_output(self.data, ctx, &wanted[0], &req[0], &in_grad[0])
        if self.weight is not None and req[1] != kNullOp:
            _reorder_output(self.weight, ctx, &wanted[1], &req[1], &in_grad[1])
        return 0


cdef inline size_t _nbytes(Operator move, const TBlob* blob) noexcept nogil:  # temporary memory
    # bytes of temporary memory; 0 if nothing is copied
    if move is None or blob.data == NULL:
        return 0
    return aligned(blob.size * dtype_size(blob.dtype))


cdef size_t _input_bytes(LayoutAdapter self, OpContext* ctx, const TBlob* blobs) noexcept nogil:
    return _nbytes(self.data, blobs) + (_nbytes(self.weight, blobs + 1) if ctx.n_in > 1 else 0)


cdef char* _reorder_inputs(LayoutAdapter self, OpContext* ctx, const TBlob* in_data, TBlob* given,
                           char* at) except NULL nogil:
    """Set `given` to the inputs in `inner`'s layout; returns the end of the memory in use."""
    memcpy(given, in_data, ctx.n_in * sizeof(TBlob))
    at = _reorder_input(self.data, ctx, in_data, given, at)
    return _reorder_input(self.weight, ctx, in_data + 1, given + 1, at) if ctx.n_in > 1 else at


cdef OpContext _context_of_one_copy(OpContext* ctx) noexcept nogil:  # for the copy of one tensor
    cdef OpContext alone = ctx[0]
    alone.n_in = alone.n_out = 1
    alone.n_aux = 0
    alone.rows = NULL
    return alone


cdef char* _reorder_input(Operator move, OpContext* ctx, const TBlob* given, TBlob* to,
                          char* at) except NULL nogil:
    cdef OpContext alone = _context_of_one_copy(ctx)
    cdef int write = kWriteTo
    to[0] = given[0]
    if move is None or given.data == NULL:
        return at
    to.data = at
    move.forward(&alone, given, &write, to, NULL)
    return at + _nbytes(move, given)


cdef int _reorder_output(Operator move, OpContext* ctx, const TBlob* made, const int* req,
                         TBlob* to) except -1 nogil:
    cdef OpContext alone = _context_of_one_copy(ctx)
    return move.backward(&alone, made, NULL, NULL, req, to, NULL)
