# distutils: extra_compile_args = -O1
# cython: wraparound=True
"""Embedding: out[..., :] = weight[data[...]]; weight (input_dim, output_dim)."""

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

from ..._typedefs cimport TBlob, dtype_size, kAddTo, kNullOp
from ...kernels.movement.embedding cimport embedding_backward, embedding_forward
from .._base cimport Operator, OpContext

from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..graph_hooks import GraphHooks
from ..parameters import Bool, DType, Int
from ..property import OperatorProperty
from ..checks.shapes import agree


class EmbeddingProperty(OperatorProperty):
    """Rows of `weight` by index: ``out[..., :] = weight[data[...]]``.

    Indices are truncated to integers; one below 0 counts as 0 and one beyond the last as the last.
    """

    input_dim = Int(doc="Number of rows of weight.", low=1)
    output_dim = Int(doc="Length of a row.", low=1)
    dtype = DType("float32", doc="Dtype of weight, if nothing else determines it.")
    sparse_grad = Bool(False, doc="For weights with a row_sparse gradient; else it is dense.")

    graph = GraphHooks(float32_beside_half=("data",))
    inputs_doc = {"data": "Indices, any shape and dtype.",
                  "weight": "Rows (input_dim, output_dim)."}

    def infer_shape(self, in_shapes, out_shapes):
        data, out = in_shapes[0], out_shapes[0]
        weight = agree("weight", in_shapes[1], (self.input_dim, self.output_dim))
        if data is not None:
            out = agree("output", out, (*data, self.output_dim))
        elif out is not None:
            out = agree("output", out, (*(0,) * (len(out) - 1), self.output_dim))
        if out is not None:
            data = out[:-1]
        return [data, weight], [out], []

    def infer_type(self, in_types, out_types):
        weight = in_types[1] or out_types[0] or self.dtype
        return [in_types[0] or weight, weight], [out_types[0] or weight], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], in_data[0]]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, ["weight"], in_types[1:])
        return EmbeddingOperator(self.input_dim, self.output_dim)


cdef class EmbeddingOperator(Operator):
    cdef int64_t rows, dim

    def __init__(self, rows, dim):
        self.rows, self.dim = rows, dim
        self._rows_of = 1

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] != kNullOp:
            embedding_forward(in_data[0].data, in_data[0].dtype, in_data[0].size, in_data[1].data,
                              out_data[0].dtype, self.rows, self.dim, out_data[0].data,
                              req[0] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef uint64_t* bits = NULL
        cdef bint known = False
        if ctx.rows != NULL:
            bits, known = ctx.rows.bits.data(), ctx.rows.known
            ctx.rows.most.store(min(in_data[0].size, self.rows))
        if req[0] != kNullOp and req[0] != kAddTo:
            memset(in_grad[0].data, 0, in_grad[0].size * dtype_size(in_grad[0].dtype))
        if req[1] != kNullOp:
            embedding_backward(in_data[0].data, in_data[0].dtype, in_data[0].size, out_grad[0].data,
                               out_grad[0].dtype, self.rows, self.dim, in_grad[1].data,
                               req[1] == kAddTo, bits, known)
        return 0


register_operator("Embedding", EmbeddingProperty)
