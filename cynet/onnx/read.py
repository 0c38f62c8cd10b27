"""import_model: read an ONNX file as a Symbol and its parameters."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..base.compat import optional
from ..base.errors import (
    ArgumentTypeError,
    CynetError,
    FormatError,
    UndefinedError,
    describe_error,
    shorten,
    shown,
)
from ..base.files import naming
from ..base.guard import guarded
from ..graph.infer import infer_shapes, infer_types
from ..ndarray import array
from ..operator.checks.shapes import EMPTY
from ..symbol import Group, Variable
from . import (  # noqa: F401 - the modules fill IMPORTERS
    from_elementwise,
    from_indices,
    from_layers,
    from_pooling,
    from_recurrent,
    from_reductions,
    from_resize,
    from_sampling,
    from_tensor,
)
from .functions import inline_function_node
from .importers import IMPORTERS, Node, Reader
from .quantized import importers as quantized_importers  # noqa: F401
from .quantized.join import join_int8_layers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..gluon import SymbolBlock
    from ..ndarray import NDArray
    from ..symbol import Symbol


def _load_model(model_file: Any, purpose: str) -> tuple[Any, Any]:
    library = optional("onnx", purpose)
    if not isinstance(model_file, (str, os.PathLike)):
        raise ArgumentTypeError(f"{purpose}: model_file is a path, got {type(model_file).__name__}")
    try:
        with naming("read", os.fspath(model_file)):
            return library, library.load(os.fspath(model_file))
    except OSError:  # also FileError
        raise
    except Exception as error:  # protobuf's exceptions depend on its version
        raise FormatError(
            f"{purpose}: expected an ONNX file, got '{model_file}' ({error})"
        ) from None


@guarded
def import_model(model_file: Any) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """Read a network from an ONNX file: (sym, arg_params, aux_params).

    Parameters
    ----------
    model_file : path
        An ONNX file.

    Raises
    ------
    UndefinedError
        The model has an operator that is not read, which the message names.
    FormatError
        The file is damaged.

    Notes
    -----
    Shapes that the file computes from constant shapes are computed when it is read. Networks whose
    operators depend on values (Loop, NonZero) are refused. A node computes what ONNX says of it
    or is refused by name: an attribute or input that cynet does not read is an error, and so is a
    value whose type or shape would differ from what the file tells. A number (an array without
    axes) is an array of one element. Operators that ONNX defines by others are read as those.
    Layers between `DequantizeLinear` and `QuantizeLinear` are int8 layers, which have no gradient.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    >>> values = {"fc_weight": mx.nd.ones((3, 2)), "fc_bias": mx.nd.zeros(3)}
    >>> path = mx.onnx.export_model(net, values, [(1, 2)], onnx_file_path="fc.onnx")
    >>> symbol, arg_params, aux_params = mx.onnx.import_model(path)
    >>> symbol.list_arguments(), arg_params["fc_weight"].shape, aux_params
    (['data', 'fc_weight', 'fc_bias'], (3, 2), {})
    """
    library, model = _load_model(model_file, "mx.onnx.import_model")
    _refuse_negative_lengths(model.graph)
    try:
        reader = Reader(library, model)
    except Exception as error:  # a constant's bytes may not fit its shape
        raise _damage_error("its constants", error) from error
    for proto in model.graph.node:
        _read_node_checked(reader, proto)
    heads = [reader.symbol(each.name) for each in model.graph.output]
    found = heads[0] if len(heads) == 1 else Group(heads)
    _verify_types(reader, found)
    found = join_int8_layers(found, reader)
    args, states = set(found.list_arguments()), set(found.list_auxiliary_states())
    params = {k: v for k, v in reader.params.items() if k in args or k in states}
    return (
        found,
        {k: array(v, dtype=v.dtype) for k, v in params.items() if k in args},
        {k: array(v, dtype=v.dtype) for k, v in params.items() if k in states},
    )


def _refuse_negative_lengths(graph: Any) -> None:
    """Refuse negative lengths: the onnx package would abort the process."""
    found = [(each.name, list(each.dims)) for each in graph.initializer]
    for each in (*graph.input, *graph.value_info, *graph.output):
        found.append((each.name, [d.dim_value for d in each.type.tensor_type.shape.dim]))
    for name, lengths in found:
        if any(n < 0 for n in lengths):
            raise FormatError(f"import_model: {shown(name)} has the shape {shown(lengths)}")


def _damage_error(where: str, error: Exception) -> FormatError:
    """Make the error for a file with inconsistent parts."""
    return FormatError(
        f"import_model: {where} does not hold together: {shorten(describe_error(error), 500)}"
    )


def _read_node_checked(reader: Reader, proto: Any, opset: int | None = None) -> None:
    try:
        _read_node(reader, proto, opset)
    except CynetError:
        raise
    except Exception as error:  # exceptions of the onnx package, or of arithmetic on damaged values
        raise _damage_error(f"node '{proto.name}' of kind {proto.op_type}", error) from error


def _read_node(reader: Reader, proto: Any, opset: int | None) -> None:
    """Compute a node of constants, or store the symbols that it becomes."""
    node = Node(reader, proto, opset)
    if reader.try_fold_node(node):
        return
    reader.infer_node_outputs(node)
    if reader.try_fold_empty(node):
        return
    importer = IMPORTERS.get(node.kind) if node.domain in ("", "ai.onnx") else None
    if importer is not None:
        made = importer(reader, node)
        node.check_all_read()
        reader.store_outputs(node, made if isinstance(made, (list, tuple)) else [made])
        return
    found = inline_function_node(reader, node)
    if found is None:
        kind = f"{node.domain}.{node.kind}".lstrip(".")
        raise UndefinedError(
            f"import_model: node '{node.name}' of kind {kind} is not read by cynet"
        )
    for each in found[0]:
        _read_node_checked(reader, each, found[1])


def _verify_types(reader: Reader, found: Symbol) -> None:
    """Refuse a network whose values have other types or shapes than the file declares."""
    values = list(reader.iter_values())
    inputs = [n for n in found.list_inputs() if n not in reader.params]
    dtypes = {n: reader.dtype(n) for n in inputs}
    dtypes |= {n: v.dtype.name for n, v in reader.params.items()}
    types = infer_types(found.entries, {k: v for k, v in dtypes.items() if v}, "float32")
    for name, entry, dtype, _ in values:
        made = types.get(entry)
        if made is not None and dtype is not None and made != dtype:
            raise UndefinedError(
                f"import_model: '{name}' is {dtype} in the file; cynet would compute {made}"
            )
    shapes = {n: reader.shape(n) for n in inputs}
    if None in shapes.values():
        return
    shapes |= {n: v.shape for n, v in reader.params.items()}
    known = {n: tuple(x or EMPTY for x in s) or (1,) for n, s in shapes.items()}
    made = infer_shapes(found.entries, known)
    for name, entry, _, lengths in values:
        shape = made.get(entry)
        if shape is None or lengths is None:
            continue
        wanted = lengths or (1,)  # an array has at least one axis
        if len(shape) != len(wanted) or any(
            b is not None and a not in (0, b or EMPTY) for a, b in zip(shape, wanted)
        ):
            raise UndefinedError(
                f"import_model: '{name}' has the shape {lengths} in the file; cynet would compute "
                f"{shape}"
            )


@guarded
def get_model_metadata(model_file: Any) -> dict[str, list[tuple[str, tuple[int, ...]]]]:
    """Read the names and shapes of a file's inputs and outputs.

    Parameters
    ----------
    model_file : path
        An ONNX file.

    Returns
    -------
    dict
        ``input_tensor_data`` and ``output_tensor_data``: lists of (name, shape); an open length
        is 0.

    Raises
    ------
    FileError
        If the file cannot be read.
    FormatError
        If it is not an ONNX file.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    >>> values = {"fc_weight": mx.nd.ones((3, 2)), "fc_bias": mx.nd.zeros(3)}
    >>> path = mx.onnx.export_model(net, values, [(1, 2)], onnx_file_path="fc.onnx")
    >>> mx.onnx.get_model_metadata(path)
    {'input_tensor_data': [('data', (1, 2))], 'output_tensor_data': [('fc_output', (1, 3))]}
    """
    _, model = _load_model(model_file, "mx.onnx.get_model_metadata")
    constants = {each.name for each in model.graph.initializer}

    def names_and_shapes(values: Iterable[Any]) -> list[tuple[str, tuple[int, ...]]]:
        return [
            (v.name, tuple(d.dim_value for d in v.type.tensor_type.shape.dim))
            for v in values
            if v.name not in constants
        ]

    return {
        "input_tensor_data": names_and_shapes(model.graph.input),
        "output_tensor_data": names_and_shapes(model.graph.output),
    }


@guarded
def import_to_gluon(model_file: Any, ctx: Any = None) -> SymbolBlock:
    """Read a network from an ONNX file as a Block with its parameters.

    Parameters
    ----------
    model_file : path
        An ONNX file.
    ctx : Context or list of Context, optional
        Devices of the parameters; the CPU by default.

    Raises
    ------
    UndefinedError, FormatError
        As `import_model`.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    >>> values = {"fc_weight": mx.nd.ones((3, 2)), "fc_bias": mx.nd.zeros(3)}
    >>> path = mx.onnx.export_model(net, values, [(1, 2)], onnx_file_path="fc.onnx")
    >>> block = mx.onnx.import_to_gluon(path)
    >>> block(mx.nd.array([[1, 2]])).asnumpy()
    array([[3., 3., 3.]], dtype=float32)
    """
    from ..gluon import SymbolBlock

    found, args, states = import_model(model_file)
    names = [n for n in found.list_inputs() if n not in args and n not in states]
    block = SymbolBlock(found, [Variable(name) for name in names])
    block.collect_params().load_dict({**args, **states}, ctx=ctx, ignore_extra=False)
    return block
