# distutils: extra_compile_args = -O1
"""fill_element_0index: one element of each row replaced."""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, dtype_size, kNullOp
from ...kernels.movement.index cimport read_indices
from .._base cimport Operator, OpContext
from ..results cimport deliver, room_for

from ...base.errors import ArgumentError, ShapeError
from .._base import register_operator
from ..property import OperatorProperty, ResourceRequest, merge_shapes


class FillElementProperty(OperatorProperty):
    """`lhs` with one element of each row replaced: ``out[i, rhs[i]] = mhs[i]``.

    A row whose index is not one of its columns stays as it is.
    """

    differentiable = False
    inputs_doc = {"lhs": "A matrix (n, k).", "mhs": "What is put in, shape (n).",
                  "rhs": "The column for each row, shape (n)."}

    def infer_shape(self, in_shapes, out_shapes):
        lhs = merge_shapes(in_shapes[0], out_shapes[0])
        if lhs is not None and len(lhs) != 2:
            raise ShapeError(f"operator {self.op_name}: 'lhs' has shape {tuple(lhs)}, expected a "
                             "matrix")
        rows = merge_shapes(in_shapes[1], in_shapes[2], None if lhs is None else lhs[:1])
        if lhs is not None:
            lhs = (rows[0], lhs[1])
        return [lhs, rows, rows], [lhs], []

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space, ResourceRequest.temp_space]

    def create_operator(self, ctx, in_shapes, in_types):
        if in_types[0] == "bool":
            raise ArgumentError(f"operator {self.op_name} does not take arrays of bool")
        return FillElementOperator()


cdef class FillElementOperator(Operator):
    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int64_t n = in_data[1].size, k = in_data[0].shape[1], i
        cdef size_t each = dtype_size(in_data[0].dtype)
        cdef int64_t* column
        cdef char* out
        if req[0] == kNullOp:
            return 0
        column = <int64_t*>get_space(&ctx.requested[1], n * sizeof(int64_t))
        read_indices(in_data[2].dtype, in_data[2].data, column, n)
        out = <char*>room_for(ctx, out_data, req, 0)
        memcpy(out, in_data[0].data, in_data[0].size * each)
        for i in range(n):
            if 0 <= column[i] < k:
                memcpy(out + (i * k + column[i]) * each, <char*>in_data[1].data + i * each, each)
        deliver(out_data, req, 0, out)
        return 0


register_operator("fill_element_0index", FillElementProperty)
