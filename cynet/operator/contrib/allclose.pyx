"""allclose: 1 where all elements of two arrays agree within tolerances, else 0."""

from libc.stdint cimport uint8_t

from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.reduce.closeness cimport all_close
from .._base cimport Operator, OpContext

from ...base.errors import ArgumentError
from .._base import register_operator
from ..graph_hooks import GraphHooks
from ..parameters import Bool, Float
from ..property import OperatorProperty, merge_shapes


class AllCloseProperty(OperatorProperty):
    """Whether ``|a - b| <= atol + rtol |b|`` for all elements: an array of one uint8, 1 or 0."""

    differentiable = False
    graph = GraphHooks(of_nothing=1.0)
    inputs_doc = {"a": "An array.", "b": "Another one of its shape and dtype."}
    rtol = Float(1e-5, doc="Tolerance relative to b.")
    atol = Float(1e-8, doc="Absolute tolerance.")
    equal_nan = Bool(True, doc="Whether NaN equals NaN.")

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(*in_shapes)
        return [shape, shape], [merge_shapes((1,), out_shapes[0])], []

    def infer_type(self, in_types, out_types):
        kind = in_types[0] or in_types[1]
        if in_types[1] not in (None, kind):
            raise ArgumentError(f"operator {self.op_name}: 'a' is {kind} but 'b' is {in_types[1]}")
        return [kind, kind], ["uint8"], []

    def create_operator(self, ctx, in_shapes, in_types):
        if in_types[0] == "bool":
            raise ArgumentError(f"operator {self.op_name} does not take arrays of bool")
        return AllCloseOperator(self.rtol, self.atol, self.equal_nan)


cdef class AllCloseOperator(Operator):
    cdef double relative, absolute
    cdef bint equal_nan

    def __init__(self, relative, absolute, equal_nan):
        self.relative, self.absolute, self.equal_nan = relative, absolute, equal_nan

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef uint8_t close
        if req[0] == kNullOp:
            return 0
        close = all_close(in_data[0].dtype, in_data[0].data, in_data[1].data, in_data[0].size,
                          self.relative, self.absolute, self.equal_nan)
        (<uint8_t*>out_data[0].data)[0] = close + (
            (<uint8_t*>out_data[0].data)[0] if req[0] == kAddTo else 0)
        return 0


register_operator("_contrib_allclose", AllCloseProperty)
