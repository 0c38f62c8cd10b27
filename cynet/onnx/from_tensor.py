"""Importers of shape functions, slicing, padding and matrix products."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import symbol as sym
from .from_layers import integer_dense
from .importers import FLOATS, imports

if TYPE_CHECKING:
    from ..symbol import Symbol
    from ..typing import Shape
    from .importers import Node, Reader

_NO_END = np.iinfo(np.int64).max // 2  # larger starts and ends mean the end of an axis


@imports("Reshape")
def reshape(reader: Reader, node: Node) -> Symbol:
    node.ignore("consumed_inputs")
    shape = node.int_list(1, "shape")
    if node.get("allowzero", 0) and 0 in shape:
        node.refuse(f"a length of 0 in the shape {shape}")
    if min(shape, default=1) < -1:
        node.refuse(f"the shape {shape}")
    return sym.reshape(node.symbol(0), shape=tuple(shape) or (1,))


@imports("Flatten")
def flatten(reader: Reader, node: Node) -> Symbol:
    rank, axis = node.rank(0), node.get("axis", 1)
    if not -rank <= axis <= rank:
        node.refuse(f"axis={axis} of {rank} axes")
    axis = axis + rank if axis < 0 else axis
    if axis == 1 and rank > 1:
        return sym.Flatten(node.symbol(0))
    if axis == 0:
        return sym.reshape(node.symbol(0), shape=(1, -1))
    if axis == rank:
        return sym.reshape(node.symbol(0), shape=(-1, 1))
    rows = node.lengths(0)[:axis]
    if None in rows:
        node.refuse(f"axis={axis} of a shape that the file does not tell")
    return sym.reshape(node.symbol(0), shape=(math.prod(rows), -1))


@imports("Transpose")
def transpose(reader: Reader, node: Node) -> Symbol:
    axes = tuple(node.get("perm", ()))
    if node.rank(0) < 2:
        return sym.identity(node.symbol(0))
    return sym.transpose(node.symbol(0), axes=axes)


@imports("Squeeze", "Unsqueeze")
def squeeze(reader: Reader, node: Node) -> Symbol:
    axes = node.int_list(1, "axes")
    if node.kind == "Squeeze":
        rank = node.rank(0)
        if axes is not None and len({a % max(rank, 1) for a in axes}) == rank:
            return sym.reshape(node.symbol(0), shape=(1,))
        axes = None if axes is None else tuple(axes)
        if axes is None and set(node.lengths(0)) == {1}:
            return sym.reshape(node.symbol(0), shape=(1,))
        if axes == ():
            return sym.identity(node.symbol(0))
        return sym.squeeze(node.symbol(0), axis=axes)
    made, rank = node.symbol(0), node.rank(0) + len(axes)
    new_axes = sorted(a % rank for a in axes)
    if node.rank(0) == 0:  # a scalar is an array of one element here
        return sym.reshape(made, shape=(1,) * rank)
    for axis in new_axes:
        made = sym.expand_dims(made, axis=axis)
    return made


@imports("Concat")
def concat(reader: Reader, node: Node) -> Symbol:
    axis = node.get("axis", 1 if node.opset < 4 else None)
    for i in range(len(node.inputs)):
        node.mark_unused(i)  # an input without elements adds nothing
    found = [node.symbol(i) for i in range(len(node.inputs)) if 0 not in node.lengths(i)]
    if len(found) == 1:
        return sym.identity(found[0])
    return sym.Concat(*found, dim=axis % node.rank(0))


@imports("Split")
def split(reader: Reader, node: Node) -> Symbol | list[Symbol | None]:
    axis, sizes, count = node.axis(default=0), node.int_list(1, "split"), len(node.outputs)
    length = node.lengths(0)[axis]
    if node.get("num_outputs", count) != count:
        node.refuse(f"num_outputs={node.get('num_outputs')} for {count} outputs")
    if sizes is None and length is not None and length % count:
        size = -(-length // count)
        sizes = [size] * (count - 1) + [length - size * (count - 1)]
    if count == 1:
        return sym.identity(node.symbol(0))
    if sizes is None or (len(set(sizes)) == 1 and sum(sizes) == length):
        made = sym.SliceChannel(node.symbol(0), num_outputs=count, axis=axis)
        return [made[i] for i in range(count)]
    if len(sizes) != count or min(sizes) < 0 or sum(sizes) != (length or sum(sizes)):
        node.refuse(f"parts of {sizes} of {length} for {count} outputs")
    ends = np.cumsum(sizes)
    return [
        sym.slice_axis(node.symbol(0), axis=axis, begin=int(e - s), end=int(e)) if s else None
        for s, e in zip(sizes, ends)
    ]


@imports("Slice")
def slice_(reader: Reader, node: Node) -> Symbol:
    """Import Slice: starts and ends beyond an axis mean its ends."""
    begin, end = node.int_list(1, "starts"), node.int_list(2, "ends")
    axes = node.int_list(3, "axes") or list(range(len(begin)))
    steps = node.int_list(4, "steps") or [1] * len(begin)
    if not len(begin) == len(end) == len(axes) == len(steps) or 0 in steps:
        node.refuse(f"starts {begin}, ends {end}, axes {axes}, steps {steps}")
    rank, lengths = node.rank(0), node.lengths(0)
    ranges: dict[int, tuple[Any, Any, int]] = {}
    found = []
    for axis, b, e, s in zip(axes, begin, end, steps):
        axis, length = axis % rank, lengths[axis % rank]
        if length is not None:
            at = range(*slice(b, e, s).indices(length))
            if not len(at):
                node.refuse(f"nothing of axis {axis} is left, from {b} to {e} by {s}")
            first, last = at[0], at[-1] + (1 if s > 0 else -1)
            ranges[axis] = (first, None if last < 0 else last, s)
        else:
            ranges[axis] = (None if abs(b) >= _NO_END else b, None if abs(e) >= _NO_END else e, s)
        found.append(axis)
    if len(set(found)) != len(found):
        node.refuse(f"an axis twice in {axes}")
    made = node.symbol(0)
    ranges = {a: v for a, v in ranges.items() if v[2] != 1 or v[0] != 0 or v[1] != lengths[a]}
    if all(step == 1 and lengths[axis] is not None for axis, (_, _, step) in ranges.items()):
        for axis, (b, e, _) in sorted(ranges.items()):
            made = sym.slice_axis(made, axis=axis, begin=b, end=e)
        return made if ranges else sym.identity(made)
    parts: list[Any] = [ranges.get(i, (None, None, None)) for i in range(rank)]
    return sym.slice(
        made,
        begin=tuple(p[0] for p in parts),
        end=tuple(p[1] for p in parts),
        step=tuple(p[2] for p in parts),
    )


@imports("Pad")
def pad(reader: Reader, node: Node) -> Symbol:
    pads = node.int_list(1, "pads" if node.opset >= 2 else "paddings")
    rank, n = node.rank(0), len(pads) // 2
    axes = [int(v) for v in node.constant(3, range(n))]
    mode = node.choice("mode", "constant", "edge", "reflect", "wrap")
    value = node.number(2, node.get("value", 0.0)) if mode == "constant" else 0
    if mode != "constant":
        node.ignore("value")
        node.value(2)
    if len(axes) != n or len({a % rank for a in axes}) != n:
        node.refuse(f"pads {pads} of the axes {axes}")
    pad_of_axis = {a % rank: (pads[i], pads[n + i]) for i, a in enumerate(axes)}
    pairs = [pad_of_axis.get(i, (0, 0)) for i in range(rank)]
    data = node.symbol(0)
    flat = [v for pair in pairs for v in pair]
    plain = rank in (4, 5) and not any(flat[:4]) and min(flat) >= 0 and mode != "wrap"
    if plain and node.dtype(0) in ("float32", "float64"):
        return sym.pad(data, mode=mode, pad_width=tuple(flat), constant_value=float(value))
    shape = list(node.known_shape(0))
    for axis, (before, behind) in enumerate(pairs):
        cut = [max(-before, 0), max(-behind, 0)]
        if any(cut):
            end = -cut[1] or None
            data = sym.slice_axis(data, axis=axis, begin=cut[0], end=end)
            shape[axis] -= sum(cut)
        before, behind = max(before, 0), max(behind, 0)
        if mode == "constant":
            ends = [
                sym.full((*shape[:axis], count, *shape[axis + 1 :]), value, dtype=node.dtype(0))
                if count
                else None
                for count in (before, behind)
            ]
            parts = [p for p in (ends[0], data, ends[1]) if p is not None]
            data = sym.Concat(*parts, dim=axis) if len(parts) > 1 else data
        elif before or behind:
            index = np.pad(np.arange(shape[axis]), (before, behind), mode=mode)
            data = sym.take(data, reader.frozen_var(f"{node.name}_axis{axis}", index), axis=axis)
        shape[axis] += before + behind
    return sym.identity(data)


@imports("Tile")
def tile(reader: Reader, node: Node) -> Symbol:
    return sym.tile(node.symbol(0), reps=tuple(node.int_list(1, "repeats")))


@imports("Expand")
def expand(reader: Reader, node: Node) -> Symbol:
    shape, known = node.int_list(1, "shape"), node.known_shape(0)
    made = node.symbol(0)
    for _ in range(len(shape) - max(len(known), 1)):
        made = sym.expand_dims(made, axis=0)
    rank = max(len(shape), len(known))
    whole = np.broadcast_shapes(known, tuple(shape)) if rank else (1,)
    return sym.broadcast_to(made, shape=tuple(whole))


@imports("SpaceToDepth")
def space_to_depth(reader: Reader, node: Node) -> Symbol:
    size, mode = node.get("blocksize"), node.choice("mode", "DCR", "CRD")
    data = node.symbol(0)
    if mode == "DCR":
        return sym.space_to_depth(data, block_size=size)
    n, c, h, w = node.known_shape(0)
    made = sym.reshape(data, shape=(n, c, h // size, size, w // size, size))
    made = sym.transpose(made, axes=(0, 1, 3, 5, 2, 4))
    return sym.reshape(made, shape=(n, c * size**2, h // size, w // size))


@imports("DepthToSpace")
def depth_to_space(reader: Reader, node: Node) -> Symbol:
    size, mode = node.get("blocksize"), node.choice("mode", "DCR", "CRD")
    data = node.symbol(0)
    if mode == "DCR":
        return sym.depth_to_space(data, block_size=size)
    n, c, h, w = node.known_shape(0)
    made = sym.reshape(data, shape=(n, c // size**2, size, size, h, w))
    made = sym.transpose(made, axes=(0, 1, 4, 2, 5, 3))
    return sym.reshape(made, shape=(n, c // size**2, h * size, w * size))


@imports("Shape")
def shape_(reader: Reader, node: Node) -> Symbol:
    """Import Shape: a shape that the file leaves open is computed with the data."""
    rank = node.rank(0)
    at = range(*slice(node.get("start"), node.get("end")).indices(rank))
    if not len(at):
        node.refuse("no length is left")
    made = sym.shape_array(node.symbol(0))
    return sym.slice_axis(made, axis=0, begin=at[0], end=at[-1] + 1)


@imports("ConstantOfShape", "Range")
def refuse_unknown_value(reader: Reader, node: Node) -> None:
    """Refuse a node whose inputs are no constants: its result's shape must be known at import."""
    for i in range(len(node.inputs)):
        node.constant(i)
    node.refuse("a value of this kind is not known when the file is read")


