"""import_model: an ONNX file as a Symbol and its parameters."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..base.compat import optional
from ..base.errors import (
    ArgumentTypeError,
    CynetError,
    FormatError,
    UndefinedError,
    shorten,
    shown,
    told,
)
from ..base.files import naming
from ..base.guard import guarded
from ..ndarray import array
from ..symbol import Group, Variable
from . import from_layers, from_tensor  # noqa: F401  they fill IMPORTERS
from .importers import IMPORTERS, Node, Reader

if TYPE_CHECKING:
    from ..gluon import SymbolBlock
    from ..ndarray import NDArray
    from ..symbol import Symbol


def _load(model_file, purpose):
    library = optional("onnx", purpose)
    if not isinstance(model_file, (str, os.PathLike)):
        raise ArgumentTypeError(f"{purpose}: model_file is a path, got {type(model_file).__name__}")
    try:
        with naming("read", os.fspath(model_file)):
            return library, library.load(os.fspath(model_file))
    except OSError:  # also FileError
        raise
    except Exception as error:  # what protobuf raises depends on its version
        raise FormatError(f"{purpose}: '{model_file}' is no ONNX file ({error})") from None


@guarded
def import_model(model_file: Any) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """Read a network from an ONNX file.

    Parameters
    ----------
    model_file : path

    Returns
    -------
    sym : Symbol
    arg_params, aux_params : dict of str to NDArray

    Raises
    ------
    UndefinedError
        A node of a kind that is not read; the message names it.
    FormatError
        The file is damaged.

    Notes
    -----
    Shapes that the file computes from constant shapes are computed when it is read. Networks whose
    operators depend on values (If, Loop, NonZero) are refused.

    Examples
    --------
    See `export_model`.
    """
    library, model = _load(model_file, "mx.onnx.import_model")
    _check_lengths(model.graph)
    try:
        reader = Reader(library, model)
    except Exception as error:  # a constant whose bytes do not fit its shape
        raise _damaged("its constants", error) from error
    for proto in model.graph.node:
        try:
            _read_node(reader, proto)
        except CynetError:
            raise
        except Exception as error:  # what the onnx package, or arithmetic on what is there, raises
            raise _damaged(f"node '{proto.name}' of kind {proto.op_type}", error) from error
    heads = [reader.symbol(each.name) for each in model.graph.output]
    found = heads[0] if len(heads) == 1 else Group(heads)
    args, states = set(found.list_arguments()), set(found.list_auxiliary_states())
    params = {k: v for k, v in reader.params.items() if k in args or k in states}
    return (
        found,
        {k: array(v, dtype=v.dtype) for k, v in params.items() if k in args},
        {k: array(v, dtype=v.dtype) for k, v in params.items() if k in states},
    )


def _check_lengths(graph):
    """Refuse negative lengths, over which the onnx package ends the process."""
    found = [(each.name, list(each.dims)) for each in graph.initializer]
    for each in (*graph.input, *graph.value_info, *graph.output):
        found.append((each.name, [d.dim_value for d in each.type.tensor_type.shape.dim]))
    for name, lengths in found:
        if any(n < 0 for n in lengths):
            raise FormatError(f"import_model: {shown(name)} has the shape {shown(lengths)}")


def _damaged(where, error):
    """The error for what does not hold together in a file."""
    return FormatError(f"import_model: {where} does not hold together: {shorten(told(error), 500)}")


def _read_node(reader, proto):
    """Compute a node of constants, or note the symbols that it becomes."""
    node = Node(reader, proto)
    if reader.fold(node):
        return
    importer = IMPORTERS.get(node.kind)
    if importer is None or node.domain not in ("", "ai.onnx"):
        kind = f"{node.domain}.{node.kind}".lstrip(".")
        raise UndefinedError(
            f"import_model: node '{node.name}' of kind {kind} is not read by cynet"
        )
    made = importer(reader, node)
    reader.put(node, made if isinstance(made, (list, tuple)) else [made])


@guarded
def get_model_metadata(model_file: Any) -> dict[str, list[tuple[str, tuple[int, ...]]]]:
    """Names and shapes of a file's inputs and outputs; an open length is 0.

    Parameters
    ----------
    model_file : path

    Returns
    -------
    dict
        ``input_tensor_data`` and ``output_tensor_data``: lists of (name, shape).
    """
    _, model = _load(model_file, "mx.onnx.get_model_metadata")
    constants = {each.name for each in model.graph.initializer}

    def told(values):
        return [
            (v.name, tuple(d.dim_value for d in v.type.tensor_type.shape.dim))
            for v in values
            if v.name not in constants
        ]

    return {
        "input_tensor_data": told(model.graph.input),
        "output_tensor_data": told(model.graph.output),
    }


@guarded
def import_to_gluon(model_file: Any, ctx: Any = None) -> SymbolBlock:
    """Read a network from an ONNX file as a Block.

    Parameters
    ----------
    model_file : path
    ctx : Context or list of Context, optional
    """
    from ..gluon import SymbolBlock

    found, args, states = import_model(model_file)
    names = [n for n in found.list_inputs() if n not in args and n not in states]
    block = SymbolBlock(found, [Variable(name) for name in names])
    block.collect_params().load_dict({**args, **states}, ctx=ctx, ignore_extra=False)
    return block
