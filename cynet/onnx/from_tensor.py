"""Elementwise functions, shapes, indices and products of an ONNX graph as operators of cynet."""

from __future__ import annotations

import numpy as np

from .. import symbol as sym
from .importers import imports

_UNARY = {
    "Relu": "relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "Exp": "exp", "Log": "log",
    "Sqrt": "sqrt", "Abs": "abs", "Neg": "negative", "Floor": "floor", "Ceil": "ceil",
    "Round": "rint", "Sin": "sin", "Cos": "cos", "Tan": "tan", "Asin": "arcsin",
    "Acos": "arccos", "Atan": "arctan", "Sinh": "sinh", "Cosh": "cosh", "Asinh": "arcsinh",
    "Acosh": "arccosh", "Atanh": "arctanh", "Erf": "erf", "Sign": "sign",
    "Reciprocal": "reciprocal", "Softsign": "softsign", "Not": "logical_not",
    "Identity": "identity",
}  # fmt: skip
_BINARY = {
    "Add": "broadcast_add", "Sub": "broadcast_sub", "Mul": "broadcast_mul",
    "Div": "broadcast_div", "Pow": "broadcast_power", "Equal": "broadcast_equal",
    "Greater": "broadcast_greater", "Less": "broadcast_lesser",
    "GreaterOrEqual": "broadcast_greater_equal", "LessOrEqual": "broadcast_lesser_equal",
    "And": "broadcast_logical_and", "Or": "broadcast_logical_or", "Xor": "broadcast_logical_xor",
    "Mod": "broadcast_mod",
}  # fmt: skip
_SCALAR = {
    "Add": ("_plus_scalar", "_plus_scalar"), "Sub": ("_minus_scalar", "_rminus_scalar"),
    "Mul": ("_mul_scalar", "_mul_scalar"), "Div": ("_div_scalar", "_rdiv_scalar"),
    "Pow": ("_power_scalar", "_rpower_scalar"),
}  # fmt: skip
_END = np.iinfo(np.int64).max // 2


@imports(*_UNARY)
def unary(reader, node):
    return getattr(sym, _UNARY[node.kind])(node.symbol(0), name=node.name)


@imports(*_BINARY)
def binary(reader, node):
    constants = [reader.constant(each) for each in node.inputs]
    for i in (1, 0):
        if node.kind in _SCALAR and constants[i] is not None and constants[i].size == 1:
            other = node.symbol(1 - i)
            made = getattr(sym._internal, _SCALAR[node.kind][1 - i])
            return made(other, scalar=float(constants[i].ravel()[0]), name=node.name)
    a, b = _same_axes(node, constants)
    return getattr(sym, _BINARY[node.kind])(a, b, name=node.name)


def _same_axes(node, constants=()):
    """Both inputs with as many axes; NumPy's rule puts missing ones in front."""
    values = [node.symbol(0), node.symbol(1)]
    ranks = [node.axes(0), node.axes(1)]
    for i in (0, 1):
        for _ in range(max(ranks) - max(ranks[i], 1)):
            values[i] = sym.expand_dims(values[i], axis=0)
    return values


@imports("Max", "Min", "Sum", "Mean")
def several(reader, node):
    found = node.symbols()
    if node.kind in ("Sum", "Mean"):
        total = found[0]
        for each in found[1:]:
            total = sym.broadcast_add(total, each)
        return total if node.kind == "Sum" else total / len(found)
    make = sym.broadcast_maximum if node.kind == "Max" else sym.broadcast_minimum
    for each in found[1:]:
        found[0] = make(found[0], each)
    return found[0]


@imports("Softplus")
def softplus(reader, node):
    return sym.Activation(node.symbol(0), act_type="softrelu", name=node.name)


@imports("HardSigmoid")
def hard_sigmoid(reader, node):
    alpha, beta = node.get("alpha", 0.2), node.get("beta", 0.5)
    return sym.hard_sigmoid(node.symbol(0), alpha=alpha, beta=beta, name=node.name)


