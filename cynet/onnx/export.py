"""export_model: write a Symbol and its parameters to an ONNX file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import symbol
from ..base.compat import optional
from ..base.errors import ArgumentError, ArgumentTypeError, ShapeError, UndefinedError, shorten
from ..base.files import write_atomically
from ..base.guard import guarded
from ..gluon import Block, HybridBlock
from ..gluon.block.graph import exported_graph
from ..graph.decompose import decompose_graph
from ..graph.infer import infer_shapes, infer_types
from ..ndarray import NDArray
from ..ndarray import load as load_arrays
from ..operator import OPERATORS
from ..symbol.node import topological_order
from ..symbol.variable import STORAGE_TYPES
from .graph import OPSET, Graph, OpNode, exporter_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..symbol import Symbol
    from ..symbol.node import Entry, Node
    from ..typing import Shape


def _parameter_arrays(params: Any) -> dict[str, np.ndarray[Any, Any]]:
    """Return {name: array} of a file, a dict, or [arguments, states], without name prefixes."""
    if isinstance(params, (str, os.PathLike)):
        params = load_arrays(params)
    parts = params if isinstance(params, (list, tuple)) else [params]
    found = {}
    for part in parts:
        if not hasattr(part, "items"):
            raise ArgumentTypeError(
                f"params is a file, a dict or a list of two dicts, got {type(part).__name__}"
            )
        for name, value in part.items():
            bare = name[4:] if name[:4] in ("arg:", "aux:") else name
            found[bare] = value.asnumpy() if isinstance(value, NDArray) else np.asarray(value)
    return found


def _symbol_and_arrays(network: Any, params: Any) -> tuple[Symbol, dict[str, np.ndarray[Any, Any]]]:
    """Return the network's Symbol and {name: array}."""
    if isinstance(network, Block):
        if params is not None:
            raise ArgumentError("export_model: a Block has its parameters; params must be None")
        if not isinstance(network, HybridBlock):
            raise ArgumentTypeError(
                f"export_model: {network.name} is a plain Block, without a graph; HybridBlocks have"
                " one, once they are hybridized and called"
            )
        network, params = exported_graph(network)
    elif params is None:
        raise ArgumentTypeError("export_model: a Symbol or a file needs params, its parameters")
    if not isinstance(network, symbol.Symbol):
        network = symbol.load(network)
    return network, _parameter_arrays(params)


def _is_label(node: Node, order: list[Node]) -> bool:
    """Return whether a variable is read by losses only."""
    uses = [
        name
        for user in order
        for name, (source, _) in zip(user.input_names(), user.inputs)
        if source is node
    ]
    return bool(uses) and all(name == "label" for name in uses)


