"""Exporters of attention and of functions of sequence lengths."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..operator.contrib.polynomial import DivSqrtDimProperty
from ..operator.nn.interleaved_attention import (
    CrossAttentionQK,
    CrossAttentionValues,
    SelfAttentionQK,
    SelfAttentionValues,
)
from ..operator.tensor.creation import ArangeLikeProperty
from ..operator.tensor.sequence import SequenceLastProperty, SequenceMaskProperty
from .graph import exports

if TYPE_CHECKING:
    from .graph import Graph, OpNode


def _select_attention_part(g: Graph, value: str, parts: int, which: int, heads: int) -> str:
    """Select part `which` (query, key or value) of a projection: (batch, heads, length, width)."""
    value = g.reshape(value, (0, 0, heads, parts, -1))
    value = g.squeeze(g.emit_slice(value, 3, which, which + 1), 3)
    return g.transpose(value, (1, 2, 0, 3))


@exports(SelfAttentionQK, CrossAttentionQK)
def attention_scores(g: Graph, c: OpNode) -> str:
    """Write queries times keys, divided by sqrt(width): (batch * heads, length, length)."""
    heads, own = c.prop.heads, c.op.endswith("selfatt_qk")
    if own:
        query, key = (_select_attention_part(g, c.inputs[0], 3, i, heads) for i in (0, 1))
        width = c.shapes[0][2] // heads // 3
    else:
        query = _select_attention_part(g, c.inputs[0], 1, 0, heads)
        key = _select_attention_part(g, c.inputs[1], 2, 0, heads)
        width = c.shapes[0][2] // heads
    query = g.emit("Div", [query, g.constant(math.sqrt(width), c.dtypes[0])])
    made = g.emit("MatMul", [query, g.transpose(key, (0, 1, 3, 2))])
    return g.reshape(made, (-1, *c.out_shapes[0][1:]))


@exports(SelfAttentionValues, CrossAttentionValues)
def attention_product(g: Graph, c: OpNode) -> str:
    """Write attention weights times values: (length, batch, heads * width)."""
    heads, parts = c.prop.heads, 3 if c.op.endswith("selfatt_valatt") else 2
    value = _select_attention_part(g, c.inputs[0], parts, parts - 1, heads)
    weights = g.reshape(c.inputs[1], (-1, heads, *c.shapes[1][1:]))
    made = g.emit("MatMul", [weights, value])
    return g.reshape(g.transpose(made, (2, 0, 1, 3)), (0, 0, -1))


@exports(DivSqrtDimProperty)
def div_sqrt_dim(g: Graph, c: OpNode) -> str:
    root = g.constant(math.sqrt(c.shapes[0][-1]), c.dtypes[0])
    return g.emit("Div", [c.inputs[0], root])


@exports(ArangeLikeProperty)
def arange_like(g: Graph, c: OpNode) -> str:
    """Write ``start + step * i`` along an axis of the data, or for all elements in its shape."""
    p, dtype = c.prop, c.out_dtypes[0]
    if p.repeat != 1:
        c.refuse(f"repeat={p.repeat}")
    shape = g.emit("Shape", c.inputs)
    if p.axis is None:
        count = g.emit("ReduceProd", [shape], axes=[0], keepdims=0)
    else:
        axis = g.constant(np.array(p.axis % len(c.shapes[0]), "int64"))
        count = g.emit("Gather", [shape, axis], axis=0)
    ends = [g.constant(np.array(v, "int64")) for v in (0, 1)]
    made = g.cast(g.emit("Range", [ends[0], count, ends[1]]), dtype)
    if p.step != 1:
        made = g.emit("Mul", [made, g.constant(p.step, dtype)])
    if p.start != 0:
        made = g.emit("Add", [made, g.constant(p.start, dtype)])
    return made if p.axis is not None else g.emit("Reshape", [made, shape])


@exports(SequenceMaskProperty)
def sequence_mask(g: Graph, c: OpNode) -> str:
    """Write `value` beyond each sequence's length; the first two axes are time and batch."""
    p, shape = c.prop, c.shapes[0]
    if not p.use_sequence_length:
        return c.inputs[0]
    steps = np.arange(shape[p.axis], dtype="int64")
    lengths = g.cast(
        g.emit("Ceil", [c.inputs[1]]) if "float" in c.dtypes[1] else c.inputs[1], "int64"
    )
    index = g.constant(steps[:, None] if p.axis == 0 else steps[None, :])
    inside = g.emit("Less", [index, g.unsqueeze(lengths, p.axis)])
    for axis in range(2, len(shape)):
        inside = g.unsqueeze(inside, axis)
    return g.emit("Where", [inside, c.inputs[0], g.constant(p.value, c.dtypes[0])])


@exports(SequenceLastProperty)
def sequence_last(g: Graph, c: OpNode) -> str:
    """Select the last step of each sequence, along the first or second axis."""
    p, shape = c.prop, c.shapes[0]
    axis = p.axis
    if not p.use_sequence_length:
        return g.squeeze(g.emit_slice(c.inputs[0], axis, shape[axis] - 1, shape[axis]), axis)
    data = c.inputs[0]
    if axis == 0:
        data = g.transpose(data, (1, 0, *range(2, len(shape))))
    index = g.emit("Sub", [g.cast(c.inputs[1], "int64"), g.constant(np.array(1, "int64"))])
    return g.emit("GatherND", [data, g.unsqueeze(index, 1)], batch_dims=1)