@imports("HardSwish")
def hard_swish(reader, node):
    x = node.symbol(0)
    return sym.elemwise_mul(x, sym.hard_sigmoid(x, alpha=1 / 6, beta=0.5), name=node.name)


@imports("Clip")
def clip(reader, node):
    low = node.number(1, node.get("min", -np.finfo("float32").max))
    high = node.number(2, node.get("max", np.finfo("float32").max))
    return sym.clip(node.symbol(0), a_min=low, a_max=high, name=node.name)


@imports("Where")
def where(reader, node):
    ranks = [node.axes(i) for i in range(3)]
    shapes = [node.shape(i) for i in range(3)]
    values = node.symbols()
    if None in shapes or len(set(shapes)) > 1:
        for i in range(3):
            for _ in range(max(ranks) - max(ranks[i], 1)):
                values[i] = sym.expand_dims(values[i], axis=0)
        whole = sym.broadcast_add(sym.broadcast_mul(values[0], values[1] * 0), values[2] * 0)
        values = [sym.broadcast_like(each, whole) for each in values]
    return sym.where(*values, name=node.name)


@imports("Cast")
def cast(reader, node):
    dtype = reader.library.helper.tensor_dtype_to_np_dtype(node.get("to")).name
    return sym.Cast(node.symbol(0), dtype=dtype, name=node.name)


# --- shapes ---------------------------------------------------------------------------------------
@imports("Reshape")
def reshape(reader, node):
    shape = [int(v) for v in node.constant(1, node.get("shape"))]
    return sym.reshape(node.symbol(0), shape=tuple(shape) or (1,), name=node.name)


@imports("Flatten")
def flatten(reader, node):
    axis = node.get("axis", 1)
    if axis == 1:
        return sym.Flatten(node.symbol(0), name=node.name)
    shape = node.shape(0)
    if shape is None:
        node.refuse(f"axis={axis} of a shape that the file does not tell")
    rows = int(np.prod(shape[: axis % (len(shape) + 1)]))
    return sym.reshape(node.symbol(0), shape=(rows, -1), name=node.name)


@imports("Transpose")
def transpose(reader, node):
    return sym.transpose(node.symbol(0), axes=tuple(node.get("perm", ())), name=node.name)


@imports("Squeeze", "Unsqueeze")
def squeeze(reader, node):
    axes = node.list(1, "axes")
    if node.kind == "Squeeze":
        rank = node.axes(0)
        if axes is not None and len(axes) == rank:
            return sym.reshape(node.symbol(0), shape=(1,), name=node.name)
        axes = None if axes is None else tuple(axes)
        return sym.squeeze(node.symbol(0), axis=axes, name=node.name)
    made, rank = node.symbol(0), node.axes(0) + len(axes)
    if rank == 1:  # a number, which is an array of one element here
        return made
    for axis in sorted(a % rank for a in axes):
        made = sym.expand_dims(made, axis=axis)
    return made


@imports("Concat")
def concat(reader, node):
    return sym.Concat(*node.symbols(), dim=node.get("axis"), name=node.name)


@imports("Split")
def split(reader, node):
    axis, sizes = node.get("axis", 0), node.list(1, "split")
    count = len(node.outputs)
    if sizes is None or len(set(sizes)) == 1:
        made = sym.SliceChannel(node.symbol(0), num_outputs=count, axis=axis, name=node.name)
        return [made[i] for i in range(count)]
    ends = np.cumsum(sizes)
    return [
        sym.slice_axis(node.symbol(0), axis=axis, begin=int(e - s), end=int(e))
        for s, e in zip(sizes, ends)
    ]


