"""Importers of pooling."""

from __future__ import annotations

import math
import operator
from functools import reduce
from itertools import product
from typing import TYPE_CHECKING, Any

from .. import symbol as sym
from .importers import imports
from .windows import pad_data, padding_of_node, spatial_lengths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..symbol import Symbol
    from .importers import Node, Reader

_MAX_OFFSETS = 128  # maximum taps of a dilated window; each becomes a slice


@imports("MaxPool", "AveragePool", "LpPool")
def pool(reader: Reader, node: Node) -> list[Symbol]:
    """Import pooling: data are padded where windows reach beyond them."""
    node.ignore("storage_order")  # affects the indices output, which is refused
    kernel = list(node.get("kernel_shape"))
    n, ceil = len(kernel), node.get("ceil_mode", 0)
    stride = list(node.get("strides", [1] * n))
    dilation = list(node.get("dilations", [1] * n))
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
    if node.get("auto_pad", "NOTSET").startswith("SAME") and dilation != [1] * n:
        node.refuse("dilations with auto_pad, whose pads programs make differently")
    before, after = padding_of_node(node, spans, stride)
    kind, data = node.kind, node.symbol(0)
    counted = bool(node.get("count_include_pad", 0)) if kind == "AveragePool" else True
    p = node.get("p", 2) if kind == "LpPool" else None
    plain = before == after and dilation == [1] * n and all(b < k for b, k in zip(before, kernel))
    if plain and ceil and None not in (sizes := node.lengths(0)[2:]):
        plain = all(
            (x + b + a - s) % t == 0 for x, b, a, s, t in zip(sizes, before, after, spans, stride)
        )
    elif plain:
        plain = not ceil
    ignores_pads = kind == "MaxPool" or not counted
    if not plain and ignores_pads and dilation == [1] * n and None not in node.lengths(0)[2:]:
        # the leading pads on both sides may give as many windows
        behind = _end_padding(node, spans, stride, before, after, ceil)
        plain = all(
            b < k and max(x + 2 * b - k, -1) // t == (x + b + a - k) // t
            for x, b, a, k, t in zip(node.lengths(0)[2:], before, behind, kernel, stride)
        )
    dtype = node.dtype(0)
    small = dtype in ("uint8", "int8")
    if kind == "MaxPool" and small:  # Pooling computes in float32: exact here
        data = sym.Cast(data, dtype="float32")
    if plain:
        made = _pooling_node(kind, data, kernel, stride, before, counted, p)
    else:
        behind = _end_padding(node, spans, stride, before, after, ceil)
        how = (kernel, stride, dilation, n)
        if kind == "MaxPool":
            made = _pool_windows(node, pad_data(data, before, behind, -math.inf, n), "max", *how)
        elif kind == "LpPool":
            parts = pad_data(_abs_power(data, p), before, behind, 0.0, n)
            made = _pth_root(_pool_windows(node, parts, "sum", *how), p)
        else:
            total = _pool_windows(node, pad_data(data, before, behind, 0.0, n), "sum", *how)
            ones = sym.ones_like(data)
            if counted:  # padding counts, the area behind it does not
                ones = pad_data(ones, before, after, 1.0, n)
                ones = pad_data(ones, [0] * n, [b - a for a, b in zip(after, behind)], 0.0, n)
            else:
                ones = pad_data(ones, before, behind, 0.0, n)
            made = sym.broadcast_div(total, _pool_windows(node, ones, "sum", *how))
    if kind == "MaxPool" and small:
        return [sym.Cast(made, dtype=dtype)]
    return [sym.identity(made)]


def _end_padding(
    node: Node, spans: list[int], stride: list[int], before: list[int], after: list[int], ceil: int
) -> list[int]:
    """Return the padding behind each axis that makes its last window complete."""
    found = []
    for x, b, a, s, t in zip(spatial_lengths(node, 0), before, after, spans, stride):
        over = x + b + a - s
        if over < 0:
            node.refuse(f"a window of {s} over a length of {x} with pads of {b} and {a}")
        count = (-(-over // t) if ceil else over // t) + 1
        if ceil and (count - 1) * t >= x + b:  # a window must not begin in the trailing padding
            count -= 1
        found.append((count - 1) * t + s - x - b)
    return found


def _pooling_node(
    kind: str,
    data: Symbol,
    kernel: list[int],
    stride: list[int],
    pad: Sequence[int],
    counted: bool,
    p: Any,
) -> Symbol:
    how: dict[str, Any] = {"kernel": tuple(kernel), "stride": tuple(stride), "pad": tuple(pad)}
    if kind == "MaxPool":
        return sym.Pooling(data, pool_type="max", **how)
    if kind == "AveragePool":
        return sym.Pooling(data, pool_type="avg", count_include_pad=counted, **how)
    return _pth_root(sym.Pooling(_abs_power(data, p), pool_type="sum", **how), p)


def _abs_power(data: Symbol, p: Any) -> Symbol:
    size = sym.abs(data) if p != 2 else sym.square(data)
    return size if p in (1, 2) else sym._internal._power_scalar(size, scalar=float(p))


def _pth_root(total: Symbol, p: Any) -> Symbol:
    if p == 1:
        return total
    return sym.sqrt(total) if p == 2 else sym._internal._power_scalar(total, scalar=1.0 / p)


def _pool_windows(
    node: Node,
    data: Symbol,
    kind: Any,
    kernel: list[int],
    stride: list[int],
    dilation: list[int],
    n: int,
) -> Symbol:
    """Compute maxima or sums of windows by slices; the windows fill the data exactly."""
    if dilation == [1] * n:
        return sym.Pooling(data, kernel=tuple(kernel), stride=tuple(stride), pool_type=kind)
    if math.prod(kernel) > _MAX_OFFSETS:
        node.refuse(f"a window of {kernel} with dilations")
    parts = []
    for offsets in product(*map(range, kernel)):
        part: Any = data
        for axis, (o, k, d, t) in enumerate(zip(offsets, kernel, dilation, stride)):
            end: Any = (o - k + 1) * d or None
            begin: list[Any] = [None] * (axis + 3)
            step: list[Any] = [None] * (axis + 3)
            begin[-1], step[-1] = o * d, t
            part = sym.slice(part, begin=tuple(begin), end=(*begin[:-1], end), step=tuple(step))
        parts.append(part)
    made: Symbol = reduce(sym.broadcast_maximum if kind == "max" else operator.add, parts)
    return made


@imports("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool")
def global_pool(reader: Reader, node: Node) -> Symbol:
    n, data = node.rank(0) - 2, node.symbol(0)
    if not 1 <= n <= 3:
        node.refuse(f"of {n} spatial axes")
    p = node.get("p", 2) if node.kind == "GlobalLpPool" else None
    kind: Any = {"Max": "max", "Ave": "avg", "LpP": "sum"}[node.kind[6:9]]
    data = data if p is None else _abs_power(data, p)
    made = sym.Pooling(data, kernel=(1,) * n, global_pool=True, pool_type=kind)
    return made if p is None else _pth_root(made, p)