@imports("EyeLike")
def eye(reader: Reader, node: Node) -> Symbol:
    rows, columns = node.known_shape(0)
    dtype = node.get("dtype")
    to_name = reader.library.helper.tensor_dtype_to_np_dtype
    dtype = node.dtype(0) if dtype is None else to_name(dtype).name
    node.mark_unused(0)
    values = np.eye(rows, columns, k=node.get("k", 0), dtype=dtype)
    return sym.identity(reader.frozen_var(f"{node.name}_eye", values))


@imports("Trilu")
def triangle(reader: Reader, node: Node) -> Symbol:
    shape, k = node.known_shape(0), int(node.number(1, 0))
    ones = np.ones(shape[-2:], bool)
    mask = np.triu(ones, k) if node.get("upper", 1) else np.tril(ones, k)
    mask = np.ascontiguousarray(np.broadcast_to(mask, shape))
    data = node.symbol(0)
    chosen = reader.frozen_var(f"{node.name}_mask", mask)
    return sym.where(chosen, data, sym.zeros_like(data))


@imports("MatMul")
def matmul(reader: Reader, node: Node) -> Symbol:
    a, b = node.rank(0), node.rank(1)
    if node.dtype(0) not in FLOATS:
        node.refuse(f"of {node.dtype(0)}")
    left, right = node.symbol(0), node.symbol(1)
    integers = node.quantized_weight(1)
    if a > 1 and integers is not None:
        made = integer_dense(reader, node, left, integers, False)
        if made is not None:
            return made
    if b == 2 and a > 2:
        made = node.value(1)
        if made is not None:  # it became a dense layer
            weight = reader.add_parameter(f"{node.name}_weight", np.ascontiguousarray(made.T))
            return sym.FullyConnected(
                left, weight, num_hidden=made.shape[1], no_bias=True, flatten=False
            )
    if b == 2 or (a <= 2 and b <= 2):
        return sym.dot(left, right)
    shapes = node.shape(0), node.shape(1)
    if None in shapes:
        return _unknown_shape_matmul(left, right, a, b, a == b and node.has_equal_lengths(0, 1, 2))
    return _batched_matmul(left, right, *shapes)


