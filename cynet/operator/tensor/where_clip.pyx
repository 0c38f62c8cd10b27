# distutils: extra_compile_args = -O1
"""Operators that choose by value: clip, hard_sigmoid and where."""

from libc.stdint cimport int64_t
from libc.string cimport memset

from ..._typedefs cimport TBlob, dtype_size, kAddTo, kNullOp
from ...kernels.elementwise.where_clip cimport (
    run_clip, run_clip_grad, run_hard_sigmoid, run_hard_sigmoid_grad, run_where
)
from .._base cimport Operator, OpContext

from ...base.dtype import dtype_flag
from ...base.errors import ArgumentError, ShapeError
from .._base import register_operator
from ..checks.dtypes import GPU_FLOATS, require_floats
from ..graph_hooks import GraphHooks
from ..parameters import Float
from ..property import OperatorProperty, is_known, merge_shapes


class ClipProperty(OperatorProperty):
    """Each element limited to [a_min, a_max].

    The gradient passes where ``a_min <= data <= a_max``.
    """

    inputs_doc = {"data": "The input, any shape."}
    graph = GraphHooks(elementwise=True)
    a_min = Float(doc="Lower limit.")
    a_max = Float(doc="Upper limit.")

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [*out_grad, *in_data]

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_grad[0], in_grad[0])]

    def create_operator(self, ctx, in_shapes, in_types):
        return ClipOperator(self.a_min, self.a_max, in_types[0])


cdef class ClipOperator(Operator):
    """clip for one dtype and pair of limits."""

    cdef double low, high
    cdef int dtype

    def __init__(self, low, high, dtype):
        if dtype == "bool":
            raise ArgumentError("operator clip does not take arrays of bool; cast them first")
        self.low, self.high = low, high
        self.dtype = dtype_flag(dtype)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] != kNullOp:
            run_clip(self.dtype, in_data[0].data, self.low, self.high, out_data[0].data,
                     out_data[0].size, req[0] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if req[0] != kNullOp:
            run_clip_grad(self.dtype, out_grad[0].data, in_data[0].data, self.low, self.high,
                          in_grad[0].data, in_grad[0].size, req[0] == kAddTo)
        return 0


class HardSigmoidProperty(OperatorProperty):
    """``output = alpha * data + beta``, limited to [0, 1]."""

    inputs_doc = {"data": "The input, any shape."}
    graph = GraphHooks(elementwise=True)
    alpha = Float(0.2, doc="Slope.")
    beta = Float(0.5, doc="Shift.")

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [*out_grad, *out_data]

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_grad[0], in_grad[0])]

    def create_operator(self, ctx, in_shapes, in_types):
        require_floats(self, ["data"], in_types, GPU_FLOATS)
        return HardSigmoidOperator(self.alpha, self.beta, in_types[0])


cdef class HardSigmoidOperator(Operator):
    """hard_sigmoid for one dtype and line."""

    cdef double alpha, beta
    cdef int dtype

    def __init__(self, alpha, beta, dtype):
        self.alpha, self.beta = alpha, beta
        self.dtype = dtype_flag(dtype)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] != kNullOp:
            run_hard_sigmoid(self.dtype, in_data[0].data, self.alpha, self.beta, out_data[0].data,
                             out_data[0].size, req[0] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if req[0] != kNullOp:
            run_hard_sigmoid_grad(self.dtype, out_grad[0].data, out_data[0].data, self.alpha,
                                  in_grad[0].data, in_grad[0].size, req[0] == kAddTo)
        return 0


class WhereProperty(OperatorProperty):
    """Elements of x where the condition is nonzero, of y elsewhere.

    A condition of one axis may also choose whole rows: its length is that of x's first axis.
    """

    inputs_doc = {
        "condition": "Of the shape of x, or of its first axis alone; any dtype.",
        "x": "Taken where the condition is nonzero.",
        "y": "Taken elsewhere; of the shape of x.",
    }

    def infer_shape(self, in_shapes, out_shapes):
        condition, *rest = in_shapes
        shape = merge_shapes(*rest, *out_shapes)
        if condition is not None and shape is not None:
            if len(condition) == 1 and len(shape) != 1:
                if is_known(condition) and shape[0] not in (0, condition[0]):
                    raise ShapeError(f"where: condition {condition} chooses rows of {shape}")
            else:
                condition = merge_shapes(condition, shape)
        return [condition, shape, shape], [shape], []

    def infer_type(self, in_types, out_types):
        known = next((t for t in (*in_types[1:], *out_types) if t is not None), None)
        if any(t not in (None, known) for t in (*in_types[1:], *out_types)):
            raise ArgumentError(
                f"where: x, y and the output have types {in_types[1:]}, {out_types}")
        return [in_types[0] or known, known, known], [known], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [*out_grad, in_data[0]]

    def create_operator(self, ctx, in_shapes, in_types):
        return WhereOperator(*in_types)


cdef class WhereOperator(Operator):
    """where for a dtype of the condition and one of the rest."""

    cdef int cond_dtype, dtype

    def __init__(self, cond_type, dtype, _):
        self.cond_dtype, self.dtype = dtype_flag(cond_type), dtype_flag(dtype)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] != kNullOp:
            run_where(self.dtype, self.cond_dtype, in_data[0].data,
                      out_data[0].size / in_data[0].size,
                      in_data[1].data, in_data[2].data, out_data[0].data, out_data[0].size,
                      req[0] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef const TBlob* g = out_grad
        cdef int64_t each = g.size / in_data[0].size
        cdef void* unused = NULL
        if req[0] != kNullOp and req[0] != kAddTo:
            memset(in_grad[0].data, 0, in_grad[0].size * dtype_size(in_grad[0].dtype))
        if req[1] != kNullOp:
            run_where(self.dtype, self.cond_dtype, in_data[0].data, each, g.data, unused,
                      in_grad[1].data, g.size, req[1] == kAddTo)
        if req[2] != kNullOp:
            run_where(self.dtype, self.cond_dtype, in_data[0].data, each, unused, g.data,
                      in_grad[2].data, g.size, req[2] == kAddTo)
        return 0


register_operator("clip", ClipProperty)
register_operator("hard_sigmoid", HardSigmoidProperty)
register_operator("where", WhereProperty)
