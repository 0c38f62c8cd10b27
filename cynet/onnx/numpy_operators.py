"""Exporters of mx.np's operators, which compute in the dtype of NumPy's promotion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.decompose import ConstantArray
from ..operator._base import get_operator
from ..operator.functions.numpy_rows import BINARIES, NPX_UNARIES, UNARIES, operators_of
from ..operator.functions.reductions import REDUCTIONS
from ..operator.functions.row import BOOL
from ..operator.numpy.promotion import comparison_dtype, promote_dtypes
from ..operator.numpy.shapes import RESHAPE
from .elementwise import emit_elementwise
from .graph import exports
from .movement import reshape_target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .graph import Graph, OpNode

_BINARY_ROWS: dict[type, Any] = {}  # property class -> row
_SCALAR_ROWS: dict[type, Any] = {}  # property class -> row
_UNARY_ROWS: dict[type, Any] = {}  # property class -> row
_REDUCTION_ROWS: dict[type, Any] = {}  # property class -> row
_row: Any  # variable of the loops below
for _name, *_, _row in BINARIES:
    if _row is not None and _row.onnx:
        _names = operators_of(_name)
        _BINARY_ROWS[get_operator(_names[0]).prop] = _row
        _SCALAR_ROWS[get_operator(_names[2]).prop] = _row
        if _names[3] == f"_npi_r{_name}_scalar":  # else the operator has another row
            _SCALAR_ROWS[get_operator(_names[3]).prop] = _row
for _operator, _row in (*UNARIES.values(), *NPX_UNARIES.values()):
    if _row is not None and _operator != _row.name and _row.onnx:
        _UNARY_ROWS[get_operator(_operator).prop] = _row
for _row in REDUCTIONS:
    if _row.onnx and not _row.name.startswith("nan") and _row.name != "norm":
        _REDUCTION_ROWS[get_operator(f"_np{'i' * _row.mean}_{_row.name}").prop] = _row


def _cast_arg(g: Graph, c: OpNode, i: int, dtype: str) -> str:
    return c.inputs[i] if c.dtypes[i] == dtype else g.cast(c.inputs[i], dtype)


def _write_nodes(
    g: Graph, c: OpNode, row: Any, inputs: Sequence[str], dtype: str, number: float | None = None
) -> str:
    if row.result == BOOL and not row.sign:
        inputs, dtype = [g.cast(each, "bool") for each in inputs], "bool"
    return g.cast(emit_elementwise(g, row, inputs, dtype, number), c.out_dtypes[0])


@exports(*_BINARY_ROWS)
def export_binary(g: Graph, c: OpNode) -> str:
    row, out = _BINARY_ROWS[type(c.prop)], c.out_dtypes[0]
    common = comparison_dtype(*c.dtypes) if row.result == BOOL else out
    if common == "bool":
        common = promote_dtypes(*c.dtypes)
    return _write_nodes(g, c, row, [_cast_arg(g, c, 0, common), _cast_arg(g, c, 1, common)], common)


@exports(*_SCALAR_ROWS)
def export_scalar(g: Graph, c: OpNode) -> str:
    row, value = _SCALAR_ROWS[type(c.prop)], c.prop.scalar
    dtype = c.out_dtypes[0]
    if row.result == BOOL:
        whole = float(value).is_integer()
        dtype = c.dtypes[0] if c.dtypes[0].startswith("float") else "int64" if whole else "float64"
    inputs = [_cast_arg(g, c, 0, dtype), g.constant(np.array(value, dtype))]
    if c.prop.reverse:
        return _write_nodes(g, c, row, inputs[::-1], dtype)
    return _write_nodes(g, c, row, inputs, dtype, value)


@exports(*_UNARY_ROWS)
def export_unary(g: Graph, c: OpNode) -> str:
    row, out = _UNARY_ROWS[type(c.prop)], c.out_dtypes[0]
    dtype = c.dtypes[0] if row.result == BOOL else out
    return _write_nodes(g, c, row, [_cast_arg(g, c, 0, dtype)], dtype)


_NUMBER_TESTS = {get_operator(f"_npi_{each.lower()}").prop: each for each in ("IsNaN", "IsInf")}


@exports(*_NUMBER_TESTS)
def classify_number(g: Graph, c: OpNode) -> str:
    dtype = c.dtypes[0] if c.dtypes[0] in ("float32", "float64") else "float32"
    return g.emit(_NUMBER_TESTS[type(c.prop)], [_cast_arg(g, c, 0, dtype)])


@exports(ConstantArray)
def export_constant(g: Graph, c: OpNode) -> str:
    return g.constant(c.prop.array)


@exports(RESHAPE.prop)
def reshape(g: Graph, c: OpNode) -> str:
    return g.reshape(c.inputs[0], reshape_target(c))


@exports(*_REDUCTION_ROWS)
def reduce(g: Graph, c: OpNode) -> str:
    row, n, axis = _REDUCTION_ROWS[type(c.prop)], len(c.shapes[0]), c.prop.axis
    axes = range(n) if axis is None else [axis] if isinstance(axis, int) else axis
    axes = sorted(each % n for each in axes)
    x = _cast_arg(g, c, 0, c.out_dtypes[0])
    if not axes:
        return x
    if row.onnx == "ReduceSum":  # axes of ReduceSum are an input since opset 13
        return g.emit(row.onnx, [x, g.ints(*axes)], keepdims=int(c.prop.keepdims))
    return g.emit(row.onnx, [x], axes=axes, keepdims=int(c.prop.keepdims))


_ARG_PROPERTIES = {get_operator(f"_npi_{each.lower()}").prop: each for each in ("ArgMax", "ArgMin")}


@exports(*_ARG_PROPERTIES)
def export_arg_reduction(g: Graph, c: OpNode) -> str:
    x, axis = c.inputs[0], c.prop.axis
    if axis is None:
        x, axis = g.reshape(x, (-1,)), 0
    made = g.emit(_ARG_PROPERTIES[type(c.prop)], [x], axis=axis, keepdims=int(c.prop.keepdims))
    return g.reshape(made, c.out_shapes[0]) if c.prop.axis is None else made
