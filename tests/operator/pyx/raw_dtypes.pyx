"""Raw operators that say nothing of dtypes, or declare them; compiled by
tests/operator/custom/test_declared_dtypes.py."""

from libc.string cimport memcpy

from cynet._typedefs cimport TBlob, dtype_size
from cynet.operator._base cimport OpContext, Operator

import cynet as mx


cdef class PlusState(Operator):
    """Copies the bytes of its input, as if both sides held what is promised."""

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        memcpy(out_data[0].data, in_data[0].data, in_data[0].size * dtype_size(in_data[0].dtype))
        return 0


class Copies(mx.operator.OperatorProperty):
    """The input."""

    differentiable = False

    def create_operator(self, ctx, in_shapes, in_types):
        return PlusState()


@mx.operator.register("raw_silent")
class Silent(Copies):
    """Says nothing of dtypes."""


@mx.operator.register("raw_integers")
class Integers(Copies):
    """Declares two."""

    dtypes = ("int32", "uint8")


@mx.operator.register("raw_labelled")
class Labelled(Copies):
    """Takes labels of any dtype, and says nothing."""

    def list_arguments(self):
        return ["data", "label"]

    def infer_type(self, in_types, out_types):
        return [in_types[0], in_types[1] or "int32"], [in_types[0]], []


@mx.operator.register("raw_other_output")
class OtherOutput(Copies):
    """Its output is float64, which it does not declare."""

    def infer_type(self, in_types, out_types):
        return in_types, ["float64"], []


@mx.operator.register("raw_stateful")
class Stateful(Copies):
    """Its state is float64, which it does not declare."""

    def list_auxiliary_states(self):
        return ["moving"]

    def infer_shape(self, in_shapes, out_shapes):
        return in_shapes, in_shapes, in_shapes

    def infer_type(self, in_types, out_types):
        return in_types, in_types, ["float64"]
