"""Importers of elementwise functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import symbol as sym
from ..operator.array_methods import BINARY as OPERATORS
from ..operator.functions import BINARY, UNARY
from ..operator.functions.row import BOOL
from .importers import FLOATS, imports

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..symbol import Symbol
    from .importers import Node, Reader

_UNARY_NAMES = {row.onnx: row.name for row in UNARY if isinstance(row.onnx, str)}  # by ONNX kind
_UNARY_NAMES["Identity"] = "identity"
_BINARY_ROWS = {row.onnx: row for row in BINARY if isinstance(row.onnx, str)}  # by ONNX kind
_COMPARISON_KINDS = [word for word, row in _BINARY_ROWS.items() if row.result == BOOL]
_PAIRWISE_KINDS = ("Pow", "Max", "Min")  # with importers of their own
_MAX_FLOAT32 = float(np.finfo("float32").max)  # largest number
_MAX_BFLOAT16 = (2 - 2**-7) * 2.0**127  # largest number


def as_bool(value: Symbol) -> Symbol:
    """Convert a Symbol of zeros and ones to bool."""
    return sym.Cast(value, dtype="bool")


@imports(*_UNARY_NAMES)
def unary_node(reader: Reader, node: Node) -> Symbol:
    node.ignore("consumed_inputs")  # a hint of opset 1
    made: Symbol = getattr(sym, _UNARY_NAMES[node.kind])(node.symbol(0))
    return made


@imports("Not")
def logical_not(reader: Reader, node: Node) -> Symbol:
    return as_bool(sym.logical_not(node.symbol(0)))


def _aligned_operands(node: Node) -> Sequence[Symbol]:
    """Return two inputs of equal rank; below opset 7 the second begins at `axis` of the first."""
    if node.opset >= 7:
        return node.aligned_inputs(0, 1)
    node.ignore("consumed_inputs", "broadcast")
    a, b = node.rank(0), node.rank(1)
    axis = node.get("axis", a - b) % max(a, 1)
    other = node.symbol(1)
    for place in [0] * axis + [-1] * (a - b - axis):
        other = sym.expand_dims(other, axis=place)
    return [node.symbol(0), other]


@imports(*{*_BINARY_ROWS} - {*_COMPARISON_KINDS, *_PAIRWISE_KINDS})
def binary_node(reader: Reader, node: Node) -> Symbol:
    a, b = _aligned_operands(node)
    made: Symbol | None = _try_scalar_operator(node)
    if made is not None:
        return made
    if node.kind == "Add" and node.shape(0) is not None and node.shape(0) == node.shape(1):
        return sym.elemwise_add(a, b)  # elemwise_add can be fused with a layer
    return _call_broadcast_op(node, a, b)


def _call_broadcast_op(node: Node, a: Symbol, b: Symbol) -> Symbol:
    row: Any = _BINARY_ROWS[node.kind]
    made: Symbol = getattr(sym, row.broadcast.name)(a, b)
    return made


def _try_scalar_operator(node: Node) -> Any:
    """Use the operator with a scalar if one input is a float constant of one element."""
    if node.dtype(0) not in FLOATS or node.dtype(1) not in FLOATS:
        return None
    for i in (1, 0):
        value = node.value(i)
        if value is not None and value.size == 1 and value.ndim <= max(node.rank(1 - i), 1):
            names = OPERATORS[_BINARY_ROWS[node.kind].function]
            made = getattr(sym._internal, names.scalar if i else names.reflected)
            return made(node.symbol(1 - i), scalar=float(value.ravel()[0]))
    return None


@imports("Pow")
def power(reader: Reader, node: Node) -> Symbol:
    a, b = _aligned_operands(node)
    base, exponent = node.dtype(0), node.dtype(1)
    if base == exponent or (base in FLOATS and node.value(1) is not None):
        made: Symbol | None = _try_scalar_operator(node)
        if made is not None:
            return made
    if base == exponent and base in FLOATS:
        return sym.broadcast_power(a, b)
    if (base in FLOATS and exponent in FLOATS) or (base in FLOATS and base != "float16"):
        wide = "float64" if "float64" in (base, exponent) else "float32"
    else:
        wide = "float64"  # exact for integers below 2 ** 53
    made = sym.broadcast_power(sym.Cast(a, dtype=wide), sym.Cast(b, dtype=wide))
    return sym.Cast(made, dtype=base)


@imports(*_COMPARISON_KINDS)
def compare_node(reader: Reader, node: Node) -> Symbol:
    return as_bool(_call_broadcast_op(node, *_aligned_operands(node)))


@imports("Mod")
def mod(reader: Reader, node: Node) -> Symbol:
    """Import a remainder with the divisor's sign, or with fmod=1 the dividend's."""
    a, b = node.aligned_inputs(0, 1)
    if not node.get("fmod", 0):
        if not node.is_float():
            return sym.broadcast_mod(a, b)
        made, sign = sym.broadcast_mod(a, b), b
    else:
        made, sign = sym.broadcast_mod(sym.abs(a), sym.abs(b)), a
        made = sym.broadcast_mul(made, sym.sign(a))
        if not node.is_float():
            return sym.identity(made)
    # x mod 0 is 0 in cynet and NaN in ONNX; x mod infinity is x
    zero = sym.broadcast_mul(made, sym.zeros_like(sign))
    none = sym.broadcast_equal(sym.broadcast_add(zero, b), zero * 0)
    whole = sym.broadcast_add(made, sym.zeros_like(b))
    return sym.where(none, whole * float("nan"), whole)


def round_half_to_even(x: Symbol) -> Symbol:
    """Round to the nearest integer, halves to even, which no operator of cynet does."""
    low = sym.floor(x)
    over = x - low
    odd = low - sym.floor(low * 0.5) * 2
    up = (over > 0.5) + (over == 0.5) * odd
    return sym.where(x == low, x, low + up)  # infinity minus infinity is NaN


@imports("Round")
def round_node(reader: Reader, node: Node) -> Symbol:
    return round_half_to_even(node.symbol(0))


@imports("IsNaN")
def is_nan(reader: Reader, node: Node) -> Symbol:
    x = node.symbol(0)
    return as_bool(x != x)


@imports("IsInf")
def is_inf(reader: Reader, node: Node) -> Symbol:
    x, infinity = node.symbol(0), float("inf")
    above, below = node.get("detect_positive", 1), node.get("detect_negative", 1)
    if above and below:
        return as_bool(sym.abs(x) == infinity)
    if not above and not below:
        return as_bool(sym.zeros_like(x))
    return as_bool(x == (infinity if above else -infinity))


@imports("Max", "Min", "Sum", "Mean")
def combine_inputs(reader: Reader, node: Node) -> Symbol:
    node.ignore("consumed_inputs")
    found = node.aligned_inputs()
    make = {"Max": sym.broadcast_maximum, "Min": sym.broadcast_minimum}.get(
        node.kind, sym.broadcast_add
    )
    total = found[0]
    for each in found[1:]:
        total = make(total, each)
    if node.kind == "Mean":
        return sym._internal._div_scalar(total, scalar=float(len(found)))
    return total if len(found) > 1 else sym.identity(total)


@imports("Softplus")
def softplus(reader: Reader, node: Node) -> Symbol:
    return sym.Activation(node.symbol(0), act_type="softrelu")


@imports("HardSigmoid")
def hard_sigmoid(reader: Reader, node: Node) -> Symbol:
    node.ignore("consumed_inputs")
    alpha, beta = node.get("alpha", 0.2), node.get("beta", 0.5)
    return sym.hard_sigmoid(node.symbol(0), alpha=alpha, beta=beta)


@imports("HardSwish")
def hard_swish(reader: Reader, node: Node) -> Symbol:
    x = node.symbol(0)
    return sym.elemwise_mul(x, sym.hard_sigmoid(x, alpha=1 / 6, beta=0.5))


@imports("LeakyRelu", "Elu", "Selu")
def leaky_relu_node(reader: Reader, node: Node) -> Symbol:
    node.ignore("consumed_inputs")
    data = node.symbol(0)
    if node.kind == "Selu":
        old = node.opset < 6
        alpha = node.get("alpha", 1.6732 if old else 1.6732632423543772)
        gamma = node.get("gamma", 1.0507 if old else 1.0507009873554805)
        made = sym.LeakyReLU(data, act_type="elu", slope=alpha)
        return sym._internal._mul_scalar(made, scalar=gamma)
    kind: Any
    kind, slope = ("leaky", 0.01) if node.kind == "LeakyRelu" else ("elu", 1.0)
    return sym.LeakyReLU(data, act_type=kind, slope=node.get("alpha", slope))


@imports("PRelu")
def prelu(reader: Reader, node: Node) -> Symbol:
    """Import PRelu; constant slopes, one or one for each channel, become LeakyReLU."""
    node.ignore("consumed_inputs")
    slope, rank = node.value(1), node.rank(0)
    channels, by_channel = node.lengths(0)[1] if rank > 1 else None, False
    if node.opset < 7 and slope is not None and slope.ndim == 1 and slope.size > 1 and rank > 2:
        slope, by_channel = slope.reshape(1, -1, *[1] * (rank - 2)), True
    if slope is not None and rank > 1:
        # axes of the slopes with length other than 1, counted from the end as in NumPy
        wide_axes = [i - slope.ndim for i, n in enumerate(slope.shape) if n != 1]
        if wide_axes in ([], [1 - rank]) and slope.size in (1, channels) and slope.ndim <= rank:
            flat = reader.add_parameter(f"{node.inputs[1]}_flat", slope.ravel())
            return sym.LeakyReLU(node.symbol(0), flat, act_type="prelu")
    if node.opset < 7 and slope is None:
        node.refuse("slopes that are not constant, of opsets below 7")
    data, slopes = node.aligned_inputs(0, 1)
    if by_channel:
        slopes = reader.add_parameter(f"{node.inputs[1]}_rows", slope)
    down = sym.broadcast_mul(sym.broadcast_minimum(data, sym.zeros_like(data)), slopes)
    return sym.broadcast_add(sym.relu(data), down)


@imports("ThresholdedRelu")
def thresholded_relu_node(reader: Reader, node: Node) -> Symbol:
    x = node.symbol(0)
    over = x > node.get("alpha", 1.0)
    return sym.where(over, x, sym.zeros_like(x))


@imports("Shrink")
def shrink(reader: Reader, node: Node) -> Symbol:
    x, bias, limit = node.symbol(0), node.get("bias", 0.0), node.get("lambd", 0.5)
    if not node.is_float():
        node.refuse(f"of {node.dtype(0)}")
    inner = sym.where(x > limit, x - bias, sym.zeros_like(x))
    return sym.where(x < -limit, x + bias, inner)


@imports("Gelu")
def gelu(reader: Reader, node: Node) -> Symbol:
    x = node.symbol(0)
    if node.choice("approximate", "none", "tanh") == "none":
        return sym.LeakyReLU(x, act_type="gelu")
    inner = (x + 0.044715 * x * x * x) * float(np.sqrt(2 / np.pi))
    return sym.elemwise_mul(0.5 * x, 1 + sym.tanh(inner))


@imports("Clip")
def clip(reader: Reader, node: Node) -> Symbol:
    """Import Clip: missing bounds are those of the dtype; if bounds cross, the upper one wins."""
    node.ignore("consumed_inputs")
    made, dtype = node.symbol(0), node.dtype(0)
    bounds = [node.get("min"), node.get("max")] if node.opset < 11 else [None, None]
    known = [node.value(i) if node.has_input(i) else bounds[i - 1] for i in (1, 2)]
    numbers: list[Any] = [None if v is None else np.ravel(v)[0].item() for v in known]
    if dtype in FLOATS:
        maximum = float(np.finfo(dtype).max) if dtype != "bfloat16" else _MAX_BFLOAT16
        numbers = [
            sign * maximum if n is None and not node.has_input(i) else n
            for i, sign, n in zip((1, 2), (-1, 1), numbers)
        ]
    exact = dtype in FLOATS or all(v is None or abs(v) < 1 << 24 for v in numbers)
    plain = exact and None not in numbers and numbers[0] <= numbers[1]
    # the bounds fit the operator's parameters, float32
    if plain and max(map(abs, numbers)) <= _MAX_FLOAT32:
        return sym.clip(made, a_min=numbers[0], a_max=numbers[1])
    for i, number, scalar, make in (
        (1, numbers[0], "_maximum_scalar", sym.broadcast_maximum),
        (2, numbers[1], "_minimum_scalar", sym.broadcast_minimum),
    ):
        if number is not None and exact:
            made = getattr(sym._internal, scalar)(made, scalar=number)
        elif node.has_input(i):
            bound = node.symbol(i)
            for _ in range(max(node.rank(0), 1) - 1):
                bound = sym.expand_dims(bound, axis=0)
            made = make(made, bound)
    return sym.identity(made)


@imports("Where")
def where(reader: Reader, node: Node) -> Symbol:
    values, shapes = node.aligned_inputs(0, 1, 2), [node.shape(i) for i in range(3)]
    if None in shapes or len(set(shapes)) > 1:
        zeros = [sym.zeros_like(values[1]), sym.zeros_like(values[2])]
        zeros.append(sym.Cast(sym.zeros_like(values[0]), dtype=node.dtype(1)))
        whole = sym.broadcast_add(sym.broadcast_add(zeros[0], zeros[1]), zeros[2])
        values = [sym.broadcast_like(each, whole) for each in values]
    return sym.where(values[0], values[1], values[2])


@imports("Cast", "CastLike")
def cast(reader: Reader, node: Node) -> Symbol:
    node.ignore("saturate", "round_mode")  # concern 8-bit floats, which cynet lacks
    if node.kind == "CastLike":
        dtype = node.dtype(1)
        node.mark_unused(1)
    else:
        dtype = reader.library.helper.tensor_dtype_to_np_dtype(node.get("to")).name
    node.dtype(0)
    if dtype not in (*FLOATS, "uint8", "int8", "int32", "int64", "bool"):
        node.refuse(f"to {dtype}, which cynet lacks")
    return sym.Cast(node.symbol(0), dtype=dtype)
