"""Operators that change the dtype: Cast, amp_cast, amp_multicast.

Real to integer truncates; the gradient is cast back.
"""

from libcpp.vector cimport vector

from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.elementwise.elementwise cimport Kernel, run_cast, run_cast_add
from ...kernels.table cimport find_unary
from .._base cimport Operator, OpContext

from ...base.dtype import dtype_flag
from .._base import register_operator
from ..graph_hooks import GraphHooks
from ..parameters import MOST_ARRAYS, Bool, DType, Int
from ..property import OperatorProperty, merge_shapes


class CastProperty(OperatorProperty):
    """The input in another dtype."""

    inputs_doc = {"data": "The input, any shape and dtype."}
    graph = GraphHooks(bfloat16_loops=True)
    dtype = DType(doc="Dtype of the output.")

    def infer_type(self, in_types, out_types):
        return [in_types[0]], [self.dtype], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return out_grad

    def create_operator(self, ctx, in_shapes, in_types):
        return CastOperator(in_types[0], self.dtype)


# what automatic mixed precision casts, narrow ones first; float64 is somebody's wish
FLOATING = ("bfloat16", "float16", "float32")


class AmpCastProperty(CastProperty):
    """The input in another dtype where it is bfloat16, float16 or float32, else as it is; as
    automatic mixed precision inserts it."""

    def infer_type(self, in_types, out_types):
        kind = in_types[0]
        if kind is None:
            return in_types, [None], []
        return in_types, [self.dtype if kind in FLOATING else kind], []

    def create_operator(self, ctx, in_shapes, in_types):
        return CastOperator(in_types[0], self.infer_type(in_types, [None])[1][0])


class AmpMulticastProperty(OperatorProperty):
    """Inputs of bfloat16, float16 and float32 in one dtype, the wider that is there; others as they
    are. bfloat16 and float16 beside each other become float32."""

    key_var_num_args = "num_outputs"
    num_outputs = Int(doc="Number of inputs; filled in from the call.", low=1, high=MOST_ARRAYS)
    cast_narrow = Bool(False, doc="True: the narrower.")
    graph = GraphHooks(takes_empty=True, bfloat16_loops=True)

    def list_arguments(self):
        return [f"data_{i}" for i in range(self.num_outputs)]

    def list_outputs(self):
        return [f"output{i}" for i in range(self.num_outputs)] if self.num_outputs > 1 else [
            "output"]

    def infer_shape(self, in_shapes, out_shapes):
        shapes = [merge_shapes(*pair) for pair in zip(in_shapes, out_shapes)]
        return shapes, shapes, []

    def infer_type(self, in_types, out_types):
        if None in in_types:
            return in_types, [None] * self.num_outputs, []
        floating = sorted((t for t in in_types if t in FLOATING), key=FLOATING.index)
        at = 0 if self.cast_narrow else len(floating) - 1
        common = floating[at] if floating else None
        if not self.cast_narrow and {"bfloat16", "float16"} <= {*floating}:
            common = "float32"  # neither holds all numbers of the other
        return in_types, [common if t in FLOATING else t for t in in_types], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return out_grad

    def create_operator(self, ctx, in_shapes, in_types):
        return MulticastOperator(in_types, self.infer_type(in_types, [])[1])


cdef class CastOperator(Operator):
    """One dtype to another, and back."""

    cdef int source, target
    cdef Kernel add, add_back  # what adds the cast values

    def __init__(self, source, target):
        self.source, self.target = dtype_flag(source), dtype_flag(target)
        self.add = find_unary(b"identity", self.target, True)
        self.add_back = find_unary(b"identity", self.source, True)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        _cast(self.source, self.target, &self.add, req[0], in_data[0].data, out_data)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        _cast(self.target, self.source, &self.add_back, req[0], out_grad[0].data, in_grad)
        return 0


cdef class MulticastOperator(Operator):
    """Several casts at once."""

    cdef list casts  # keeps them alive
    cdef vector[void*] each

    def __init__(self, sources, targets):
        self.casts = [CastOperator(*pair) for pair in zip(sources, targets)]
        for cast in self.casts:
            self.each.push_back(<void*>cast)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef size_t i
        for i in range(self.each.size()):
            (<CastOperator>self.each[i]).forward(ctx, in_data + i, req + i, out_data + i, NULL)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef size_t i
        for i in range(self.each.size()):
            (<CastOperator>self.each[i]).backward(ctx, out_grad + i, in_data, out_data, req + i,
                                                  in_grad + i, NULL)
        return 0


cdef void _cast(int source, int target, const Kernel* add, int req, const void* src,
                TBlob* dst) noexcept nogil:
    if req == kAddTo:
        run_cast_add(add, source, src, dst.data, dst.size)
    elif req != kNullOp:
        run_cast(source, target, src, dst.data, dst.size)


register_operator("Cast", CastProperty, aliases=("cast",))
register_operator("amp_cast", AmpCastProperty)
register_operator("amp_multicast", AmpMulticastProperty)
