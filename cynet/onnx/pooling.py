"""Exporters of pooling."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..operator.nn.pooling import PoolingProperty
from ..operator.nn.pooling_v1 import PoolingV1Property
from ..operator.nn.spatial_window import channels_first_shape
from ..operator.vision.adaptive_avg_pooling import AdaptiveAvgPooling2DProperty
from .graph import exports, to_channels_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .graph import Graph, OpNode

_MIN_FLOAT32 = float(np.finfo(np.float32).min)  # pads maxima


@exports(PoolingProperty)
def pooling(g: Graph, c: OpNode) -> str:
    p = c.prop
    data, back = to_channels_first(g, c, p.layout)
    sizes = channels_first_shape(c.shapes[0], p.layout)[2:]
    # (output size, kernel, stride, padding before, behind) of each axis
    axes = [p.geometry(axis, size) for axis, size in enumerate(sizes)]
    return back(_pool_node(g, c, data, sizes, axes))


def _pool_node(g: Graph, c: OpNode, data: str, sizes: Sequence[int], axes: Sequence[Any]) -> str:
    p, kind = c.prop, c.prop.pool_type
    if kind == "lp":
        return _pth_root(g, c, _window_sums(g, c, _abs_power(g, c, data), sizes, axes))
    if kind == "sum":
        return _window_sums(g, c, data, sizes, axes)
    if p.global_pool:
        return g.emit("GlobalMaxPool" if kind == "max" else "GlobalAveragePool", [data])
    kernel, stride = [a[1] for a in axes], [a[2] for a in axes]
    before, behind = [a[3] for a in axes], _end_padding(sizes, axes)
    fits = all(q < k for q, k in zip((*before, *behind), kernel * 2))
    how = {"kernel_shape": kernel, "strides": stride}
    if kind == "max":
        if all(v > 0 for axis in _window_divisors(sizes, axes, False) for v in axis) and fits:
            return g.emit("MaxPool", [data], pads=before + behind, **how)
        return g.emit("MaxPool", [_pad_node(g, c, data, before, behind, _MIN_FLOAT32)], **how)
    counted = p.count_include_pad is not False
    counts = _window_divisors(sizes, axes, counted)
    if min(v for axis in counts for v in axis) < 1:
        c.refuse("a window without an element")
    if fits and (not counted or all(v == k for axis, k in zip(counts, kernel) for v in axis)):
        return g.emit(
            "AveragePool", [data], pads=before + behind, count_include_pad=int(counted), **how
        )
    shares = np.ones((1, 1))
    for axis, k in zip(counts, kernel):
        shares = shares[..., None] * (k / np.array(axis))
    made = g.emit("AveragePool", [_pad_node(g, c, data, before, behind, 0)], **how)
    return g.emit("Mul", [made, g.constant(shares, c.dtypes[0])])


def _end_padding(sizes: Sequence[int], axes: Sequence[Any]) -> list[int]:
    """Return the padding behind each axis that makes its windows complete."""
    return [max((o - 1) * s + k - x - q, 0) for x, (o, k, s, q, _) in zip(sizes, axes)]


def _window_divisors(sizes: Sequence[int], axes: Sequence[Any], counted: bool) -> list[list[int]]:
    """Return the divisors of window means, a list for each axis."""
    found = []
    for x, (out, kernel, stride, before, behind) in zip(sizes, axes):
        starts = [i * stride - before for i in range(out)]
        if counted:
            found.append([min(s + kernel, x + behind) - s for s in starts])
        else:
            found.append([min(s + kernel, x) - max(s, 0) for s in starts])
    return found


def _pad_node(
    g: Graph, c: OpNode, data: str, before: list[int], behind: list[int], value: float
) -> str:
    if not any((*before, *behind)):
        return data
    pads = g.ints(0, 0, *before, 0, 0, *behind)
    return g.emit("Pad", [data, pads, g.constant(value, c.dtypes[0])])


def _window_sums(g: Graph, c: OpNode, data: str, sizes: Sequence[int], axes: Sequence[Any]) -> str:
    """Write sums of windows: means with zero padding, times the window size."""
    if c.prop.global_pool:
        made, size = g.emit("GlobalAveragePool", [data]), math.prod(sizes)
    else:
        kernel, size = [a[1] for a in axes], math.prod(a[1] for a in axes)
        data = _pad_node(g, c, data, [a[3] for a in axes], _end_padding(sizes, axes), 0)
        made = g.emit("AveragePool", [data], kernel_shape=kernel, strides=[a[2] for a in axes])
    return g.emit("Mul", [made, g.constant(size, c.dtypes[0])])


def _abs_power(g: Graph, c: OpNode, x: str) -> str:
    if c.prop.p_value == 1:
        return x
    square = g.emit("Mul", [x, x])
    return square if c.prop.p_value == 2 else g.emit("Mul", [square, x])


def _pth_root(g: Graph, c: OpNode, x: str) -> str:
    if c.prop.p_value == 1:
        return x
    if c.prop.p_value == 2:
        return g.emit("Sqrt", [x])
    root = g.emit("Pow", [g.emit("Abs", [x]), g.constant(1 / 3, c.dtypes[0])])
    return g.emit("Mul", [g.emit("Sign", [x]), root])


@exports(PoolingV1Property)
def pooling_v1(g: Graph, c: OpNode) -> str:
    p = c.prop
    if p.global_pool:
        made = g.emit("GlobalMaxPool" if p.pool_type == "max" else "GlobalAveragePool", c.inputs)
        size = math.prod(c.shapes[0][2:])
    else:
        kernel, stride = list(p.kernel), list(p.stride[:2]) or [1, 1]
        pad = list(p.pad[:2]) or [0, 0]
        axes = zip(c.out_shapes[0][2:], stride, kernel, c.shapes[0][2:], pad)
        over = [max((o - 1) * s + k - x - 2 * q, 0) for o, s, k, x, q in axes]
        if p.pool_type == "max":
            if any(o >= k for o, k in zip(over, kernel)):
                c.refuse("maxima of windows that begin behind the padding")
            kind, behind = "MaxPool", pad
        else:  # windows at the border divide by the full kernel size
            kind, behind, over = "AveragePool", [q + o for q, o in zip(pad, over)], [0, 0]
        data = _pad_node(g, c, c.inputs[0], pad, behind, 0)
        made = g.emit(kind, [data], kernel_shape=kernel, strides=stride, pads=[0, 0, *over])
        size = math.prod(kernel)
    if p.pool_type == "sum":
        made = g.emit("Mul", [made, g.constant(size, c.dtypes[0])])
    return made


@exports(AdaptiveAvgPooling2DProperty)
def adaptive_average(g: Graph, c: OpNode) -> str:
    """Write AveragePool if all windows have one size, else two products with weight matrices."""
    size, out = c.shapes[0][2:], c.out_shapes[0][2:]
    if tuple(out) == (1, 1):
        return g.emit("GlobalAveragePool", c.inputs)
    if all(x % o == 0 for x, o in zip(size, out)):
        step = [x // o for x, o in zip(size, out)]
        return g.emit("AveragePool", c.inputs, kernel_shape=step, strides=step)
    left, right = (_window_weights(x, o) for x, o in zip(size, out))
    made = g.emit("MatMul", [g.constant(left, c.dtypes[0]), c.inputs[0]])
    return g.emit("MatMul", [made, g.constant(right.T, c.dtypes[0])])


def _window_weights(length: int, count: int) -> np.ndarray[Any, Any]:
    """Return (count, length): each row is one window of the axis, 1 / size inside, 0 outside."""
    made = np.zeros((count, length))
    for i in range(count):
        begin, end = i * length // count, -(-(i + 1) * length // count)
        made[i, begin:end] = 1 / (end - begin)
    return made
