"""Exporters of shape functions, indexing, reductions and matrix products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..operator.functions import REDUCTIONS
from ..operator.linalg.gemm import Gemm2Property
from ..operator.nn.embedding import EmbeddingProperty
from ..operator.nn.flatten import FlattenProperty
from ..operator.tensor.arg import ArgmaxProperty, ArgminProperty
from ..operator.tensor.concat import (
    ConcatProperty,
    SliceChannelProperty,
    SplitV2Property,
    StackProperty,
)
from ..operator.tensor.creation import (
    ArangeProperty,
    EyeProperty,
    FullProperty,
    LinspaceProperty,
    OnesProperty,
    ShapeArrayProperty,
    SizeArrayProperty,
    ZerosProperty,
)
from ..operator.tensor.dot import BatchDotProperty, DotProperty
from ..operator.tensor.pad import PadProperty
from ..operator.tensor.reduce import NormProperty
from ..operator.tensor.reshape import (
    ExpandDimsProperty,
    ReshapeLikeProperty,
    ReshapeProperty,
    SqueezeProperty,
)
from ..operator.tensor.sequence import SequenceReverseProperty
from ..operator.tensor.slicing import SliceAxisProperty, SliceLikeProperty, SliceProperty
from ..operator.tensor.take import GatherNDProperty, OneHotProperty, PickProperty, TakeProperty
from ..operator.tensor.tile import (
    BroadcastAxisProperty,
    BroadcastLikeProperty,
    BroadcastToProperty,
    RepeatProperty,
    TileProperty,
)
from ..operator.tensor.topk import ArgsortProperty, TopKProperty
from ..operator.tensor.transpose import (
    DepthToSpaceProperty,
    ReverseProperty,
    SpaceToDepthProperty,
    SwapAxisProperty,
    TransposeProperty,
)
from .graph import exports, prop_classes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import Shape
    from .graph import Graph, OpNode

_INT64_MAX = np.iinfo(np.int64).max  # stands for an open end of a slice


def reshape_target(c: OpNode) -> Shape:
    """Return the target of a Reshape; its first length is 0 ("copy") if it does not change."""
    out, data = c.out_shapes[0], c.shapes[0]
    return (0, *out[1:]) if out and data[:1] == out[:1] else out


@exports(ReshapeProperty, ReshapeLikeProperty)
def reshape(g: Graph, c: OpNode) -> str:
    return g.reshape(c.inputs[0], reshape_target(c))


@exports(FlattenProperty)
def flatten(g: Graph, c: OpNode) -> str:
    return g.emit("Flatten", c.inputs, axis=1)


@exports(TransposeProperty)
def transpose(g: Graph, c: OpNode) -> str:
    return g.transpose(c.inputs[0], c.prop.axes or reversed(range(len(c.shapes[0]))))


@exports(SwapAxisProperty)
def swap_axes(g: Graph, c: OpNode) -> str:
    order = list(range(len(c.shapes[0])))
    a, b = c.prop.dim1, c.prop.dim2
    order[a], order[b] = order[b], order[a]
    return g.transpose(c.inputs[0], order)


@exports(ExpandDimsProperty)
def expand_dims(g: Graph, c: OpNode) -> str:
    n = len(c.out_shapes[0])
    return g.unsqueeze(c.inputs[0], c.prop.axis % n)


@exports(SqueezeProperty)
def squeeze(g: Graph, c: OpNode) -> str:
    shape, axis = c.shapes[0], c.prop.axis
    axes = [i for i, x in enumerate(shape) if x == 1] if axis in (None, ()) else axis
    axes = [axes] if isinstance(axes, int) else axes
    if len(axes) == len(shape):  # an array has at least one axis
        return g.reshape(c.inputs[0], (1,))
    return g.squeeze(c.inputs[0], *(a % len(shape) for a in axes))


@exports(SliceProperty)
def slice_(g: Graph, c: OpNode) -> str:
    p, n = c.prop, len(c.shapes[0])
    step = [s or 1 for s in (p.step or ())]
    step += [1] * (n - len(step))
    begin, end = [], []
    for i in range(len(p.begin)):
        first, last = (0, _INT64_MAX) if step[i] > 0 else (_INT64_MAX, -_INT64_MAX)
        begin.append(first if p.begin[i] is None else p.begin[i])
        end.append(last if p.end[i] is None else p.end[i])
    k = len(begin)
    at = [g.ints(*begin), g.ints(*end), g.ints(*range(k)), g.ints(*step[:k])]
    return g.emit("Slice", [c.inputs[0], *at])


@exports(SliceAxisProperty)
def slice_axis(g: Graph, c: OpNode) -> str:
    p = c.prop
    end = _INT64_MAX if p.end is None else p.end
    return g.emit_slice(c.inputs[0], p.axis % len(c.shapes[0]), p.begin or 0, end)


@exports(SliceLikeProperty)
def slice_like(g: Graph, c: OpNode) -> str:
    n = len(c.shapes[0])
    axes = [a % n for a in c.prop.axes] or list(range(n))
    at = [g.ints(*[0] * len(axes)), g.ints(*(c.out_shapes[0][a] for a in axes)), g.ints(*axes)]
    return g.emit("Slice", [c.inputs[0], *at])


@exports(SliceChannelProperty)
def slice_channel(g: Graph, c: OpNode) -> list[str]:
    p, n = c.prop, len(c.shapes[0])
    axis, count = p.axis % n, p.num_outputs
    made = g.emit_several("Split", c.inputs, count, axis=axis) if count > 1 else c.inputs[:1]
    return [g.squeeze(each, axis) for each in made] if p.squeeze_axis else made


@exports(SplitV2Property)
def split_v2(g: Graph, c: OpNode) -> list[str]:
    p, n = c.prop, len(c.shapes[0])
    axis = p.axis % n
    if len(c.out_shapes) == 1:
        return [g.squeeze(c.inputs[0], axis) if p.squeeze_axis else c.inputs[0]]
    sizes = [1] * len(c.out_shapes) if p.squeeze_axis else [s[axis] for s in c.out_shapes]
    parts = g.emit_several("Split", [c.inputs[0], g.ints(*sizes)], len(sizes), axis=axis)
    return [g.squeeze(each, axis) for each in parts] if p.squeeze_axis else parts


@exports(ConcatProperty)
def concat(g: Graph, c: OpNode) -> str:
    return g.emit("Concat", c.inputs, axis=c.prop.dim % len(c.shapes[0]))


@exports(StackProperty)
def stack(g: Graph, c: OpNode) -> str:
    axis = c.prop.axis % len(c.out_shapes[0])
    return g.emit("Concat", [g.unsqueeze(each, axis) for each in c.inputs], axis=axis)


@exports(TileProperty)
def tile(g: Graph, c: OpNode) -> str:
    reps, n = list(c.prop.reps), len(c.out_shapes[0])
    data = c.inputs[0]
    if len(c.shapes[0]) < n:
        data = g.reshape(data, (*[1] * (n - len(c.shapes[0])), *c.shapes[0]))
    return g.emit("Tile", [data, g.ints(*[1] * (n - len(reps)), *reps)])


@exports(RepeatProperty)
def repeat(g: Graph, c: OpNode) -> str:
    p, shape, data = c.prop, c.shapes[0], c.inputs[0]
    if p.axis is None:
        shape, data, axis = (int(np.prod(shape)),), g.reshape(data, (-1,)), 0
    else:
        axis = p.axis % len(shape)
    wide = g.unsqueeze(data, axis + 1)
    reps = [p.repeats if i == axis + 1 else 1 for i in range(len(shape) + 1)]
    return g.reshape(g.emit("Tile", [wide, g.ints(*reps)]), reshape_target(c))


@exports(PadProperty)
def pad(g: Graph, c: OpNode) -> str:
    p = c.prop
    before, after = p.pad_width[::2], p.pad_width[1::2]
    inputs = [c.inputs[0], g.ints(*before, *after)]
    if p.mode == "constant":
        inputs.append(g.constant(np.array(p.constant_value, c.dtypes[0])))
    return g.emit("Pad", inputs, mode=p.mode)


@exports(BroadcastToProperty, BroadcastAxisProperty, BroadcastLikeProperty)
def broadcast(g: Graph, c: OpNode) -> str:
    return g.emit("Expand", [c.inputs[0], g.ints(*c.out_shapes[0])])


@exports(ReverseProperty)
def flip(g: Graph, c: OpNode) -> str:
    axes = c.prop.axis if isinstance(c.prop.axis, tuple) else (c.prop.axis,)
    k = len(axes)
    at = [g.ints(*[-1] * k), g.ints(*[-_INT64_MAX] * k), g.ints(*axes), g.ints(*[-1] * k)]
    return g.emit("Slice", [c.inputs[0], *at])


@exports(DepthToSpaceProperty, SpaceToDepthProperty)
def depth_to_space(g: Graph, c: OpNode) -> str:
    if c.op == "depth_to_space":
        return g.emit("DepthToSpace", c.inputs, blocksize=c.prop.block_size, mode="DCR")
    return g.emit("SpaceToDepth", c.inputs, blocksize=c.prop.block_size)


@exports(ShapeArrayProperty)
def shape_array(g: Graph, c: OpNode) -> str:
    return g.emit("Shape", c.inputs)


@exports(SizeArrayProperty)
def size_array(g: Graph, c: OpNode) -> str:
    return g.reshape(g.emit("Size", c.inputs), (1,))


def _reduction_axes(axis: Any, n: int, exclude: bool) -> list[int]:
    axes = range(n) if axis in (None, ()) else [axis] if isinstance(axis, int) else axis
    axes = sorted(a % n for a in axes)
    return [i for i in range(n) if i not in axes] if exclude and axis not in (None, ()) else axes


def _reduce_node(g: Graph, c: OpNode, kind: str, x: str, axes: Sequence[int], keep: bool) -> str:
    if not axes:  # no axis remains; ONNX reads an empty list as all axes
        return g.emit("Abs", [x]) if kind.startswith("ReduceL") else x
    if kind == "ReduceSum":  # axes of ReduceSum are an input since opset 13
        made = g.emit(kind, [x, g.ints(*axes)], keepdims=int(keep))
    else:
        made = g.emit(kind, [x], axes=list(axes), keepdims=int(keep))
    if len(axes) == len(c.shapes[0]) and not keep:
        made = g.reshape(made, (1,))
    return made


@exports(*prop_classes(*(row.name for row in REDUCTIONS if row.onnx)))
def reduce(g: Graph, c: OpNode) -> str:
    p = c.prop
    axes = _reduction_axes(p.axis, len(c.shapes[0]), p.exclude)
    return _reduce_node(g, c, p.function.onnx, c.inputs[0], axes, p.keepdims)


@exports(NormProperty)
def norm(g: Graph, c: OpNode) -> str:
    p = c.prop
    axes = _reduction_axes(p.axis, len(c.shapes[0]), False)
    return _reduce_node(g, c, f"ReduceL{p.ord}", c.inputs[0], axes, p.keepdims)


@exports(ArgmaxProperty, ArgminProperty)
def arg_reduction(g: Graph, c: OpNode) -> str:
    p, x = c.prop, c.inputs[0]
    kind = "ArgMax" if c.op == "argmax" else "ArgMin"
    if p.axis is None:
        made = g.emit(kind, [g.reshape(x, (-1,))], axis=0, keepdims=1)
        if p.keepdims:
            made = g.reshape(made, c.out_shapes[0])
    else:
        made = g.emit(kind, [x], axis=p.axis, keepdims=int(p.keepdims))
        if len(c.shapes[0]) == 1 and not p.keepdims:
            made = g.reshape(made, (1,))
    return g.cast(made, c.out_dtypes[0])


@exports(ArgsortProperty)
def argsort(g: Graph, c: OpNode) -> str:
    p, x, shape = c.prop, c.inputs[0], c.shapes[0]
    if p.axis is None:
        x, shape = g.reshape(x, (-1,)), (int(np.prod(shape)),)
    axis = 0 if p.axis is None else p.axis % len(shape)
    made = g.emit_several(
        "TopK", [x, g.ints(shape[axis])], 2, axis=axis, largest=int(not p.is_ascend)
    )
    return g.cast(made[1], c.out_dtypes[0])


@exports(TopKProperty)
def topk(g: Graph, c: OpNode) -> list[str]:
    p = c.prop
    if p.ret_typ == "mask" or p.axis is None:
        c.refuse("only values and indices of one axis have a form in ONNX")
    k = p.k or c.shapes[0][p.axis]
    made = g.emit_several(
        "TopK", [c.inputs[0], g.ints(k)], 2, axis=p.axis, largest=int(not p.is_ascend)
    )
    index = g.cast(made[1], p.dtype)
    return {"value": [made[0]], "indices": [index], "both": [made[0], index]}[p.ret_typ]


def _bounded_indices(g: Graph, c: OpNode, value: str, size: int, mode: str) -> str:
    index = g.cast(value, "int64")
    if mode == "wrap":
        return g.emit("Mod", [index, g.ints(size)])
    low, high = (g.constant(np.array(v, "int64")) for v in (0, size - 1))
    return g.emit("Clip", [index, low, high])


@exports(EmbeddingProperty)
def embedding(g: Graph, c: OpNode) -> str:
    index = _bounded_indices(g, c, c.inputs[0], c.shapes[1][0], "clip")
    return g.emit("Gather", [c.inputs[1], index], axis=0)


@exports(TakeProperty)
def take(g: Graph, c: OpNode) -> str:
    axis = c.prop.axis % len(c.shapes[0])
    index = _bounded_indices(g, c, c.inputs[1], c.shapes[0][axis], c.prop.mode)
    return g.emit("Gather", [c.inputs[0], index], axis=axis)


@exports(PickProperty)
def pick(g: Graph, c: OpNode) -> str:
    p, n = c.prop, len(c.shapes[0])
    axis = n - 1 if p.axis is None else p.axis % n
    index = _bounded_indices(g, c, c.inputs[1], c.shapes[0][axis], p.mode)
    if len(c.shapes[1]) < n:
        index = g.unsqueeze(index, axis)
    made = g.emit("GatherElements", [c.inputs[0], index], axis=axis)
    return made if p.keepdims else g.squeeze(made, axis)


@exports(GatherNDProperty)
def gather_nd(g: Graph, c: OpNode) -> str:
    n = len(c.shapes[1])
    index = g.transpose(g.cast(c.inputs[1], "int64"), (*range(1, n), 0))
    return g.emit("GatherND", [c.inputs[0], index])


@exports(OneHotProperty)
def one_hot(g: Graph, c: OpNode) -> str:
    p = c.prop
    index, depth = g.cast(c.inputs[0], "int64"), g.constant(np.array(p.depth, "int64"))
    below = g.emit("Less", [index, g.constant(np.array(0, "int64"))])
    # ONNX counts negative indices from the end, in MXNet they give rows of zeros
    index = g.emit("Where", [below, depth, index])
    values = g.constant(np.array([p.off_value, p.on_value], "float32"))  # for runtimes
    made = g.emit("OneHot", [index, depth, values], axis=-1)
    return made if c.out_dtypes[0] == "float32" else g.cast(made, c.out_dtypes[0])


@exports(SequenceReverseProperty)
def sequence_reverse(g: Graph, c: OpNode) -> str:
    p, shape = c.prop, c.shapes[0]
    if p.use_sequence_length:
        lengths = g.cast(c.inputs[1], "int64")
    else:
        lengths = g.ints(*[shape[0]] * shape[1])
    return g.emit("ReverseSequence", [c.inputs[0], lengths], time_axis=0, batch_axis=1)


@exports(ZerosProperty, OnesProperty, FullProperty, ArangeProperty, LinspaceProperty, EyeProperty)
def creation_constant(g: Graph, c: OpNode) -> str:
    p, shape, dtype = c.prop, c.out_shapes[0], c.out_dtypes[0]
    values: np.ndarray[Any, Any]
    if c.op == "_arange":
        stop = None if p.stop is None else p.stop
        values = np.repeat(np.arange(p.start, stop, p.step), p.repeat).astype(dtype)
    elif c.op == "_linspace":
        values = np.linspace(p.start, p.stop, p.num, endpoint=p.endpoint)
    elif c.op == "_eye":
        values = np.eye(shape[0], shape[1], k=p.k)
    else:
        values = np.full(shape, {"_zeros": 0, "_ones": 1}.get(c.op, getattr(p, "value", 0)))
    return g.constant(values.reshape(shape), dtype)


@exports(Gemm2Property)
def gemm2(g: Graph, c: OpNode) -> str:
    p, n = c.prop, len(c.shapes[0])
    if p.axis % n != n - 2:
        c.refuse(f"axis={p.axis}")
    order = (*range(n - 2), n - 1, n - 2)
    a, b = c.inputs
    a = g.transpose(a, order) if p.transpose_a else a
    b = g.transpose(b, order) if p.transpose_b else b
    made = g.emit("MatMul", [a, b])
    return made if p.alpha == 1 else g.emit("Mul", [made, g.constant(p.alpha, c.dtypes[0])])


@exports(DotProperty)
def dot(g: Graph, c: OpNode) -> str:
    p = c.prop
    (a, b), shapes = c.inputs, c.shapes
    if any(len(s) > 2 for s in shapes):
        c.refuse("more than two axes; use batch_dot or a reshape")
    a = g.transpose(a, (1, 0)) if p.transpose_a and len(shapes[0]) == 2 else a
    b = g.transpose(b, (1, 0)) if p.transpose_b and len(shapes[1]) == 2 else b
    made = g.emit("MatMul", [a, b])
    return g.reshape(made, (1,)) if len(shapes[0]) == len(shapes[1]) == 1 else made


@exports(BatchDotProperty)
def batch_dot(g: Graph, c: OpNode) -> str:
    p, n = c.prop, len(c.shapes[0])
    order = (*range(n - 2), n - 1, n - 2)
    a, b = c.inputs
    a = g.transpose(a, order) if p.transpose_a else a
    b = g.transpose(b, order) if p.transpose_b else b
    return g.emit("MatMul", [a, b])
