"""Pads of convolutions and pooling in ONNX's form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import symbol as sym

if TYPE_CHECKING:
    from ..symbol import Symbol
    from .importers import Node


def lengths_of(node: Node, i: int) -> list[Any]:
    """The spatial lengths of input i, which the file must tell."""
    found = node.lengths(i)[2:]
    if None in found:
        node.refuse("the file does not tell the spatial lengths of its input")
    return list(found)


def pads(node: Node, spans: list[int], stride: list[int]) -> tuple[list[int], list[int]]:
    """The padding before and behind each spatial axis.

    spans: Length of a window, holes included.

    Returns before, behind : list of int.
    """
    n, auto = len(spans), node.choice("auto_pad", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
    found = list(node.get("pads", [0] * 2 * n))
    if auto == "VALID":
        found = [0] * 2 * n
    elif auto != "NOTSET":
        totals = [
            max((-(-x // t) - 1) * t + s - x, 0)
            for x, s, t in zip(lengths_of(node, 0), spans, stride)
        ]
        small, large = [v // 2 for v in totals], [v - v // 2 for v in totals]
        found = small + large if auto == "SAME_UPPER" else large + small
    if len(found) != 2 * n or min(found, default=0) < 0:
        node.refuse(f"pads={found} of {n} spatial axes")
    return found[:n], found[n:]


def padded(data: Symbol, before: list[int], behind: list[int], value: float, n: int) -> Symbol:
    """Data with its n spatial axes padded, or cut where a length is below 0."""
    width = [0, 0, 0, 0]
    for axis, (b, a) in enumerate(zip(before, behind)):
        if a < 0:
            data = sym.slice_axis(data, axis=axis + 2, begin=0, end=a)
        width += [b, max(a, 0)]
    if not any(width):
        return data
    how: dict[str, Any] = {"mode": "constant", "constant_value": value}
    if n == 1:  # Pad takes four axes
        wide = sym.expand_dims(data, axis=2)
        return sym.squeeze(sym.pad(wide, pad_width=(*width[:4], 0, 0, *width[4:]), **how), axis=2)
    return sym.pad(data, pad_width=tuple(width), **how)