@guarded
def export_model(
    sym: Any,
    params: Any = None,
    in_shapes: Sequence[Shape] | None = None,
    in_types: Any = np.float32,
    onnx_file_path: Any = "model.onnx",
    verbose: bool = False,
    dynamic: bool = False,
    dynamic_input_shapes: Sequence[Any] | None = None,
    run_shape_inference: bool = False,
    input_type: Any = None,
    input_shape: Sequence[Shape] | None = None,
) -> str:
    """Write a network in prediction mode to an ONNX file (opset 13); returns the file's path.

    Losses become what they predict, Dropout is left out, BatchNorm uses its statistics.

    Parameters
    ----------
    sym : Symbol, path or HybridBlock
        The network, or its ``-symbol.json``; or a Block that is hybridized and has been called.
    params : dict, list of two dicts, or path
        Arguments and auxiliary states by name. A Block has its own.
    in_shapes : list of tuple
        Shape of each input, in the order of ``list_arguments``; labels are not inputs.
    in_types : dtype or list of dtypes
        Types of the inputs.
    onnx_file_path : path
        The file to write.
    verbose : bool
        Print a line for each node.
    dynamic : bool
        Leave lengths open in the file: those of `dynamic_input_shapes`, by default the first axis
        of each input. Reshapes keep a first length only if it is that of the batch.
    dynamic_input_shapes : list of tuples, optional
        Shape of each input, with a str for an open length.
    run_shape_inference : bool
        Let the onnx package write the shapes of all values to the file.
    input_type, input_shape
        Deprecated names of `in_types` and `in_shapes`.

    Raises
    ------
    UndefinedError
        An operator that has no form in ONNX, or a sparse variable; the message names the node.
    ShapeError
        Shapes that do not suffice.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    >>> weights = {"fc_weight": mx.nd.ones((3, 2)), "fc_bias": mx.nd.zeros(3)}
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "fc.onnx")
    >>> path = mx.onnx.export_model(net, weights, [(1, 2)], onnx_file_path=path)
    >>> _, arg_params, _ = mx.onnx.import_model(path)
    >>> sorted(arg_params)
    ['fc_bias', 'fc_weight']
    """
    library = optional("onnx", "mx.onnx.export_model")
    network, arrays = _symbol_and_arrays(sym, params)
    order = topological_order(network.entries)
    for node in order:
        stype = STORAGE_TYPES.get(node.attrs.get("__storage_type__", "0"), "default")
        if node.is_variable and stype != "default":
            raise UndefinedError(
                f"export_model: variable '{node.name}' is {stype}, and ONNX's operators take dense"
                " tensors: make it with stype='default'"
            )
    free = [n for n in order if n.is_variable and n.name not in arrays]
    labels = {id(n) for n in free if _is_label(n, order)}
    given = [n for n in free if id(n) not in labels]
    shapes = list(in_shapes if in_shapes is not None else input_shape or [])
    if len(shapes) != len(given):
        raise ArgumentError(
            f"export_model: in_shapes has {len(shapes)} shapes for the inputs "
            f"{', '.join(n.name for n in given) or '(none)'}; it is a list with one for each, as"
            " [(1, 3, 224, 224)]"
        )
    kinds = in_types if input_type is None else input_type
    kinds = list(kinds) if isinstance(kinds, (list, tuple)) else [kinds] * len(given)
    if len(kinds) != len(given):
        raise ArgumentError(f"export_model: {len(kinds)} in_types for {len(given)} inputs")
    names = {n.name for n in order if n.is_variable}
    known = {n.name: tuple(map(int, s)) for n, s in zip(given, shapes)}
    known |= {k: v.shape for k, v in arrays.items() if k in names}
    dtypes = {n.name: np.dtype(k).name for n, k in zip(given, kinds)}
    dtypes |= {k: v.dtype.name for k, v in arrays.items() if k in names}
    extents = infer_shapes(network.entries, known)
    types = infer_types(network.entries, dtypes, "float32")
    if any(node.op is not None and node.prop.decomposed for node in order):
        network = symbol.Symbol(decompose_graph(network.entries, extents, types))
        order = topological_order(network.entries)
        extents = infer_shapes(network.entries, known)
        types = infer_types(network.entries, dtypes, "float32")
    unknown = [n.name for (n, _), s in extents.items() if (s is None or not all(s))]
    unknown = [name for name in unknown if name not in {n.name for n in order if id(n) in labels}]
    if unknown:
        raise ShapeError(f"export_model: in_shapes leave the shape of '{unknown[0]}' unknown")

    graph = Graph(library.helper)
    values = {}
    for node in order:
        if node.is_variable:
            values[node, 0] = graph.unique_name(node.name)
    for node in order:
        if not node.is_variable:
            _write_node(graph, node, values, extents, types, verbose)
    heads = _output_names(graph, network, values)
    used = {i for node in graph.nodes for i in node.input}
    inputs = [(n.name, dtypes[n.name], known[n.name]) for n in given if n.name in used]
    outputs = [
        (name, types.get(entry) or "float32", extents[entry])
        for name, entry in zip(heads, network.entries)
    ]
    if dynamic:
        inputs, outputs = _dynamic_shapes(inputs, outputs, dynamic_input_shapes)
    constants = {k: v for k, v in {**arrays, **graph.constants}.items() if k in used}
    model = _make_model(library, graph.nodes, inputs, outputs, constants)
    if run_shape_inference:
        model = library.shape_inference.infer_shapes(model)
    try:
        library.checker.check_model(model, full_check=True)
    except Exception as error:  # the onnx package refuses types that an operator lacks
        message = shorten(str(error), 500)
        raise UndefinedError(f"export_model: ONNX cannot say it: {message}") from None
    write_atomically(onnx_file_path, model.SerializeToString())
    path: str = os.fspath(onnx_file_path)
    return path