@imports("Slice")
def slice_(reader, node):
    begin, end = node.list(1, "starts"), node.list(2, "ends")
    axes = node.list(3, "axes") or list(range(len(begin)))
    steps = node.list(4, "steps") or [1] * len(begin)
    made = node.symbol(0)
    if any(s < 0 for s in steps):
        whole = all(s == -1 and b == -1 and e <= -_END for s, b, e in zip(steps, begin, end))
        if not whole:
            node.refuse("steps below 0 other than a whole axis reversed")
        return sym.reverse(made, axis=tuple(axes), name=node.name)
    if all(s == 1 for s in steps):
        for axis, b, e in zip(axes, begin, end):
            last = None if e >= _END else e
            made = sym.slice_axis(made, axis=axis, begin=b, end=last)
        return made
    rank = node.axes(0)
    told = {a % rank: (b, None if e >= _END else e, s)
            for a, b, e, s in zip(axes, begin, end, steps)}  # fmt: skip
    parts = [told.get(i, (None, None, None)) for i in range(rank)]
    return sym.slice(
        made, *(), begin=tuple(p[0] for p in parts), end=tuple(p[1] for p in parts),
        step=tuple(p[2] for p in parts), name=node.name,
    )  # fmt: skip


@imports("Pad")
def pad(reader, node):
    pads = node.list(1, "pads")
    n = len(pads) // 2
    width = [v for pair in zip(pads[:n], pads[n:]) for v in pair]
    value = node.number(2, node.get("value", 0.0))
    mode = node.get("mode", "constant")
    return sym.pad(
        node.symbol(0), mode=mode, pad_width=tuple(width), constant_value=value, name=node.name
    )


@imports("Tile")
def tile(reader, node):
    return sym.tile(node.symbol(0), reps=tuple(node.list(1, "repeats")), name=node.name)


@imports("Expand")
def expand(reader, node):
    shape = node.list(1, "shape")
    made = node.symbol(0)
    for _ in range(len(shape) - max(node.axes(0), 1)):
        made = sym.expand_dims(made, axis=0)
    known = node.shape(0)
    if known is None:
        node.refuse("of a shape that the file does not tell")
    known = (1,) * (len(shape) - len(known)) + tuple(known)
    return sym.broadcast_to(
        made, shape=tuple(max(a, b) for a, b in zip(known, shape)), name=node.name
    )


@imports("DepthToSpace", "SpaceToDepth")
def depth_to_space(reader, node):
    if node.kind == "SpaceToDepth":
        return sym.space_to_depth(node.symbol(0), block_size=node.get("blocksize"), name=node.name)
    if node.get("mode", "DCR") != "DCR":
        node.refuse("mode='CRD'")
    return sym.depth_to_space(node.symbol(0), block_size=node.get("blocksize"), name=node.name)


# --- reductions and indices -----------------------------------------------------------------------
@imports("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
         "ReduceSumSquare")  # fmt: skip
def reduce(reader, node):
    axes = node.list(1, "axes")
    axis = None if axes is None else tuple(axes)
    data, keep = node.symbol(0), bool(node.get("keepdims", 1))
    if node.kind in ("ReduceL1", "ReduceL2"):
        order = int(node.kind[-1])
        return sym.norm(data, ord=order, axis=axis, keepdims=keep, name=node.name)
    if node.kind == "ReduceSumSquare":
        return sym.sum(sym.square(data), axis=axis, keepdims=keep, name=node.name)
    make = getattr(sym, node.kind[6:].lower())
    return make(data, axis=axis, keepdims=keep, name=node.name)


@imports("ArgMax", "ArgMin")
def arg(reader, node):
    make = sym.argmax if node.kind == "ArgMax" else sym.argmin
    if node.get("select_last_index", 0):
        node.refuse("select_last_index=1")
    keep = bool(node.get("keepdims", 1))
    made = make(node.symbol(0), axis=node.get("axis", 0), keepdims=keep)
    return sym.Cast(made, dtype="int64", name=node.name)


