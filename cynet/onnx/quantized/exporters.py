"""Exporters of quantized networks: float layers between DequantizeLinear and QuantizeLinear (QDQ),
which a runtime fuses to integer layers."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy as np

from ...operator.quantization.concat import QuantizedConcatProperty
from ...operator.quantization.conversions import DequantizeProperty, QuantizeV2Property
from ...operator.quantization.layers import Int8ConvolutionProperty, Int8FullyConnectedProperty
from ...operator.quantization.linear import DequantizeLinearProperty, QuantizeLinearProperty
from ...operator.quantization.pooling import QuantizedPoolingProperty
from ...operator.quantization.ranges import FINE_STEPS
from ...operator.quantization.shapes import QuantizedFlattenProperty
from ..graph import exports
from ..layers import convolution, fully_connected
from ..pooling import pooling as write_pooling

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..graph import Graph, OpNode


def _quantization_step(g: Graph, c: OpNode, dtype: str, low: str, high: str) -> np.float32:
    """Return the quantization step of the range of `low` and `high`, which are constants."""
    if low not in g.constants or high not in g.constants:
        c.refuse("its range is found in each run; calibrate the network (calib_mode 'naive')")
    reach = max(float(np.abs(g.constants[each]).max()) for each in (low, high))
    if reach == 0:
        c.refuse("the range of its data is 0")
    return np.float32(reach / FINE_STEPS[dtype])


def _dequantize_input(g: Graph, c: OpNode, first: int, ends: Iterable[int]) -> str:
    """Dequantize input `first`, with the range of inputs `ends`; float inputs are unchanged."""
    dtype = c.dtypes[first]
    if dtype == "float32":
        return c.inputs[first]
    step = _quantization_step(g, c, dtype, *(c.inputs[i] for i in ends))
    # without a zero point onnxruntime takes the integers for uint8
    zero = g.constant(np.zeros((), dtype))
    return g.emit("DequantizeLinear", [c.inputs[first], g.constant(step), zero])


def _quantize_value(g: Graph, value: str, dtype: str, low: float, high: float) -> list[str]:
    """Quantize floats: return (integers, low, high); the range of int8 is symmetric."""
    reach = max(abs(low), abs(high))
    step, zero = np.float32(reach / FINE_STEPS[dtype]), np.zeros((), dtype)
    made = g.emit("QuantizeLinear", [value, g.constant(step), g.constant(zero)])
    ends = (low, high) if dtype == "uint8" else (-reach, reach)
    return [made, *(g.constant(np.array([end], "float32")) for end in ends)]


def _quantize_calibrated(g: Graph, c: OpNode, value: str) -> list[str]:
    p = c.prop
    if p.min_calib_range is None:
        c.refuse("its range is found in each run; calibrate the network (calib_mode 'naive')")
    if p.min_calib_range == p.max_calib_range == 0:
        c.refuse("the range of its output is 0")
    return _quantize_value(g, value, c.out_dtypes[0], p.min_calib_range, p.max_calib_range)


@exports(QuantizeV2Property)
def quantize(g: Graph, c: OpNode) -> list[str]:
    if c.dtypes[0] != "float32":
        c.refuse(f"its data are {c.dtypes[0]} already")
    return _quantize_calibrated(g, c, c.inputs[0])


@exports(DequantizeProperty)
def dequantize(g: Graph, c: OpNode) -> str:
    return _dequantize_input(g, c, 0, (1, 2))


@exports(QuantizeLinearProperty, DequantizeLinearProperty)
def quantize_linear(g: Graph, c: OpNode) -> str:
    kind = "QuantizeLinear" if c.op == "_quantize_linear" else "DequantizeLinear"
    dtype = (c.out_dtypes if c.op == "_quantize_linear" else c.dtypes)[0]
    ends = np.float32(c.prop.scale), np.array(c.prop.zero_point, dtype)
    return g.emit(kind, [c.inputs[0], *map(g.constant, ends)])


@exports(Int8ConvolutionProperty, Int8FullyConnectedProperty)
def int8_layer(g: Graph, c: OpNode) -> str | list[str]:
    p = c.prop
    given, data = copy.copy(c), _dequantize_input(g, c, 0, (4, 5))
    given.inputs = [data, g.emit("DequantizeLinear", c.inputs[1:3], axis=0), c.inputs[3]]
    made = (convolution if c.op == "_int8_convolution" else fully_connected)(g, given)
    if p.with_residual:
        made = g.emit("Add", [made, _dequantize_input(g, c, 6, (7, 8))])
    if p.a_min == 0 and p.a_max is None:
        made = g.emit("Relu", [made])
    elif p.a_min is not None or p.a_max is not None:
        ends = ("" if each is None else g.constant(np.float32(each)) for each in (p.a_min, p.a_max))
        made = g.emit("Clip", [made, *ends])
    return made if p.out_type == "float32" else _quantize_calibrated(g, c, made)


@exports(QuantizedPoolingProperty)
def pooling(g: Graph, c: OpNode) -> list[str]:
    given, dtype = copy.copy(c), c.dtypes[0]
    given.inputs = [_dequantize_input(g, c, 0, (1, 2))]
    given.dtypes = ["float32"]
    step, zero = _quantization_step(g, c, dtype, *c.inputs[1:3]), np.zeros((), dtype)
    made = write_pooling(g, given)
    made = g.emit("QuantizeLinear", [made, g.constant(step), g.constant(zero)])
    return [made, *c.inputs[1:3]]


@exports(QuantizedFlattenProperty)
def flatten(g: Graph, c: OpNode) -> list[str]:
    return [g.emit("Flatten", [c.inputs[0]], axis=1), *c.inputs[1:3]]


@exports(QuantizedConcatProperty)
def concat(g: Graph, c: OpNode) -> list[str]:
    n, dtype = c.prop.num_args, c.out_dtypes[0]
    at = [(n + 2 * i, n + 2 * i + 1) for i in range(n)]
    parts = [_dequantize_input(g, c, i, at[i]) for i in range(n)]
    ends = [[float(g.constants[c.inputs[pair[k]]].item()) for pair in at] for k in (0, 1)]
    made = g.emit("Concat", parts, axis=c.prop.dim)
    return _quantize_value(g, made, dtype, min(ends[0]), max(ends[1]))
