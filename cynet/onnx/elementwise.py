"""Elementwise functions as ONNX writes them."""

from __future__ import annotations

import math

import numpy as np

from .graph import exports

_UNARY = {
    "relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "exp": "Exp", "log": "Log",
    "sqrt": "Sqrt", "abs": "Abs", "negative": "Neg", "floor": "Floor", "ceil": "Ceil",
    "sin": "Sin", "cos": "Cos", "tan": "Tan", "arcsin": "Asin",
    "arccos": "Acos", "arctan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "arcsinh": "Asinh",
    "arccosh": "Acosh", "arctanh": "Atanh", "erf": "Erf", "sign": "Sign",
    "reciprocal": "Reciprocal", "softsign": "Softsign",
}  # fmt: skip
_BINARY = {"add": "Add", "plus": "Add", "sub": "Sub", "minus": "Sub", "mul": "Mul", "div": "Div",
           "power": "Pow", "maximum": "Max", "minimum": "Min"}  # fmt: skip
_COMPARED = {"equal": "Equal", "not_equal": "Equal", "greater": "Greater", "lesser": "Less",
             "greater_equal": "GreaterOrEqual", "lesser_equal": "LessOrEqual"}  # fmt: skip
_LOGICAL = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}


def _number(g, c, value):
    return g.constant(np.array(value, c.dtypes[0]))


@exports(*_UNARY)
def unary(g, c):
    if c.op == "relu" and not c.dtypes[0].startswith("float"):
        return g.emit("Max", [c.inputs[0], _number(g, c, 0)])
    return g.emit(_UNARY[c.op], c.inputs)


def _word(op):
    """The function's bare name: broadcast_add, elemwise_add, _plus and _plus_scalar are one."""
    for each in ("broadcast_", "elemwise_", "_"):
        op = op.removeprefix(each)
    return op.removesuffix("_scalar")


def _names(table):
    return [f"{pre}{w}" for w in table for pre in ("broadcast_", "_")]


def _compared(g, c, word, inputs):
    made = g.emit(_COMPARED[word], inputs)
    if word == "not_equal":
        made = g.emit("Not", [made])
    return g.cast(made, c.out_dtypes[0])


@exports(*_names(_BINARY), *(f"elemwise_{w}" for w in ("add", "sub", "mul", "div")))
def binary(g, c):
    return g.emit(_BINARY[_word(c.op)], c.inputs)


@exports(*_names(_COMPARED))
def compared(g, c):
    return _compared(g, c, _word(c.op), c.inputs)


@exports(*_names(_LOGICAL))
def logical(g, c):
    inputs = [g.cast(each, "bool") for each in c.inputs]
    return g.cast(g.emit(_LOGICAL[_word(c.op)], inputs), c.out_dtypes[0])


@exports("logical_not")
def logical_not(g, c):
    return g.cast(g.emit("Not", [g.cast(c.inputs[0], "bool")]), c.out_dtypes[0])


@exports(*(f"_{w}_scalar" for w in _BINARY if w not in ("add", "sub")),
         *(f"_r{w}_scalar" for w in ("minus", "div", "power")))  # fmt: skip
def with_scalar(g, c):
    word = _word(c.op)
    inputs = [c.inputs[0], _number(g, c, c.prop.scalar)]
    if word in ("rminus", "rdiv", "rpower"):
        word, inputs = word[1:], inputs[::-1]
    return g.emit(_BINARY[word], inputs)


@exports(*(f"_{w}_scalar" for w in _COMPARED))
def compared_with_scalar(g, c):
    return _compared(g, c, _word(c.op), [c.inputs[0], _number(g, c, c.prop.scalar)])


@exports(
    "square", "rsqrt", "cbrt", "rcbrt", "log2", "log10", "log1p", "expm1", "degrees", "radians"
)
def formulas(g, c):
    x = c.inputs[0]
    if c.op == "square":
        return g.emit("Mul", [x, x])
    if c.op == "rsqrt":
        return g.emit("Reciprocal", [g.emit("Sqrt", [x])])
    if c.op in ("cbrt", "rcbrt"):
        root = g.emit("Pow", [g.emit("Abs", [x]), _number(g, c, 1 / 3)])
        root = g.emit("Mul", [g.emit("Sign", [x]), root])
        return root if c.op == "cbrt" else g.emit("Reciprocal", [root])
    if c.op in ("log2", "log10"):
        base = {"log2": 2, "log10": 10}[c.op]
        return g.emit("Mul", [g.emit("Log", [x]), _number(g, c, 1 / math.log(base))])
    if c.op == "log1p":
        return g.emit("Log", [g.emit("Add", [x, _number(g, c, 1)])])
    if c.op == "expm1":
        return g.emit("Sub", [g.emit("Exp", [x]), _number(g, c, 1)])
    factor = 180 / math.pi if c.op == "degrees" else math.pi / 180
    return g.emit("Mul", [x, _number(g, c, factor)])