@imports("TopK")
def topk(reader, node):
    k = int(node.number(1, node.get("k")))
    made = sym.topk(
        node.symbol(0), k=k, axis=node.get("axis", -1), ret_typ="both", dtype="int64",
        is_ascend=not node.get("largest", 1), name=node.name,
    )  # fmt: skip
    return [made[0], made[1]]


@imports("Gather")
def gather(reader, node):
    axis, index = node.get("axis", 0), reader.constant(node.inputs[1])
    if index is not None and index.ndim == 0:
        at = int(index)
        last = None if at == -1 else at + 1
        made = sym.slice_axis(node.symbol(0), axis=axis, begin=at, end=last)
        if node.axes(0) == 1:
            return made
        return sym.squeeze(made, axis=axis, name=node.name)
    return sym.take(node.symbol(0), node.symbol(1), axis=axis, mode="wrap", name=node.name)


@imports("GatherElements")
def gather_elements(reader, node):
    axis, shapes = node.get("axis", 0), [node.shape(0), node.shape(1)]
    if shapes[1] is None or shapes[1][axis] != 1:
        node.refuse("only one index along the axis is read")
    index = sym.squeeze(node.symbol(1), axis=axis)
    return sym.pick(node.symbol(0), index, axis=axis, keepdims=True, name=node.name)


@imports("GatherND")
def gather_nd(reader, node):
    if node.get("batch_dims", 0):
        node.refuse("batch_dims")
    n = node.axes(1)
    index = sym.transpose(node.symbol(1), axes=(n - 1, *range(n - 1)))
    return sym.gather_nd(node.symbol(0), index, name=node.name)


@imports("OneHot")
def one_hot(reader, node):
    depth, values = int(node.number(1, None)), node.constant(2)
    if node.get("axis", -1) not in (-1, node.axes(0)):
        node.refuse("only the last axis is read")
    return sym.one_hot(
        node.symbol(0), depth=depth, off_value=float(values[0]), on_value=float(values[1]),
        dtype=values.dtype.name, name=node.name,
    )  # fmt: skip


@imports("ReverseSequence")
def reverse_sequence(reader, node):
    if (node.get("time_axis", 0), node.get("batch_axis", 1)) != (0, 1):
        node.refuse("only time_axis=0 and batch_axis=1 are read")
    return sym.SequenceReverse(
        node.symbol(0), node.symbol(1), use_sequence_length=True, name=node.name
    )


# --- products -------------------------------------------------------------------------------------
@imports("MatMul")
def matmul(reader, node):
    a, b = node.axes(0), node.axes(1)
    left, right = node.symbol(0), node.symbol(1)
    if b == 2 and a > 2:
        made = reader.constant(node.inputs[1])
        if made is not None:  # a dense layer on the last axis
            weight = reader.parameter(f"{node.name}_weight", np.ascontiguousarray(made.T))
            return sym.FullyConnected(
                left, weight, num_hidden=made.shape[1], no_bias=True, flatten=False, name=node.name
            )
        flat = (
            sym.reshape(left, shape=(-3, -2))
            if a == 3
            else sym.reshape(left, shape=(-1, 0), reverse=True)
        )
        return sym.reshape_like(
            sym.dot(flat, right), left, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=a - 1,
            name=node.name,
        )  # fmt: skip
    if a <= 2 and b <= 2:
        return sym.dot(left, right, name=node.name)
    if a != b:
        node.refuse(f"of {a} and {b} axes")
    if a == 3:
        return sym.batch_dot(left, right, name=node.name)
    shapes = node.shape(0), node.shape(1)
    if None in shapes or shapes[0][:-2] != shapes[1][:-2]:
        node.refuse("batches that are not the same, or of shapes that the file does not tell")
    (lead, m, k), n = (shapes[0][:-2], *shapes[0][-2:]), shapes[1][-1]
    made = sym.batch_dot(sym.reshape(left, shape=(-1, m, k)), sym.reshape(right, shape=(-1, k, n)))
    return sym.reshape(made, shape=(*lead, m, n), name=node.name)
