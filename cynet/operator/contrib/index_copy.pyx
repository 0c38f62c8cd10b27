# distutils: extra_compile_args = -O1
"""index_copy: old_tensor with the rows `index_vector` replaced by those of new_tensor."""

from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, dtype_size, kAddTo, kNullOp
from ...kernels.movement.index cimport read_indices, run_gather, run_scatter
from .._base cimport Operator, OpContext
from ..results cimport deliver, room_for

from ...base.errors import BoundsError, ShapeError
from .._base import register_operator
from ..property import OperatorProperty, ResourceRequest, merge_shapes


class IndexCopyProperty(OperatorProperty):
    """`old_tensor` with rows replaced: ``out[index_vector[i]] = new_tensor[i]``.

    Of equal indices the last one counts, and the gradient of each is that of its row. An index that
    is no row is an error.
    """

    inputs_doc = {
        "old_tensor": "Rows (n, ...).",
        "index_vector": "Which rows are replaced, shape (m).",
        "new_tensor": "What they become, shape (m, ...).",
    }

    def infer_shape(self, in_shapes, out_shapes):
        old, index, new = in_shapes
        old = merge_shapes(old, out_shapes[0])
        if index is not None and len(index) != 1:
            raise ShapeError(f"operator {self.op_name}: 'index_vector' has shape {tuple(index)}, "
                             "expected one axis")
        if old is not None and new is not None and len(old) != len(new):
            raise ShapeError(f"operator {self.op_name}: 'new_tensor' of {new} has not as many axes "
                             f"as 'old_tensor' of {old}")
        count = 0 if index is None else index[0]
        if new is not None:
            new = merge_shapes(new, (count, *(old[1:] if old is not None else new[1:])))
        elif old is not None:
            new = (count, *old[1:])
        if old is not None:
            old = (old[0], *new[1:])
        if new is not None:
            index = merge_shapes(index, new[:1])
        return [old, index, new], [old], []

    def infer_type(self, in_types, out_types):
        kind = in_types[0] or in_types[2] or out_types[0]
        return [kind, in_types[1] or "int32", kind], [kind], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [*out_grad, in_data[1]]

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space, ResourceRequest.temp_space]

    def backward_resource(self, in_shapes):
        return [ResourceRequest.temp_space, ResourceRequest.temp_space]

    def create_operator(self, ctx, in_shapes, in_types):
        return IndexCopyOperator(in_shapes[0][0])


cdef int _no_row(int64_t which, int64_t n) except -1 with gil:
    raise BoundsError(f"operator _contrib_index_copy: index {which} of 'index_vector' is no row of "
                      f"'old_tensor', which has {n}")


cdef class IndexCopyOperator(Operator):
    """Replaces some of n rows."""

    cdef int64_t n

    def __init__(self, n):
        self.n = n

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int64_t m = in_data[1].size
        cdef int64_t* index
        cdef void* out
        if req[0] == kNullOp:
            return 0
        index = _indices(self, ctx, &in_data[1])
        out = room_for(ctx, out_data, req, 0)
        memcpy(out, in_data[0].data, in_data[0].size * dtype_size(in_data[0].dtype))
        run_scatter(in_data[0].dtype, False, 1, self.n, in_data[0].size // self.n, m, index,
                    in_data[2].data, out)
        deliver(out_data, req, 0, out)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int64_t m = in_data[1].size, width = out_grad[0].size // self.n, i
        cdef size_t row = width * dtype_size(out_grad[0].dtype)
        cdef int64_t* index = _indices(self, ctx, &in_data[1])
        cdef char* grad
        if req[1] != kNullOp and req[1] != kAddTo:
            memset(in_grad[1].data, 0, in_grad[1].size * dtype_size(in_grad[1].dtype))
        if req[0] != kNullOp:
            grad = <char*>room_for(ctx, in_grad, req, 0)
            memcpy(grad, out_grad[0].data, self.n * row)
            for i in range(m):
                memset(grad + index[i] * row, 0, row)
            deliver(in_grad, req, 0, grad)
        if req[2] != kNullOp:
            run_gather(out_grad[0].dtype, req[2] == kAddTo, 1, self.n, width, m, index,
                       out_grad[0].data, in_grad[2].data)
        return 0


cdef int64_t* _indices(IndexCopyOperator self, OpContext* ctx,
                       const TBlob* index) except NULL nogil:
    cdef int64_t* rows = <int64_t*>get_space(&ctx.requested[1], index.size * sizeof(int64_t))
    cdef int64_t i
    read_indices(index.dtype, index.data, rows, index.size)
    for i in range(index.size):
        if rows[i] < 0 or rows[i] >= self.n:
            _no_row(rows[i], self.n)
    return rows


register_operator("_contrib_index_copy", IndexCopyProperty)