@exports("rint")
def rint(g, c):
    """The nearest whole number, halves down; ONNX rounds them to even ones."""
    x = c.inputs[0]
    low, high = g.emit("Floor", [x]), g.emit("Ceil", [x])
    down = g.emit("LessOrEqual", [g.emit("Sub", [x, low]), g.emit("Sub", [high, x])])
    return g.emit("Where", [down, low, high])


@exports("broadcast_mod", "_mod", "_mod_scalar", "_rmod_scalar")
def mod(g, c):
    """The remainder with the sign of the divisor, 0 where that is 0."""
    inputs, dtype = list(c.inputs), c.out_dtypes[0]
    if c.op.endswith("_scalar"):
        inputs.append(_number(g, c, c.prop.scalar))
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
    return g.emit("Where", [none, zero, made])


@exports("_random_normal", "_random_uniform", "_random_uniform_like", "_random_normal_like")
def drawn(g, c):
    """Numbers that the runtime draws: of the same distribution, not the same ones."""
    p, kind = c.prop, "RandomNormal" if "normal" in c.op else "RandomUniform"
    more = {"mean": p.loc, "scale": p.scale} if "normal" in c.op else {"low": p.low, "high": p.high}
    if c.op.endswith("_like"):
        return g.emit(f"{kind}Like", c.inputs, **more)
    made = g.emit(kind, [], shape=list(c.out_shapes[0]), dtype=1, **more)
    return made if c.out_dtypes[0] == "float32" else g.cast(made, c.out_dtypes[0])


@exports("_sample_multinomial")
def multinomial(g, c):
    p = c.prop
    if p.get_prob:
        c.refuse("get_prob=True")
    data = c.inputs[0] if len(c.shapes[0]) == 2 else g.unsqueeze(c.inputs[0], 0)
    count = int(np.prod(p.shape, dtype=int)) if p.shape else 1
    made = g.emit("Multinomial", [g.emit("Log", [data])], sample_size=count, dtype=7)
    return g.cast(g.reshape(made, c.out_shapes[0]), c.out_dtypes[0])


@exports("round", "trunc", "fix")
def rounded(g, c):
    """Half away from zero, or towards zero; ONNX rounds half to even."""
    size = g.emit("Abs", c.inputs)
    made = g.emit("Floor", [size])
    if c.op == "round":  # size + 0.5 would round up what is just below a half
        half = g.emit("GreaterOrEqual", [g.emit("Sub", [size, made]), _number(g, c, 0.5)])
        made = g.emit("Add", [made, g.cast(half, c.dtypes[0])])
    return g.emit("Mul", [g.emit("Sign", c.inputs), made])


@exports("hard_sigmoid")
def hard_sigmoid(g, c):
    return g.emit("HardSigmoid", c.inputs, alpha=c.prop.alpha, beta=c.prop.beta)


@exports("clip")
def clip(g, c):
    return g.emit("Clip", [c.inputs[0], _number(g, c, c.prop.a_min), _number(g, c, c.prop.a_max)])


@exports("add_n", "ElementWiseSum")
def add_n(g, c):
    return g.emit("Sum", c.inputs)


@exports("smooth_l1")
def smooth_l1(g, c):
    x, s = c.inputs[0], c.prop.scalar**2
    limit = 1 / s if s else math.inf
    size = g.emit("Abs", [x])
    inner = g.emit("Mul", [g.emit("Mul", [x, x]), _number(g, c, 0.5 * s)])
    outer = g.emit("Sub", [size, _number(g, c, 0.5 * limit)])
    return g.emit("Where", [g.emit("Less", [size, _number(g, c, limit)]), inner, outer])


@exports("where")
def where(g, c):
    return g.emit("Where", [g.cast(c.inputs[0], "bool"), *c.inputs[1:]])


@exports("Cast", "cast", "amp_cast")
def cast(g, c):
    return g.cast(c.inputs[0], c.prop.dtype)


@exports("zeros_like", "ones_like")
def filled_like(g, c):
    fill = np.array([c.op == "ones_like"], c.dtypes[0])
    shape = g.emit("Shape", c.inputs)
    return g.emit("Expand", [g.constant(fill), shape])
