"""Numbers of 8 bits with scales of an ONNX graph as operators of cynet."""

from __future__ import annotations

from .. import symbol as sym
from .from_elementwise import half_to_even
from .importers import imports

_RANGE = {"uint8": (0, 255), "int8": (-128, 127)}


def _of_axis(node, value, i):
    """A scale or zero point with the axes of the data; one number, or one an index of an axis."""
    rank, n = node.axes(0), node.axes(i)
    if n == 0 or node.shape(i) == (1,):
        return sym.reshape(value, shape=(1,) * max(rank, 1))
    if n != 1 or node.get("block_size", 0):
        node.refuse(f"scales of the shape {node.shape(i)}, block_size={node.get('block_size', 0)}")
    axis = node.axis(default=1)
    return sym.reshape(value, shape=tuple(-1 if k == axis else 1 for k in range(rank)))


@imports("DequantizeLinear")
def dequantize(reader, node):
    node.ignore("axis", "block_size", "output_dtype")
    dtype = node.out_dtype() or "float32"
    if node.dtype(0) not in ("uint8", "int8") or dtype != "float32":
        node.refuse(f"{node.dtype(0)} to {dtype}")
    data = sym.Cast(node.symbol(0), dtype=dtype)
    if node.has(2):
        zero = sym.Cast(node.symbol(2), dtype=dtype)
        data = sym.broadcast_sub(data, _of_axis(node, zero, 2))
    return sym.broadcast_mul(data, _of_axis(node, node.symbol(1), 1), name=node.name)


@imports("QuantizeLinear")
def quantize(reader, node):
    """Whole numbers of scales, halves to even ones, kept in the range of 8 bits."""
    node.ignore("axis", "block_size", "output_dtype", "saturate", "precision")
    dtype, found = node.out_dtype() or "uint8", node.dtype(0)
    if dtype not in _RANGE or found not in ("float32", "float64") or node.dtype(1) != found:
        node.refuse(f"{found} to {dtype}")
    if node.get("precision", 0) not in (0, 1):  # float32
        node.refuse(f"precision={node.get('precision')}")
    made = sym.broadcast_div(node.symbol(0), _of_axis(node, node.symbol(1), 1))
    made = half_to_even(made)
    if node.has(2):
        zero = sym.Cast(node.symbol(2), dtype=found)
        made = sym.broadcast_add(made, _of_axis(node, zero, 2))
    low, high = _RANGE[dtype]
    return sym.Cast(sym.clip(made, a_min=low, a_max=high), dtype=dtype, name=node.name)