def _write_node(
    graph: Graph,
    node: Node,
    values: dict[Entry, str],
    extents: Mapping[Entry, Any],
    types: Mapping[Entry, Any],
    verbose: bool,
) -> None:
    exporter = exporter_of(node.op.prop)
    if exporter is None:
        raise UndefinedError(
            f"export_model: operator {node.op.name} of node '{node.name}' has no form in ONNX here;"
            " mx.onnx.get_operator_support() lists those that have"
        )
    count = node.num_visible_outputs
    call = OpNode(
        node,
        [values[entry] for entry in node.inputs],
        [extents[entry] for entry in node.inputs],
        [extents[node, i] for i in range(count)],
        [types.get(entry) or "float32" for entry in node.inputs],
        [types.get((node, i)) or "float32" for i in range(count)],
    )
    begin = graph.begin_node(node.name)
    made = exporter(graph, call)
    made = [made] if isinstance(made, str) else made
    own = {o for each in graph.nodes[begin:] for o in each.output}
    names = {}
    for i, each in enumerate(made):
        if each in own and each not in names:
            names[each] = graph.unique_name(node.output_name(i))
        values[node, i] = names.get(each, each)
    graph.rename_values(begin, names)
    if verbose:
        print(f"{node.op.name} {node.name}: {', '.join(values[node, i] for i in range(len(made)))}")


def _output_names(graph: Graph, network: Symbol, values: dict[Entry, str]) -> list[str]:
    """Return the output names; an input, a constant or a repeated output gets an Identity node."""
    made = {o for node in graph.nodes for o in node.output}
    heads = []
    for node, i in network.entries:
        name = values[node, i]
        if name not in made or name in heads:
            graph.begin_node(node.name)
            name = graph.emit("Identity", [name])
        heads.append(name)
    return heads


def _dynamic_shapes(
    inputs: list[tuple[str, str, Any]],
    outputs: list[tuple[str, str, Any]],
    shapes: Sequence[Any] | None,
) -> tuple[list[tuple[str, str, Any]], list[tuple[str, str, Any]]]:
    """Make lengths of inputs and outputs dynamic: those None in `shapes`, or the first axes."""
    batch = {shape[0] for _, _, shape in inputs}
    if shapes is None:
        shapes = [("batch", *shape[1:]) for _, _, shape in inputs]
    if len(shapes) != len(inputs) or any(len(a) != len(b[2]) for a, b in zip(shapes, inputs)):
        told = ", ".join(f"{name} {shape}" for name, _, shape in inputs)
        raise ArgumentError(f"dynamic_input_shapes must have the axes of the inputs: {told}")
    first = shapes[0][0] if shapes else None
    return (
        [(name, kind, tuple(shape)) for (name, kind, _), shape in zip(inputs, shapes)],
        [
            (name, kind, (first if shape[0] in batch else shape[0], *[None] * (len(shape) - 1)))
            for name, kind, shape in outputs
        ],
    )


def _make_model(
    library: Any,
    nodes: list[Any],
    inputs: list[tuple[str, str, Any]],
    outputs: list[tuple[str, str, Any]],
    constants: Mapping[str, np.ndarray[Any, Any]],
) -> Any:
    helper = library.helper

    def value_infos(rows: list[tuple[str, str, Any]]) -> list[Any]:
        return [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), shape
            )
            for name, kind, shape in rows
        ]

    arrays = [
        library.numpy_helper.from_array(np.array(v, order="C"), k) for k, v in constants.items()
    ]
    graph = helper.make_graph(nodes, "cynet", value_infos(inputs), value_infos(outputs), arrays)
    opset = helper.make_opsetid("", OPSET)
    model = helper.make_model(graph, producer_name="cynet", opset_imports=[opset])
    model.ir_version = 7  # the IR version that belongs to opset 13
    return model


@guarded
def get_operator_support(opset_version: int | None = None) -> list[str]:
    """List the names of the operators that `export_model` writes, sorted.

    Parameters
    ----------
    opset_version : int, optional
        Only 13, the version that is written.

    Raises
    ------
    ArgumentError
        If `opset_version` is another one.

    Examples
    --------
    >>> names = mx.onnx.get_operator_support(13)
    >>> len(names) > 100, "Convolution" in names
    (True, True)
    """
    if opset_version not in (None, OPSET):
        raise ArgumentError(
            f"get_operator_support: files are of opset {OPSET}, got {opset_version}"
        )
    return sorted(name for name, entry in OPERATORS.items() if exporter_of(entry.prop))