def _unknown_shape_matmul(left: Symbol, right: Symbol, a: int, b: int, alike: bool) -> Symbol:
    """Compute matmul of ranks `a` and `b` with open lengths; `alike`: equal batch lengths."""
    values = [
        sym.expand_dims(left, axis=0) if a == 1 else left,
        sym.expand_dims(right, axis=1) if b == 1 else right,
    ]
    ranks = max(a, 2), max(b, 2)
    lead = max(ranks) - 2
    for i, rank in enumerate(ranks):
        for _ in range(lead + 2 - rank):
            values[i] = sym.expand_dims(values[i], axis=0)
    whole, last = values[0], (lead, lead + 1)
    if not alike:  # the batch shape, by one element of each matrix
        open_axes: tuple[Any, ...] = (None,) * lead
        ones = [sym.slice(v, begin=(*open_axes, 0, 0), end=(*open_axes, 1, 1)) for v in values]
        whole = sym.broadcast_add(sym.zeros_like(ones[0]), sym.zeros_like(ones[1]))
        axes = tuple(range(lead))
        values = [sym.broadcast_like(v, whole, lhs_axes=axes, rhs_axes=axes) for v in values]
    for _ in range(lead - 1):
        values = [sym.reshape(v, shape=(-3, -2)) for v in values]
    made = sym.batch_dot(values[0], values[1])
    if lead > 1:
        made = sym.reshape_like(made, whole, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=lead)
    gone = tuple(axis for axis, rank in zip(last, (a, b)) if rank == 1)
    return sym.squeeze(made, axis=gone) if gone else made


