"""Importers of gathering, scattering and sorting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import symbol as sym
from .importers import imports

if TYPE_CHECKING:
    from ..symbol import Symbol
    from .importers import Node, Reader


def _nonnegative_indices(reader: Reader, node: Node, i: int, length: Any) -> Symbol:
    """Return indices as non-negative int64; ONNX counts negative indices from the end.

    `length` is a number, or an array that broadcasts to the indices.
    """
    found = node.value(i)
    if found is not None:
        found = found.astype("int64")
        return reader.frozen_var(f"{node.name}_index", np.where(found < 0, found + length, found))
    index = sym.Cast(node.symbol(i), dtype="int64")
    below = sym.Cast(index < 0, dtype="int64")
    if np.ndim(length):
        length = reader.frozen_var(f"{node.name}_lengths", np.asarray(length, "int64"))
        return index + sym.broadcast_mul(below, length)
    return index + below * int(length)


def _axis_length(node: Node, axis: int) -> int:
    found: int | None = node.lengths(0)[axis]
    if found is None:
        node.refuse(f"the file does not tell the length of axis {axis} of its input")
    return found


@imports("Gather")
def gather(reader: Reader, node: Node) -> Symbol:
    axis, index = node.axis(default=0), node.value(1)
    data = node.symbol(0)
    if index is not None and index.ndim == 0:
        at = int(index)
        made = sym.slice_axis(data, axis=axis, begin=at, end=None if at == -1 else at + 1)
    else:
        made = sym.take(data, node.symbol(1), axis=axis, mode="wrap")
    if node.rank(1) == 0 and node.rank(0) > 1:
        made = sym.squeeze(made, axis=axis)
    return made


def _element_index_tuples(reader: Reader, node: Node, axis: int) -> Symbol:
    """Return the index tuples of GatherElements and ScatterElements, one row for each axis."""
    shape, length = node.known_shape(1), _axis_length(node, axis)
    grid = np.indices(shape)
    rows = [
        sym.expand_dims(
            _nonnegative_indices(reader, node, 1, length)
            if i == axis
            else reader.frozen_var(f"{node.name}_grid{i}", grid[i]),
            axis=0,
        )
        for i in range(len(shape))
    ]
    return sym.Concat(*rows, dim=0) if len(rows) > 1 else rows[0]


@imports("GatherElements")
def gather_elements(reader: Reader, node: Node) -> Symbol:
    index = _element_index_tuples(reader, node, node.axis(default=0))
    return sym.gather_nd(node.symbol(0), index)


def _nd_index_tuples(reader: Reader, node: Node, batch: int = 0) -> Symbol:
    """Return the index tuples of GatherND and ScatterND, one row for each axis."""
    shape, n = node.known_shape(1), node.rank(1)
    lengths = [_axis_length(node, i) for i in range(batch, batch + shape[-1])]
    index = _nonnegative_indices(reader, node, 1, np.array(lengths).reshape(*[1] * (n - 1), -1))
    index = sym.transpose(index, axes=(n - 1, *range(n - 1))) if n > 1 else index
    if n == 1:
        index = sym.reshape(index, shape=(-1, 1))
    if batch:
        grid = np.indices(shape[:-1])[:batch]
        index = sym.Concat(reader.frozen_var(f"{node.name}_batch", grid), index, dim=0)
    return index


@imports("GatherND")
def gather_nd(reader: Reader, node: Node) -> Symbol:
    index = _nd_index_tuples(reader, node, node.get("batch_dims", 0))
    made = sym.gather_nd(node.symbol(0), index)
    if node.rank(1) == 1 and node.rank(0) > node.shape(1)[-1]:
        made = sym.squeeze(made, axis=0)
    return made


def _scatter_values(node: Node, data: Symbol, index: Symbol, values: Symbol) -> Symbol:
    """Write values into `data` at the index tuples."""
    if node.get("reduction", "none") != "none":
        node.refuse(f"reduction={node.get('reduction')}")
    shape = node.known_shape(0)
    made = sym.scatter_nd(values, index, shape=shape)
    there = sym.scatter_nd(sym.ones_like(values), index, shape=shape)
    return sym.where(sym.Cast(there, dtype="bool"), made, data)


@imports("ScatterElements", "Scatter")
def scatter_elements(reader: Reader, node: Node) -> Symbol:
    index = _element_index_tuples(reader, node, node.axis(default=0))
    return _scatter_values(node, node.symbol(0), index, node.symbol(2))


@imports("ScatterND")
def scatter_nd(reader: Reader, node: Node) -> Symbol:
    index, values = _nd_index_tuples(reader, node), node.symbol(2)
    if node.rank(1) == 1:
        values = sym.expand_dims(values, axis=0) if node.rank(2) else values
    return _scatter_values(node, node.symbol(0), index, values)


@imports("TopK")
def topk(reader: Reader, node: Node) -> list[Symbol]:
    node.ignore("sorted")  # sorted=0 allows any order, also the sorted one
    k = int(node.number(1, node.get("k")))
    made = sym.topk(
        node.symbol(0),
        k=k,
        axis=node.axis(default=-1),
        ret_typ="both",
        dtype="int64",
        is_ascend=not node.get("largest", 1),
    )
    return [made[0], made[1]]


@imports("OneHot")
def one_hot(reader: Reader, node: Node) -> Symbol:
    """Import OneHot: an index beyond the depth gives a row without a one."""
    depth, values = int(node.number(1, None)), node.value(2)
    rank, dtype = node.rank(0), node.dtype(2)
    axis = node.axis(default=-1, extra=1)
    hot = sym.one_hot(_nonnegative_indices(reader, node, 0, depth), depth=depth, dtype="float32")
    if rank == 0:
        hot = sym.reshape(hot, shape=(-1,))
    elif axis != rank:
        hot = sym.transpose(hot, axes=(*range(axis), rank, *range(axis, rank)))
    if values is None:
        pair = node.symbol(2)
        ends = [sym.slice_axis(pair, axis=0, begin=i, end=i + 1) for i in range(2)]
    else:
        ends = [reader.frozen_var(f"{node.name}_value{i}", values[i : i + 1]) for i in range(2)]
    for i in range(2):
        for _ in range(max(rank, 0)):
            ends[i] = sym.expand_dims(ends[i], axis=0)
        ends[i] = sym.broadcast_like(ends[i], sym.Cast(hot, dtype=dtype))
    return sym.where(hot, ends[1], ends[0])


@imports("ReverseSequence")
def reverse_sequence(reader: Reader, node: Node) -> Symbol:
    time, batch = node.get("time_axis", 0), node.get("batch_axis", 1)
    if {time, batch} != {0, 1}:
        node.refuse(f"time_axis={time} and batch_axis={batch}")
    data = node.symbol(0)
    data = data if time == 0 else sym.SwapAxis(data, dim1=0, dim2=1)
    lengths = sym.Cast(node.symbol(1), dtype="float32")
    made = sym.SequenceReverse(data, lengths, use_sequence_length=True)
    return made if time == 0 else sym.SwapAxis(made, dim1=0, dim2=1)
