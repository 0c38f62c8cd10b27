"""Import of the padding of convolutions and pooling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import symbol as sym

if TYPE_CHECKING:
    from ..symbol import Symbol
    from .importers import Node


def spatial_lengths(node: Node, i: int) -> list[Any]:
    """Return the spatial lengths of input i, which the file must declare."""
    found = node.lengths(i)[2:]
    if None in found:
        node.refuse("the file does not tell the spatial lengths of its input")
    return list(found)


def padding_of_node(node: Node, spans: list[int], stride: list[int]) -> tuple[list[int], list[int]]:
    """Return the padding before and behind each spatial axis.

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
            for x, s, t in zip(spatial_lengths(node, 0), spans, stride)
        ]
        small, large = [v // 2 for v in totals], [v - v // 2 for v in totals]
        found = small + large if auto == "SAME_UPPER" else large + small
    if len(found) != 2 * n or min(found, default=0) < 0:
        node.refuse(f"pads={found} of {n} spatial axes")
    return found[:n], found[n:]


def pad_data(data: Symbol, before: list[int], behind: list[int], value: float, n: int) -> Symbol:
    """Pad the `n` spatial axes of data, or cut them where a padding is negative."""
    width = [0, 0, 0, 0]
    for axis, (b, a) in enumerate(zip(before, behind)):
        if a < 0:
            data = sym.slice_axis(data, axis=axis + 2, begin=0, end=a)
        width += [b, max(a, 0)]
    if not any(width):
        return data
    how: dict[str, Any] = {"mode": "constant", "constant_value": value}
    if n == 1:  # Pad requires four axes
        wide = sym.expand_dims(data, axis=2)
        return sym.squeeze(sym.pad(wide, pad_width=(*width[:4], 0, 0, *width[4:]), **how), axis=2)
    return sym.pad(data, pad_width=tuple(width), **how)
