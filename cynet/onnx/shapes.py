"""Shapes of the values of an ONNX graph, inferred node by node while it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import FormatError, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .importers import Node

_POOLING_KINDS = ("MaxPool", "AveragePool", "LpPool")  # kinds of nodes that pool
_MAX_SHAPE_VALUES = 1 << 12  # size of a constant that may be a shape


class Shapes:  # of an ONNX file's values, declared or inferred
    """Shapes of values: declared in the file, or inferred from declared ones.

    The onnx package infers one node at a time, and none that gets a negative length: over those it
    ends the process.
    """

    def __init__(self, library: Any, model: Any) -> None:
        self._library, graph = library, model.graph
        self._imports, self._ir_version = list(model.opset_import), model.ir_version
        self._types = {}
        for each in (*graph.input, *graph.value_info, *graph.output):
            if each.type.HasField("tensor_type"):
                self._types[each.name] = each.type

    def has_equal_lengths(self, name: str, other: str, skip: int) -> bool:
        """Return whether all lengths of two values but the last `skip` are the same in the file."""
        found = [_leading_lengths(self._types.get(each), skip) for each in (name, other)]
        return None not in found[0] and found[0] == found[1]

    def lengths(self, name: str) -> tuple[int | None, ...] | None:
        """Return a tuple of a value's lengths, None for open ones; None if its rank is unknown."""
        found = self._types.get(name)
        return None if found is None else _axis_lengths(found)

    def dtype(self, name: str) -> str | None:
        """Return the name of a value's dtype, or None."""
        found = self.numpy_dtype(name)
        return None if found is None else found.name

    def numpy_dtype(self, name: str) -> Any:
        """Return the NumPy dtype of a value according to the onnx package, or None."""
        found = self._types.get(name)
        if found is None or not found.tensor_type.elem_type:
            return None
        return self._library.helper.tensor_dtype_to_np_dtype(found.tensor_type.elem_type)

    def type_proto(self, name: str, constants: Mapping[str, Any]) -> Any:
        """Return the onnx package's TypeProto of a value, or None."""
        if name not in constants:
            return self._types.get(name)
        value, helper = constants[name], self._library.helper
        return helper.make_tensor_type_proto(
            helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
        )

    def infer_node_outputs(self, node: Node, constants: Mapping[str, Any]) -> None:
        """Infer and store the shapes of a node's outputs.

        constants: Values that are known.

        Raises FormatError: the node gives a negative length.
        """
        helper = self._library.helper
        inputs, known = [], []
        for name in dict.fromkeys(filter(None, node.inputs)):
            value, kind = constants.get(name), self.type_proto(name, constants)
            if value is not None and value.size <= _MAX_SHAPE_VALUES:
                known.append(self._library.numpy_helper.from_array(value, name))
            if kind is not None:
                inputs.append(helper.make_value_info(name, kind))
        outputs = [helper.make_empty_tensor_value_info(each) for each in node.outputs if each]
        graph = helper.make_graph([node.proto], "node", inputs, outputs, known)
        imports = [each for each in self._imports if each.domain not in ("", "ai.onnx")]
        # the onnx package before version 22 counts windows that begin behind the data
        rounds_up = node.kind in _POOLING_KINDS and node.attributes.get("ceil_mode")
        imports.append(helper.make_opsetid("", max(node.opset, 22 if rounds_up else 0)))
        model = helper.make_model(graph, opset_imports=imports, ir_version=self._ir_version)
        try:
            model = self._library.shape_inference.infer_shapes(model)
        except Exception:  # inconsistent values are refused when the shape is used
            return
        found = {each.name: each.type for each in (*model.graph.output, *model.graph.value_info)}
        for name, made in found.items():
            lengths = _axis_lengths(made)
            if any(n is not None and n < 0 for n in lengths or ()):
                raise FormatError(
                    f"import_model: {node.kind} '{node.name}' gives the shape {shown(lengths)}"
                )
            if _count_known_lengths(lengths) >= _count_known_lengths(self.lengths(name)):
                self._types[name] = made


def _axis_lengths(type_proto: Any) -> tuple[int | None, ...] | None:
    tensor = type_proto.tensor_type
    if not tensor.HasField("shape"):
        return None
    return tuple(d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim)


def _leading_lengths(type_proto: Any, skip: int) -> Sequence[int | str | None]:
    """Return lengths (or names) of all axes but the last `skip`; None for an unnamed open one."""
    if type_proto is None or not type_proto.tensor_type.HasField("shape"):
        return (None,)
    dims = list(type_proto.tensor_type.shape.dim)
    return [
        d.dim_value if d.HasField("dim_value") else d.dim_param or None
        for d in dims[: max(len(dims) - skip, 0)]
    ]


def _count_known_lengths(lengths: Sequence[int | None] | None) -> int:
    """Return a number that is larger the more of a shape is known."""
    return -1 if lengths is None else sum(n is not None for n in lengths)
