"""Elementwise functions under NumPy's semantics: the functors that ``mx.nd`` has, with operands of
any dtypes that broadcast, and results of the dtypes that `promotion` says.

``_npi_add(lhs, rhs)``, ``_npi_add_scalar(data, scalar)``, ``_npi_exp(data)``: MXNet's names.
"""

from ...base.errors import ArgumentError, ArgumentTypeError
from ..functions.numpy_rows import BITS
from ..functions.row import BACKWARD_READS, BOOL, SAME, Gradient
from ..graph_hooks import GraphHooks
from ..parameters import Bool, Number
from ..property import OperatorProperty
from ..tensor.broadcast import BroadcastProperty
from .promotion import (
    FLOATS,
    INTEGERS,
    check_int_range,
    comparison_dtype,
    promote_dtypes,
    refuse_floats,
    result_dtype,
    scalar_dtype,
)

# Functor of numbers -> functor of bools, if it differs: a sum is "or", as for NumPy.
_BOOL_FUNCTORS = {"plus": "logical_or", "mul": "logical_and", "bitwise_not": "logical_not"}
_NOT_FOR_BOOLS = ("minus", "negative", "gcd", "lcm")  # functions that refuse bools
# Functions of two bools that use the loops of int8.
_INT8_FUNCTORS = ("remainder", "power", "floor_divide", "fmod", "left_shift", "right_shift")


class NumpyHooks(GraphHooks):  # graph hooks of mx.np's functions
    """Graph hooks: the operator is one loop if all arrays have the same dtype and shape."""

    def takes_bfloat16(self, prop, in_shapes, in_types):
        return len({*in_shapes}) == 1  # else a gradient would sum rounded numbers


class _ElementwiseProperty(OperatorProperty):  # base of mx.np's functions
    """Base of mx.np's elementwise operators."""

    functor = None
    result = SAME
    graph = NumpyHooks()

    def functor_for(self, compute):
        """Return the operator's functor for loops of a dtype."""
        return _BOOL_FUNCTORS.get(self.functor, self.functor) if compute == "bool" else self.functor


class NumpyUnary(_ElementwiseProperty):
    """Base of unary functions."""

    inputs_doc = {"data": "The input, any shape."}
    gradient = None
    reads = ""  # argument of the gradient functor: 'x' data, 'y' output, '' none
    backward_reads = BACKWARD_READS[reads]

    def infer_type(self, in_types, out_types):
        data = in_types[0]
        if data is None:  # infer backwards if possible
            data = out_types[0] if out_types[0] in FLOATS else None
            return [data], [out_types[0]], []
        if data == "bool" and self.functor in _NOT_FOR_BOOLS:
            raise ArgumentTypeError(f"operator {self.op_name} does not take arrays of bool")
        if self.result == BITS:
            refuse_floats(self.op_name, [data])
        return [data], [result_dtype(self.result, data)], []

    def create_operator(self, ctx, in_shapes, in_types):
        from ._loops import UnaryOperator

        out = self.infer_type(in_types, [None])[1][0]
        compute = in_types[0] if self.result == BOOL else out
        return UnaryOperator(self, in_types[0], out, compute)


class _BinaryProperty(_ElementwiseProperty):  # base: functions of two operands
    """The base of functions of two operands."""

    gradients = Gradient("grad_one", "grad_one", False, False)

    def _out_and_loop_dtype(self, common, compared):
        """Return (the output's dtype, the loop's dtype)."""
        if self.result == BITS:
            refuse_floats(self.op_name, [common])
        if common == "bool" and self.functor in _NOT_FOR_BOOLS:
            raise ArgumentTypeError(
                f"operator {self.op_name} does not take two bools; logical_xor or astype serve"
            )
        if self.functor == "nextafter" and common in ("float16", "bfloat16"):
            raise ArgumentTypeError(
                f"operator {self.op_name} does not take {common}: its numbers lie further apart "
                "than those of float32, which it is computed in"
            )
        if common == "bool" and self.functor in _INT8_FUNCTORS:
            common = "int8"
        out = result_dtype(self.result, common)
        return out, compared if self.result == BOOL else out

    def gradient_dtype(self, types, out):
        """The dtype in which gradients are computed."""
        if out in FLOATS:
            return out
        common = types[0]
        for each in types[1:]:
            common = promote_dtypes(common, each)
        return "float64" if common in ("int64", "int32") else "float32"


class NumpyBinary(_BinaryProperty):
    """Base of functions of two arrays, which broadcast."""

    infer_shape = BroadcastProperty.infer_shape
    backward_resource = BroadcastProperty.backward_resource

    inputs_doc = {"lhs": "The left operand.", "rhs": "The right operand."}

    def infer_type(self, in_types, out_types):
        lhs, rhs = in_types
        if lhs is None and rhs is None:
            known = out_types[0] if self.result != BOOL else None
            lhs = rhs = known if known in FLOATS else None
        lhs, rhs = lhs or rhs, rhs or lhs
        if lhs is None:
            return [None, None], [out_types[0]], []
        return [lhs, rhs], [self._out_and_loop_dtype(promote_dtypes(lhs, rhs), None)[0]], []

    def create_operator(self, ctx, in_shapes, in_types):
        from ._loops import BinaryOperator

        lhs, rhs = in_types
        out, compute = self._out_and_loop_dtype(
            promote_dtypes(lhs, rhs), comparison_dtype(lhs, rhs)
        )
        return BinaryOperator(self, [lhs, rhs], out, compute)


class NumpyScalar(_BinaryProperty):
    """Base of functions of an array and a Python number, which is weak: the array's dtype wins."""

    inputs_doc = {"data": "The array operand, any shape."}
    scalar = Number(1.0, doc="The number operand.")
    is_int = Bool(True, doc="Whether the number is an int: a float beside integers gives floats.")
    reverse = False  # the number is the left operand

    def infer_type(self, in_types, out_types):
        data = in_types[0]
        if data is None:
            data = out_types[0] if self.result != BOOL and out_types[0] in FLOATS else None
            return [data], [out_types[0]], []
        return [data], [self._scalar_dtype(data)[0]], []

    def _scalar_dtype(self, data):
        whole = self.is_int and float(self.scalar).is_integer()
        common = scalar_dtype(data, whole)
        compared = common
        if self.result == BOOL and data not in FLOATS:
            compared = "int64" if whole and -(1 << 63) <= self.scalar < 1 << 63 else "float64"
        found = self._out_and_loop_dtype(common, compared)
        if found[0] in INTEGERS and whole:
            number = getattr(self.scalar, "exact", self.scalar)
            check_int_range(int(number), found[0], f"operator {self.op_name}")
            if self.functor == "power" and not self.reverse and self.scalar < 0:
                raise ArgumentError(
                    f"operator {self.op_name}: integers to a negative integer power, "
                    f"{int(self.scalar)}, are no integers; astype('float32') gives fractions"
                )
        return found

    def create_operator(self, ctx, in_shapes, in_types):
        from ._loops import ScalarOperator

        return ScalarOperator(self, in_types[0], *self._scalar_dtype(in_types[0]))
