"""Importers of QuantizeLinear and DequantizeLinear."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import symbol as sym
from ...operator.quantization.ranges import BYTE_LIMITS
from ..from_elementwise import round_half_to_even
from ..importers import IntWeight, imports

if TYPE_CHECKING:
    from ...symbol import Symbol
    from ..importers import Node, Reader


def _reshape_scale_to_axis(node: Node, value: Symbol, i: int) -> Symbol:
    """Reshape a scale or zero point, one number or a vector along an axis, to the data's rank."""
    rank, n = node.rank(0), node.rank(i)
    if n == 0 or node.shape(i) == (1,):
        return sym.reshape(value, shape=(1,) * max(rank, 1))
    if n != 1 or node.get("block_size", 0):
        node.refuse(f"scales of the shape {node.shape(i)}, block_size={node.get('block_size', 0)}")
    axis = node.axis(default=1)
    return sym.reshape(value, shape=tuple(-1 if k == axis else 1 for k in range(rank)))


def _scalar_scale_params(node: Node) -> dict[str, Any] | None:
    """Return the parameters scale and zero_point if each is a single number, or None."""
    scale, zero = node.value(1), node.value(2) if node.has_input(2) else np.zeros(1)
    if scale is None or zero is None or scale.size != 1 or zero.size != 1:
        return None
    if scale.dtype != np.float32 or not 1e-38 <= scale.ravel()[0] < np.inf:
        return None
    return {"scale": float(scale.ravel()[0]), "zero_point": int(zero.ravel()[0])}


@imports("DequantizeLinear")
def dequantize(reader: Reader, node: Node) -> Symbol:
    node.ignore("axis", "block_size", "output_dtype")
    dtype, found = node.out_dtype() or "float32", node.dtype(0)
    if found not in ("uint8", "int8", "int32") or dtype != "float32":
        node.refuse(f"{found} to {dtype}")
    if found == "int32":
        return _dequantized_int32(reader, node)
    one = _scalar_scale_params(node)
    if one is not None:
        made = sym._internal._dequantize_linear(node.symbol(0), **one)
    else:
        data = sym.Cast(node.symbol(0), dtype=dtype)
        if node.has_input(2):
            data = sym.broadcast_sub(
                data, _reshape_scale_to_axis(node, sym.Cast(node.symbol(2), dtype=dtype), 2)
            )
        made = sym.broadcast_mul(data, _reshape_scale_to_axis(node, node.symbol(1), 1))
    values, step = node.value(0), node.value(1)
    zero = node.value(2) if node.has_input(2) else np.zeros(1, found)
    if values is not None and step is not None and zero is not None and values.ndim:
        axis = node.axis(default=1) if step.size > 1 else 0
        reader.add_weight(made, IntWeight(node.inputs[0], values, step.ravel(), zero.ravel(), axis))
    return made


def _dequantized_int32(reader: Reader, node: Node) -> Symbol:
    """Dequantize int32, such as a bias; constants are computed at import."""
    values, step = node.value(0), node.value(1)
    zero = node.value(2) if node.has_input(2) else np.zeros(1, "int32")
    if values is not None and step is not None and zero is not None:
        shape = [1] * values.ndim
        if step.size > 1:
            shape[node.axis(default=1) if values.ndim > 1 else 0] = -1
        step, zero = (v.reshape(shape) if v.size > 1 else v.ravel()[:1] for v in (step, zero))
        floats = (values - zero.astype("int64")).astype("float32") * step
        reader.set_constant(node.outputs[0], floats.reshape(values.shape))
        return reader.symbol(node.outputs[0])
    data = node.symbol(0)
    if node.has_input(2):
        data = sym.broadcast_sub(data, _reshape_scale_to_axis(node, node.symbol(2), 2))
    data = sym.Cast(data, dtype="float32")
    return sym.broadcast_mul(data, _reshape_scale_to_axis(node, node.symbol(1), 1))


@imports("QuantizeLinear")
def quantize(reader: Reader, node: Node) -> Symbol:
    """Import QuantizeLinear: divide by the scale, round halves to even, clip to 8 bits."""
    node.ignore("axis", "block_size", "output_dtype", "saturate", "precision")
    dtype, found = node.out_dtype() or "uint8", node.dtype(0)
    if dtype not in BYTE_LIMITS or found not in ("float32", "float64") or node.dtype(1) != found:
        node.refuse(f"{found} to {dtype}")
    if node.get("precision", 0) not in (0, 1):  # float32
        node.refuse(f"precision={node.get('precision')}")
    one = _scalar_scale_params(node)
    if one is not None:
        data = node.symbol(0)
        return sym._internal._quantize_linear(data, out_type=dtype, **one)
    made = sym.broadcast_div(node.symbol(0), _reshape_scale_to_axis(node, node.symbol(1), 1))
    made = round_half_to_even(made)
    if node.has_input(2):
        zero = sym.Cast(node.symbol(2), dtype=found)
        made = sym.broadcast_add(made, _reshape_scale_to_axis(node, zero, 2))
    low, high = BYTE_LIMITS[dtype]
    return sym.Cast(sym.clip(made, a_min=low, a_max=high), dtype=dtype)
