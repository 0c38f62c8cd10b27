"""Importers of reductions and cumulative sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import symbol as sym
from ..operator.functions import REDUCTIONS
from .importers import imports

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..symbol import Symbol
    from .importers import Node, Reader

_SIMPLE_REDUCTIONS = {  # kind of node -> operator
    **{row.onnx: row.name for row in REDUCTIONS if row.onnx},
    **dict.fromkeys(("ReduceL1", "ReduceL2", "ReduceSumSquare"), "sum"),
    **dict.fromkeys(("ReduceLogSum", "ReduceLogSumExp"), "sum"),
}


@imports(*_SIMPLE_REDUCTIONS)
def reduce(reader: Reader, node: Node) -> Symbol:
    """Import a reduction: a function of the elements, a reduction, a function of the results."""
    kind, data = node.kind, node.symbol(0)
    axes, nothing = node.int_list(1, "axes"), node.get("noop_with_empty_axes", 0)
    keep = bool(node.get("keepdims", 1))
    dtype = node.dtype(0)
    small = dtype in ("bool", "int8", "uint8")
    if small:
        data = sym.Cast(data, dtype="int32")
    if kind == "ReduceL1":
        data = sym.abs(data)
    elif kind in ("ReduceL2", "ReduceSumSquare"):
        data = sym.square(data)
    if kind == "ReduceLogSumExp":
        made = _log_sum_exp(data, axes, keep, nothing)
        return sym.identity(made)
    if axes or not nothing:
        make = getattr(sym, _SIMPLE_REDUCTIONS[kind])
        data = make(data, axis=tuple(axes) if axes else None, keepdims=keep)
    if kind == "ReduceL2":
        data = sym.sqrt(data)
    elif kind == "ReduceLogSum":
        data = sym.log(data)
    return sym.Cast(data, dtype=dtype) if small else sym.identity(data)


def _log_sum_exp(data: Symbol, axes: Sequence[int] | None, keep: bool, nothing: int) -> Symbol:
    """Compute log(sum(exp(x))) with the largest element subtracted first."""
    if not axes and nothing:
        return sym.log(sym.exp(data))
    how: dict[str, Any] = {"axis": tuple(axes) if axes else None}
    top = sym.max(data, keepdims=True, **how)
    finite = sym.BlockGrad(sym.where(sym.abs(top) == float("inf"), sym.zeros_like(top), top))
    total = sym.sum(sym.exp(sym.broadcast_sub(data, finite)), keepdims=True, **how)
    made = sym.broadcast_add(sym.log(total), finite)
    return made if keep else sym.sum(made, **how)


@imports("ArgMax", "ArgMin")
def arg_reduction(reader: Reader, node: Node) -> Symbol:
    make = sym.argmax if node.kind == "ArgMax" else sym.argmin
    axis, keep, data = node.axis(default=0), bool(node.get("keepdims", 1)), node.symbol(0)
    length = node.lengths(0)[axis] if node.rank(0) else 1
    if length is None or length >= 1 << 24:
        node.refuse("an index of float32 is not exact from 2 ** 24 on")
    last = node.get("select_last_index", 0)
    if last:
        data = sym.reverse(data, axis=axis)
    made = sym.Cast(make(data, axis=axis, keepdims=keep), dtype="int64")
    return (length - 1) - made if last else made


@imports("CumSum")
def running_sum(reader: Reader, node: Node) -> Symbol:
    axis, rank = int(node.number(1, None)), node.rank(0)
    data, back = node.symbol(0), node.get("reverse", 0)
    if not -rank <= axis < rank:
        node.refuse(f"axis {axis} of {rank} axes")
    data = sym.reverse(data, axis=axis) if back else data
    made = sym.cumsum(data, axis=axis % rank)
    made = made - data if node.get("exclusive", 0) else made
    return sym.reverse(made, axis=axis % rank) if back else made


@imports("Hardmax")
def hardmax(reader: Reader, node: Node) -> Symbol:
    """Import Hardmax: 1 at the first largest element of an axis, else 0."""
    rank = node.rank(0)
    axis = node.axis(default=-1 if node.opset >= 13 else 1)
    if node.opset < 13 and axis != rank - 1:
        node.refuse("axes from `axis` on as one, of opsets below 13")
    length = node.lengths(0)[axis]
    if length is None:
        node.refuse("the file does not tell the length of its axis")
    found = sym.one_hot(sym.argmax(node.symbol(0), axis=axis), depth=length, dtype=node.dtype(0))
    if rank == 1:
        return sym.reshape(found, shape=(-1,))
    return sym.transpose(found, axes=(*range(axis), rank - 1, *range(axis, rank - 1)))


@imports("LpNormalization")
def lp_normalization(reader: Reader, node: Node) -> Symbol:
    """Import LpNormalization: ``x / norm(x)`` along an axis; zeros stay zeros."""
    x, axis, p = node.symbol(0), node.axis(default=-1), node.get("p", 2)
    if p not in (1, 2):
        node.refuse(f"p={p}")
    size = sym.sum(sym.abs(x) if p == 1 else sym.square(x), axis=axis, keepdims=True)
    size = size if p == 1 else sym.sqrt(size)
    size = sym.where(size == 0, sym.ones_like(size), size)
    return sym.broadcast_div(x, size)
