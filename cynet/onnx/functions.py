"""Expansion of nodes: functions of ONNX and of the file, and If nodes with a constant condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.compat import optional
from ..base.errors import shorten
from .importers import opset_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .importers import Node, Reader


def inline_function_node(reader: Reader, node: Node) -> tuple[list[Any], int] | None:
    """Return the nodes that a function or branch node expands to, or None.

    Returns (list of NodeProto, int) or None: Nodes that read the node's inputs and make its
    outputs, and their opset; None where the node is no function.
    """
    if node.kind == "If" and node.domain in ("", "ai.onnx"):
        return _taken_branch_nodes(reader, node), node.opset
    function = reader.functions.get((node.domain, node.kind)) or _onnx_function_body(reader, node)
    if function is None:
        return None
    return _inlined_nodes(reader.library, node, function), opset_of(function, reader.opset)


def _onnx_function_body(reader: Reader, node: Node) -> Any:
    """Return ONNX's function body for a kind of node, or None."""
    defs = optional("onnx.defs", "mx.onnx.import_model")
    domain = "" if node.domain == "ai.onnx" else node.domain
    version = node.opset if not domain else reader.opsets.get(domain, 1)
    try:
        schema = defs.get_schema(node.kind, version, domain)
    except Exception:  # the onnx package raises for a kind that it lacks
        return None
    made = reader.library.FunctionProto()
    if schema.has_function:
        version = _newest_version(schema.function_opset_versions, node.opset)
        made.ParseFromString(schema.get_function_with_opset_version(version))
    elif schema.has_context_dependent_function:
        version = _newest_version(schema.context_dependent_function_opset_versions, node.opset)
        if not _satisfies_schema(reader, node, version):
            return None
        kinds = [reader.type_proto(each) or reader.library.TypeProto() for each in node.inputs]
        made.ParseFromString(
            schema.get_context_dependent_function_with_opset_version(
                version, node.proto.SerializeToString(), [k.SerializeToString() for k in kinds]
            )
        )
    else:
        return None
    made.attribute_proto.extend(
        each.default_value for each in schema.attributes.values() if each.default_value.name
    )
    return made if made.node else None


def _satisfies_schema(reader: Reader, node: Node, version: int) -> bool:
    """Return whether a node satisfies its schema.

    The onnx package makes the nodes of such a function from the types of the inputs and the
    attributes, and ends the process where one is missing.
    """
    for name in filter(None, node.inputs):
        kind = reader.type_proto(name)
        if kind is None or not kind.HasField("tensor_type") or not kind.tensor_type.elem_type:
            return False
    checker = reader.library.checker
    context = checker.C.CheckerContext()
    context.ir_version = reader.ir_version
    domain = "" if node.domain == "ai.onnx" else node.domain
    context.opset_imports = {**reader.opsets, domain: version}
    try:
        checker.check_node(node.proto, context)
    except checker.ValidationError as error:
        node.refuse(shorten(str(error), 300))
    return True


def _newest_version(versions: Iterable[int], maximum: int) -> int:
    return max((v for v in versions if v <= maximum), default=min(versions))


def _inlined_nodes(library: Any, node: Node, function: Any) -> list[Any]:
    """Return the function's nodes, with inputs, outputs and attributes of the calling node."""
    names = dict.fromkeys(function.input, "")
    names.update(zip(function.input, node.inputs))
    names.update((a, b) for a, b in zip(function.output, node.outputs) if b)
    attributes = {each.name: each for each in function.attribute_proto}
    attributes.update((each.name, each) for each in node.proto.attribute)
    return [_rename_node(library, each, names, attributes, node.name) for each in function.node]


def _rename_node(
    library: Any, proto: Any, names: dict[str, str], attributes: dict[str, Any], prefix: str
) -> Any:
    made = library.NodeProto()
    made.CopyFrom(proto)

    def new_name(each: str) -> str:
        return names.setdefault(each, f"{prefix}/{each}") if each else ""

    made.input[:] = [new_name(each) for each in proto.input]
    made.output[:] = [new_name(each) for each in proto.output]
    made.name = f"{prefix}/{proto.name or proto.op_type}" if proto.name else ""
    del made.attribute[:]
    for each in proto.attribute:
        if not each.ref_attr_name:
            found = made.attribute.add()
            found.CopyFrom(each)
            for graph in (*([found.g] if found.HasField("g") else ()), *found.graphs):
                _rename_graph(library, graph, names, attributes, prefix)
        elif each.ref_attr_name in attributes:
            found = made.attribute.add()
            found.CopyFrom(attributes[each.ref_attr_name])
            found.name = each.name
    return made


def _rename_graph(
    library: Any, graph: Any, names: dict[str, str], attributes: dict[str, Any], prefix: str
) -> None:
    for each in (*graph.input, *graph.output, *graph.initializer, *graph.value_info):
        each.name = names.setdefault(each.name, f"{prefix}/{each.name}")
    nodes = [_rename_node(library, each, names, attributes, prefix) for each in graph.node]
    del graph.node[:]
    graph.node.extend(nodes)


def _taken_branch_nodes(reader: Reader, node: Node) -> list[Any]:
    """Return the nodes of the If branch that a constant condition selects."""
    taken = bool(np.ravel(node.constant(0))[0])
    graph = node.get("then_branch" if taken else "else_branch")
    node.ignore("then_branch", "else_branch")
    for each in graph.initializer:
        reader.set_constant(each.name, reader.library.numpy_helper.to_array(each))
    ends = [
        reader.library.helper.make_node("Identity", [found.name], [name])
        for found, name in zip(graph.output, node.outputs)
    ]
    return [*graph.node, *ends]