def _batched_matmul(left: Symbol, right: Symbol, a: Shape, b: Shape) -> Symbol:
    """Compute NumPy's matmul of arrays whose shapes are known."""
    wide = (1, *a) if len(a) == 1 else a, (*b, 1) if len(b) == 1 else b
    lead = np.broadcast_shapes(wide[0][:-2], wide[1][:-2])
    parts = []
    for value, shape, whole in zip((left, right), (a, b), wide):
        padded = (1,) * (len(lead) + 2 - len(whole)) + tuple(whole)
        if padded != tuple(shape):
            value = sym.reshape(value, shape=padded)
        if padded[:-2] != lead:
            value = sym.broadcast_to(value, shape=(*lead, *whole[-2:]))
        if len(lead) != 1:
            value = sym.reshape(value, shape=(-1, *whole[-2:]))
        parts.append(value)
    shape = (*lead, *(wide[0][-2:-1] if len(a) > 1 else ()), *(wide[1][-1:] if len(b) > 1 else ()))
    made = sym.batch_dot(parts[0], parts[1])
    return sym.reshape(made, shape=tuple(shape))


@imports("Det")
def determinant(reader: Reader, node: Node) -> Symbol:
    return sym.linalg.det(node.symbol(0))


@imports("Einsum")
def einsum(reader: Reader, node: Node) -> Symbol:
    """Import Einsum: one operand is summed and transposed, two are contracted by batch_dot."""
    text = node.get("equation").replace(" ", "")
    terms, _, wanted = text.partition("->")
    terms = terms.split(",")
    if "." in text or "->" not in text or any(len(set(t)) != len(t) for t in (*terms, wanted)):
        node.refuse(f"equation={text}; an ellipsis, a letter twice or no -> can not be read")
    shapes = [node.known_shape(i) for i in range(len(terms))]
    size = {k: n for t, s in zip(terms, shapes) for k, n in zip(t, s)}
    if any(size[k] != n for t, s in zip(terms, shapes) for k, n in zip(t, s)):
        node.refuse(f"equation={text} of the shapes {shapes}")
    parts = [node.symbol(i) for i in range(len(terms))]
    if len(terms) == 1:
        term, made = terms[0], parts[0]
    elif len(terms) == 2:
        term, made = _contract_einsum_pair(terms[0], terms[1], parts[0], parts[1], wanted, size)
    else:
        return node.refuse(f"{len(terms)} operands")
    gone = tuple(i for i, k in enumerate(term) if k not in wanted)
    if gone:
        made, term = sym.sum(made, axis=gone), "".join(k for k in term if k in wanted)
    if term != wanted and len(wanted) > 1:
        made = sym.transpose(made, axes=tuple(term.index(k) for k in wanted))
    return sym.identity(made)


