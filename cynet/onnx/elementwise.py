"""Exporters of elementwise functions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..operator.functions import BINARY, UNARY
from ..operator.functions.row import BOOL, FLOAT
from ..operator.random.choice import MultinomialProperty
from ..operator.tensor.add_n import AddNProperty
from ..operator.tensor.cast import AmpCastProperty, CastProperty
from ..operator.tensor.where_clip import ClipProperty, HardSigmoidProperty, WhereProperty
from .graph import exports, prop_classes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .graph import Graph, OpNode


def _emit_constant(g: Graph, c: OpNode, value: Any) -> str:
    return g.constant(np.array(value, c.dtypes[0]))


def emit_elementwise(
    g: Graph, row: Any, inputs: Sequence[str], dtype: str, number: float | None = None
) -> str:
    """Write the node, or nodes, of an elementwise function; constants get the dtype `dtype`.
    `number` is the second operand if that is a number."""
    if "float" not in dtype and row.onnx == "Div":
        return _integer_division(g, inputs[0], inputs[1], dtype)
    if "float" not in dtype and row.onnx == "Pow":
        return _integer_power(g, inputs[0], inputs[1], dtype, number)

    def emit(word: str, *given: Any) -> str:
        return g.emit(
            word, [v if isinstance(v, str) else g.constant(np.array(v, dtype)) for v in given]
        )

    return row.onnx(emit, *inputs) if callable(row.onnx) else g.emit(row.onnx, inputs)


def _dtype_to_hold(dtype: str, *numbers: float) -> str:
    """Return a dtype that also holds `numbers`, which may not fit the integer dtype `dtype`."""
    if dtype.startswith("float") or not numbers:
        return dtype
    if not all(float(each).is_integer() for each in numbers):
        return "float64"
    ends = np.iinfo("uint8" if dtype == "bool" else dtype)
    return dtype if all(ends.min <= each <= ends.max for each in numbers) else "int64"


@exports(*prop_classes(*(row.name for row in UNARY if row.onnx)))
def unary_node(g: Graph, c: OpNode) -> str:
    row, dtype = c.prop.function, c.dtypes[0]
    if c.op == "relu" and not dtype.startswith("float"):
        return g.emit("Max", [c.inputs[0], _emit_constant(g, c, 0)])
    if not dtype.startswith("float") and row.result == FLOAT:
        c.refuse(f"its data are {dtype}: cast them to a float")  # results are fractions
    return emit_elementwise(g, row, c.inputs, dtype)


@exports(*prop_classes(*(f.name for row in BINARY if row.onnx for f in row.forms().values())))
def binary_node(g: Graph, c: OpNode) -> str:
    row, inputs, dtype, number = c.prop.function, list(c.inputs), c.dtypes[0], None
    if len(inputs) == 1:
        number = None if c.prop.reverse else c.prop.scalar
        dtype = _dtype_to_hold(dtype, c.prop.scalar)
        if dtype != c.dtypes[0]:
            inputs = [g.cast(inputs[0], dtype)]
        inputs.append(g.constant(np.array(c.prop.scalar, dtype)))
        inputs = inputs[::-1] if c.prop.reverse else inputs
    if row.result == BOOL and not row.sign:
        inputs = [g.cast(each, "bool") for each in inputs]
    made = emit_elementwise(g, row, inputs, dtype, number)
    is_other = row.result == BOOL or dtype != c.dtypes[0]
    return g.cast(made, c.out_dtypes[0]) if is_other else made


def _integer_division(g: Graph, a: str, b: str, dtype: str) -> str:
    """Write an integer division, 0 where the divisor is 0: runtimes crash there."""
    zero, one = (g.constant(np.array(number, dtype)) for number in (0, 1))
    none = g.emit("Equal", [b, zero])
    return g.emit("Where", [none, zero, g.emit("Div", [a, g.emit("Where", [none, one, b])])])


def _integer_power(g: Graph, a: str, b: str, dtype: str, number: float | None) -> str:
    """Write an integer power: products for a constant exponent, since runtimes compute in double; a
    negative exponent gives 0 where the result is a fraction, and for base 0."""
    if number is not None and number >= 0:
        made = g.constant(np.array(1, dtype))
        for bit in f"{int(number):b}":
            made = g.emit("Mul", [made, made])
            made = g.emit("Mul", [a, made]) if bit == "1" else made
        return made if number else g.emit("Add", [g.emit("Sub", [a, a]), made])
    zero, one = (g.constant(np.array(value, dtype)) for value in (0, 1))
    apart = g.emit("Not", [g.emit("Equal", [g.emit("Abs", [a]), one])])
    fraction = g.emit("And", [g.emit("Less", [b, zero]), apart])
    return g.emit("Where", [fraction, zero, g.emit("Pow", [a, g.emit("Abs", [b])])])


@exports(*prop_classes("logical_not"))
def logical_not(g: Graph, c: OpNode) -> str:
    return g.cast(g.emit("Not", [g.cast(c.inputs[0], "bool")]), c.out_dtypes[0])


@exports(*prop_classes("rint"))
def rint(g: Graph, c: OpNode) -> str:
    """Write rounding to the nearest integer, halves down; ONNX rounds halves to even."""
    x = c.inputs[0]
    low, high = g.emit("Floor", [x]), g.emit("Ceil", [x])
    down = g.emit("LessOrEqual", [g.emit("Sub", [x, low]), g.emit("Sub", [high, x])])
    return g.emit("Where", [down, low, high])


@exports(*prop_classes("broadcast_mod", "_mod", "_mod_scalar", "_rmod_scalar"))
def mod(g: Graph, c: OpNode) -> str:
    """Write the remainder with the sign of the divisor; 0 for divisor 0."""
    inputs, dtype = list(c.inputs), c.out_dtypes[0]
    if c.op.endswith("_scalar"):
        dtype = _dtype_to_hold(dtype, c.prop.scalar)
        inputs = [g.cast(inputs[0], dtype)] if dtype != c.dtypes[0] else inputs
        inputs.append(g.constant(np.array(c.prop.scalar, dtype)))
        inputs = inputs[::-1] if c.op == "_rmod_scalar" else inputs
    a, b = inputs
    zero = g.constant(np.array(0, dtype))
    none = g.emit("Equal", [b, zero])
    divisor = g.emit("Where", [none, g.constant(np.array(1, dtype)), b])
    if not dtype.startswith("float"):
        made = g.emit("Mod", [a, divisor])
    else:
        made = g.emit("Mod", [a, divisor], fmod=1)
        other = g.emit("Less", [g.emit("Mul", [made, g.emit("Sign", [b])]), zero])
        made = g.emit("Where", [other, g.emit("Add", [made, b]), made])
    made = g.emit("Where", [none, zero, made])
    return made if dtype == c.out_dtypes[0] else g.cast(made, c.out_dtypes[0])


@exports(*prop_classes("_random_normal", "_random_uniform"))
@exports(*prop_classes("_random_normal_like", "_random_uniform_like"))
def random_node(g: Graph, c: OpNode) -> str:
    """Write a node whose random numbers the runtime draws: the same distribution, other values."""
    p, kind = c.prop, "RandomNormal" if "normal" in c.op else "RandomUniform"
    more = {"mean": p.loc, "scale": p.scale} if "normal" in c.op else {"low": p.low, "high": p.high}
    if c.op.endswith("_like"):
        return g.emit(f"{kind}Like", c.inputs, **more)
    made = g.emit(kind, [], shape=list(c.out_shapes[0]), dtype=1, **more)
    return made if c.out_dtypes[0] == "float32" else g.cast(made, c.out_dtypes[0])


@exports(MultinomialProperty)
def multinomial(g: Graph, c: OpNode) -> str:
    p = c.prop
    if p.get_prob:
        c.refuse("get_prob=True")
    data = c.inputs[0] if len(c.shapes[0]) == 2 else g.unsqueeze(c.inputs[0], 0)
    count = int(np.prod(p.shape, dtype=int)) if p.shape else 1
    made = g.emit("Multinomial", [g.emit("Log", [data])], sample_size=count, dtype=7)
    return g.cast(g.reshape(made, c.out_shapes[0]), c.out_dtypes[0])


@exports(*prop_classes("round", "trunc", "fix"))
def round_node(g: Graph, c: OpNode) -> str:
    """Write rounding of halves away from zero, or truncation; ONNX rounds halves to even."""
    size = g.emit("Abs", c.inputs)
    made = g.emit("Floor", [size])
    if c.op == "round":  # size + 0.5 would round a number just below a half up
        half = g.emit("GreaterOrEqual", [g.emit("Sub", [size, made]), _emit_constant(g, c, 0.5)])
        made = g.emit("Add", [made, g.cast(half, c.dtypes[0])])
    return g.emit("Mul", [g.emit("Sign", c.inputs), made])


@exports(HardSigmoidProperty)
def hard_sigmoid(g: Graph, c: OpNode) -> str:
    return g.emit("HardSigmoid", c.inputs, alpha=c.prop.alpha, beta=c.prop.beta)


@exports(ClipProperty)
def clip(g: Graph, c: OpNode) -> str:
    return g.emit(
        "Clip",
        [c.inputs[0], _emit_constant(g, c, c.prop.a_min), _emit_constant(g, c, c.prop.a_max)],
    )


@exports(AddNProperty)
def add_n(g: Graph, c: OpNode) -> str:
    return g.emit("Sum", c.inputs)


@exports(*prop_classes("smooth_l1"))
def smooth_l1(g: Graph, c: OpNode) -> str:
    x, s = c.inputs[0], c.prop.scalar**2
    limit = 1 / s if s else math.inf
    dtype = _dtype_to_hold(c.dtypes[0], 0.5)
    x = x if dtype == c.dtypes[0] else g.cast(x, dtype)
    size = g.emit("Abs", [x])
    half, end, turn = (g.constant(np.array(v, dtype)) for v in (0.5 * s, 0.5 * limit, limit))
    inner = g.emit("Mul", [g.emit("Mul", [x, x]), half])
    made = g.emit("Where", [g.emit("Less", [size, turn]), inner, g.emit("Sub", [size, end])])
    return made if dtype == c.dtypes[0] else g.cast(made, c.out_dtypes[0])


@exports(WhereProperty)
def where(g: Graph, c: OpNode) -> str:
    return g.emit("Where", [g.cast(c.inputs[0], "bool"), *c.inputs[1:]])


@exports(CastProperty, AmpCastProperty)
def cast(g: Graph, c: OpNode) -> str:
    return g.cast(c.inputs[0], c.prop.dtype)


@exports(*prop_classes("zeros_like", "ones_like"))
def fill_like(g: Graph, c: OpNode) -> str:
    fill = np.array([c.op == "ones_like"], c.dtypes[0])
    shape = g.emit("Shape", c.inputs)
    return g.emit("Expand", [g.constant(fill), shape])
