"""Reductions under NumPy's semantics: integers are summed as int64, their mean is a float, a result
without axes has the shape ()."""

from ...base.errors import ArgumentTypeError
from .._base import get_operator, register_operator
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, Int, Shape
from ..property import OperatorProperty, ShapesFromInput
from ..tensor.arg import ArgProperty
from ..tensor.reduce import ReduceHooks, ReduceProperty
from .examples import example_of
from .promotion import DEFAULT_FLOAT, FLOATS

_INTEGER_OPERATORS = {"sum": "wide_sum", "prod": "wide_prod"}  # reducers for integers


class _Reduction(ShapesFromInput, OperatorProperty):  # base of mx.np's reductions
    """Base of mx.np's reductions: the part in common with reductions of mx.nd."""

    inputs_doc = {"data": "The input, any shape."}
    axis = Shape(None, doc="Axis or axes to reduce; None reduces all.")
    keepdims = Bool(False, doc="Keep the reduced axes with length 1.")
    no_axes = ()
    exclude = False
    reduction = gradient = None
    reads = True  # whether the gradient is a function of data and output
    mean = False
    reduced_axes = ReduceProperty.reduced_axes
    shapes_from = ReduceProperty.shapes_from
    declare_backward_dependency = ReduceProperty.declare_backward_dependency
    create_operator = ReduceProperty.create_operator


class NumpyReduce(_Reduction):
    """Base of reductions of numbers."""

    same = False  # whether the result of integers has their dtype
    like = None  # name of the same operator of mx.nd

    @property
    def second_order(self):
        """The rule of the second order, that of mx.nd's operator."""
        return get_operator(self.like).prop.second_order

    def out_type(self, data):
        """The output's dtype."""
        if data in FLOATS or self.same:
            return data
        return DEFAULT_FLOAT if self.mean else "int64"

    def infer_type(self, in_types, out_types):
        data = in_types[0] or (out_types[0] if out_types[0] in FLOATS else None)
        return [data], [out_types[0] if data is None else self.out_type(data)], []

    def create_operator(self, ctx, in_shapes, in_types):
        from ._loops import WideReduceOperator

        out = self.out_type(in_types[0])
        if out == in_types[0] and not self.mean:
            return super().create_operator(ctx, in_shapes, in_types)
        if in_types[0] in FLOATS:
            return super().create_operator(ctx, in_shapes, in_types)
        name = "real_mean" if self.mean else _INTEGER_OPERATORS[self.reduction]
        return WideReduceOperator(self, in_shapes[0], in_types[0], out, name)


class NumpyTruth(_Reduction):  # any and all, of bools
    """Base of any and all, of arrays of bool."""

    differentiable = False
    gradient, reads = "equal", True

    def infer_type(self, in_types, out_types):
        if in_types[0] not in (None, "bool"):
            raise ArgumentTypeError(f"operator {self.op_name} takes bools, got {in_types[0]}")
        return ["bool"], ["bool"], []


class NumpyArgReduction(ShapesFromInput, KernelProperty):  # argmax and argmin
    """Base of argmax and argmin, whose results are int64."""

    inputs_doc = {"data": "The input, any shape."}
    axis = Int(None, doc="Axis to search along; None searches the whole array.")
    keepdims = Bool(False, doc="Keep the searched axis with length 1.")
    differentiable = False
    floats = ()
    no_axes = ()
    shapes_from = ArgProperty.shapes_from
    kernel_params = ArgProperty.kernel_params

    def infer_type(self, in_types, out_types):
        if in_types[0] == "bool":
            raise ArgumentTypeError(f"operator {self.op_name} takes numbers, got bools")
        return [in_types[0]], ["int64"], []


# name, base, docstring, attributes, result for no elements
_REDUCTION_ROWS = (  # one row an operator
    (
        "_np_sum",
        NumpyReduce,
        "Sum of elements over axes.",
        {"reduction": "sum", "gradient": "grad_right", "reads": False},
        0.0,
    ),
    (
        "_npi_mean",
        NumpyReduce,
        "Arithmetic mean over axes.",
        {"reduction": "sum", "gradient": "grad_right", "reads": False, "mean": True},
        float("nan"),
    ),
    (
        "_np_prod",
        NumpyReduce,
        "Product over axes.",
        {"reduction": "prod", "gradient": "prod_grad"},
        1.0,
    ),
    (
        "_np_max",
        NumpyReduce,
        "Largest element over axes; NaN if one is.",
        {"reduction": "max", "gradient": "equal", "same": True},
        None,
    ),
    (
        "_np_min",
        NumpyReduce,
        "Smallest element over axes; NaN if one is.",
        {"reduction": "min", "gradient": "equal", "same": True},
        None,
    ),
    ("_np_any", NumpyTruth, "Whether any element over axes is true.", {"reduction": "max"}, 0.0),
    ("_np_all", NumpyTruth, "Whether all elements over axes are true.", {"reduction": "min"}, 1.0),
)

for _name, _base, _doc, _own, _of_nothing in _REDUCTION_ROWS:
    _made = {"__doc__": _doc, "__module__": __name__, "graph": ReduceHooks(of_nothing=_of_nothing)}
    register_operator(
        _name,
        type(
            _name,
            (_base,),
            {**_made, **_own, "like": _name.rpartition("_")[2], "example": example_of(_name)},
        ),
    )
for _name, _kernel, _doc in (
    ("_npi_argmax", "argmax_index", "Index of the largest element along an axis, of int64."),
    ("_npi_argmin", "argmin_index", "Index of the smallest element along an axis, of int64."),
):
    _made = {"__doc__": _doc, "__module__": __name__, "forward": Kernel(_kernel)}
    _made["example"] = example_of(_name)
    register_operator(_name, type(_name, (NumpyArgReduction,), _made))