def _contract_einsum_pair(
    a: str, b: str, left: Symbol, right: Symbol, wanted: str, size: dict[str, int]
) -> tuple[str, Symbol]:
    """Contract two operands by batch_dot over common letters; return (letters, result)."""
    lone = [[k for k in t if k not in o and k not in wanted] for t, o in ((a, b), (b, a))]
    left = sym.sum(left, axis=tuple(map(a.index, lone[0]))) if lone[0] else left
    right = sym.sum(right, axis=tuple(map(b.index, lone[1]))) if lone[1] else right
    a, b = ("".join(k for k in t if k not in gone) for t, gone in ((a, lone[0]), (b, lone[1])))
    both = [k for k in a if k in b]
    batch, inner = [k for k in both if k in wanted], [k for k in both if k not in wanted]
    rows, columns = [k for k in a if k not in both], [k for k in b if k not in both]
    made = []
    orders = [batch, rows, inner], [batch, inner, columns]
    for value, term, order in zip((left, right), (a, b), orders):
        axes = tuple(term.index(k) for part in order for k in part)
        value = sym.transpose(value, axes=axes) if len(axes) > 1 else value
        made.append(
            sym.reshape(value, shape=tuple(math.prod(size[k] for k in part) for part in order))
        )
    letters = [*batch, *rows, *columns]
    whole = tuple(size[k] for k in letters) or (1,)
    return "".join(letters), sym.reshape(sym.batch_dot(made[0], made[1]), shape=whole)
