"""Binary functions of an array and a number: one row a function.

``output[i] = F(data[i], scalar)``, or ``F(scalar, data[i])`` in the reversed rows. The number is
taken in the array's dtype: an integer array stays one, and 1.5 added to it adds 1.
"""


from ..._typedefs cimport TBlob, kAddTo, kBool, kFloat64, kNullOp
from ...kernels.binary cimport find_binary
from ...kernels.binary_grad cimport find_binary_grad
from ...kernels.elementwise cimport Kernel, run_binary, run_cast, run_grad
from .._base cimport Operator, OpContext

from ...dtype import dtype_flag
from ...errors import ArgumentError
from .._base import register_operator
from ..parameters import Bool, Float
from ..property import OperatorProperty
from .binary_rows import GRADIENTS, TAKES_BOOL


class BinaryScalarProperty(OperatorProperty):
    """Base of the rows below: one array, one number."""

    inputs_doc = {"data": "The array operand, any shape."}
    scalar = Float(1.0, doc="The number.")
    is_int = Bool(True, doc="Whether the number was written as an int; without effect.")
    functor = None
    elementwise = True
    reverse = False  # the number is the left operand

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [*out_grad, *in_data] if GRADIENTS[self.functor].reads else out_grad

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_grad[0], in_grad[0])]

    def create_operator(self, ctx, in_shapes, in_types):
        return BinaryScalarOperator(self, in_types[0])


cdef class BinaryScalarOperator(Operator):
    """The loops of one row for one dtype and number."""

    cdef Kernel write, add, grad_write, grad_add
    cdef bint reverse
    cdef int dtype
    cdef char scalar[8]  # the number in the array's dtype

    def __init__(self, prop, dtype):
        cdef int flag = dtype_flag(dtype)
        cdef bytes functor = prop.functor.encode(), name
        cdef double value = prop.scalar
        if flag == kBool and prop.functor not in TAKES_BOOL:
            raise ArgumentError(
                f"operator {prop.op_name} does not take arrays of bool; cast them first")
        run_cast(kFloat64, flag, &value, self.scalar, 1)
        self.dtype = flag
        self.reverse = prop.reverse
        gradient = GRADIENTS[prop.functor]
        name = (gradient.rhs if prop.reverse else gradient.lhs).encode()
        self.write = find_binary(functor, flag, False)
        self.add = find_binary(functor, flag, True)
        self.grad_write = find_binary_grad(name, flag, False)
        self.grad_add = find_binary_grad(name, flag, True)

    def with_scalar(self, double value):
        """The same operator for another number: what an imperative call with a new number needs."""
        cdef BinaryScalarOperator out = BinaryScalarOperator.__new__(BinaryScalarOperator)
        out.write, out.add = self.write, self.add
        out.grad_write, out.grad_add = self.grad_write, self.grad_add
        out.reverse, out.dtype = self.reverse, self.dtype
        run_cast(kFloat64, self.dtype, &value, out.scalar, 1)
        return out

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef const Kernel* kernel = &self.add if req[0] == kAddTo else &self.write
        if req[0] == kNullOp:
            return 0
        if self.reverse:
            run_binary(kernel, self.scalar, 0, in_data[0].data, 1, out_data[0].data,
                       out_data[0].size)
        else:
            run_binary(kernel, in_data[0].data, 1, self.scalar, 0, out_data[0].data,
                       out_data[0].size)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef const Kernel* kernel = &self.grad_add if req[0] == kAddTo else &self.grad_write
        cdef void* g = out_grad[0].data
        cdef void* x = in_data[0].data if in_data[0].data != NULL else g
        if req[0] == kNullOp:
            return 0
        if self.reverse:
            run_grad(kernel, g, 1, self.scalar, 0, x, 1, in_grad[0].data, in_grad[0].size)
        else:
            run_grad(kernel, g, 1, x, 1, self.scalar, 0, in_grad[0].data, in_grad[0].size)
        return 0


# name, functor, reversed, aliases, docstring
cdef list ROWS = [
    ("_plus_scalar", "plus", False, ("_PlusScalar",), "A number added to each element."),
    ("_minus_scalar", "minus", False, ("_MinusScalar",), "A number subtracted from each element."),
    ("_rminus_scalar", "minus", True, ("_RMinusScalar",), "Each element subtracted from a number."),
    ("_mul_scalar", "mul", False, ("_MulScalar",), "Each element multiplied by a number."),
    ("_div_scalar", "div", False, ("_DivScalar",), "Each element divided by a number."),
    ("_rdiv_scalar", "div", True, ("_RDivScalar",), "A number divided by each element."),
    ("_mod_scalar", "mod", False, ("_ModScalar",),
     "Remainder of each element divided by a number."),
    ("_rmod_scalar", "mod", True, ("_RModScalar",),
     "Remainder of a number divided by each element."),
    ("_power_scalar", "power", False, ("_PowerScalar",),
     "Each element raised to the power of a number."),
    ("_rpower_scalar", "power", True, ("_RPowerScalar",),
     "A number raised to the power of each element."),
    ("_maximum_scalar", "maximum", False, ("_MaximumScalar",),
     "The larger of each element and a number."),
    ("_minimum_scalar", "minimum", False, ("_MinimumScalar",),
     "The smaller of each element and a number."),
    ("_hypot_scalar", "hypot", False, ("_HypotScalar",),
     "``sqrt(data ** 2 + scalar ** 2)``, element by element."),
    ("_equal_scalar", "equal", False, ("_EqualScalar",),
     "1 where an element equals a number, else 0."),
    ("_not_equal_scalar", "not_equal", False, ("_NotEqualScalar",),
     "1 where an element is not a number, else 0."),
    ("_greater_scalar", "greater", False, ("_GreaterScalar",),
     "1 where an element is above a number, else 0."),
    ("_greater_equal_scalar", "greater_equal", False, ("_GreaterEqualScalar",),
     "1 where an element is not below a number, else 0."),
    ("_lesser_scalar", "lesser", False, ("_LesserScalar",),
     "1 where an element is below a number, else 0."),
    ("_lesser_equal_scalar", "lesser_equal", False, ("_LesserEqualScalar",),
     "1 where an element is not above a number, else 0."),
    ("_logical_and_scalar", "logical_and", False, ("_LogicalAndScalar",),
     "1 where an element and a number are both nonzero, else 0."),
    ("_logical_or_scalar", "logical_or", False, ("_LogicalOrScalar",),
     "1 where an element or a number is nonzero, else 0."),
    ("_logical_xor_scalar", "logical_xor", False, ("_LogicalXorScalar",),
     "1 where exactly one of an element and a number is nonzero, else 0."),
]

for _name, _functor, _reverse, _aliases, _doc in ROWS:
    register_operator(_name, type(_name, (BinaryScalarProperty,), {
        "__doc__": _doc, "__module__": __name__, "functor": _functor, "reverse": _reverse,
        "differentiable": GRADIENTS[_functor].exists}), aliases=_aliases)
