"""Binding a Symbol: to given arrays, or to shapes from which the others are inferred."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from ..base.dtype import name_of, scalar_type
from ..base.errors import ArgumentError, ArgumentTypeError, ShapeError, shown, warn_user
from ..context import read_context
from ..graph.collector import garbage_collector_paused
from ..graph.gradient import REQUEST_CODES
from ..graph.infer import infer_shapes, infer_types, structure_of
from ..graph.placement import place_nodes
from ..ndarray import NDArray, zeros
from ..ndarray.sparse.arrays import any_sparse
from ..operator.checks.shapes import known_shape, plain_shape
from ..operator.property import is_known
from ..operator.storage_types import creates_sparse
from ..symbol.node import variables_in
from ..symbol.variable import STORAGE_TYPES
from . import Executor
from .arena_pool import allocate_for_use
from .by_node import NodeExecutor, all_rows

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ..graph.infer import Structure
    from ..symbol.node import Node
    from ..typing import Context, ContextLike, DTypeLike, NamedArrays, Shape, Symbol


def _as_list(what: str, given: Any, names: Sequence[str], allow_missing: bool) -> list[Any]:
    """Return a list in the order of `names` from a list or dict of NDArray."""
    if isinstance(given, dict):
        missing = [n for n in names if n not in given]
        if missing and not allow_missing:
            raise ArgumentError(f"bind: {what} has no array for {', '.join(map(repr, missing))}")
        found = [given.get(n) for n in names]
    elif isinstance(given, (list, tuple)):
        if len(given) != len(names):
            raise ArgumentError(
                f"bind: {what} has {len(given)} arrays, expected {len(names)}: {', '.join(names)}"
            )
        found = list(given)
    else:
        raise ArgumentTypeError(
            f"bind: {what} must be a list or dict of NDArray, got {type(given).__name__}"
        )
    for name, value in zip(names, found):
        if not (isinstance(value, NDArray) or (value is None and allow_missing)):
            raise ArgumentTypeError(
                f"bind: {what} '{name}' must be an NDArray, got {type(value).__name__}"
            )
    return found


def _requests_by_name(grad_req: Any, names: Sequence[str]) -> dict[str, str]:
    """Return a dict of argument name -> request, from a str, a list or a dict."""
    if isinstance(grad_req, str):
        requests = dict.fromkeys(names, grad_req)
    elif isinstance(grad_req, (list, tuple)):
        if len(grad_req) != len(names):
            raise ArgumentError(
                f"bind: grad_req has {len(grad_req)} words, expected {len(names)}: "
                f"{', '.join(names)}"
            )
        requests = dict(zip(names, grad_req))
    elif isinstance(grad_req, dict):
        requests = {name: grad_req.get(name, "null") for name in names}
    else:
        raise ArgumentTypeError(
            f"bind: grad_req must be a str, list or dict, got {type(grad_req).__name__}"
        )
    for name, req in requests.items():
        if req not in REQUEST_CODES:
            raise ArgumentError(
                f"bind: grad_req of '{name}' is {shown(req)}; expected 'null', 'write' or 'add'"
            )
    return requests


@garbage_collector_paused()
def bind(
    symbol: Symbol,
    ctx: ContextLike,
    args: Any,
    args_grad: Any = None,
    grad_req: Any = "write",
    aux_states: Any = None,
    group2ctx: Mapping[str, Context] | None = None,
    shared_exec: Executor | None = None,
) -> Executor:
    """Bind `symbol` to arrays; see ``Symbol.bind``."""
    ctx = read_context(ctx)
    structure = structure_of(symbol)
    arg_names, aux_names = _argument_names(structure)
    arg_arrays = _as_list("args", args, arg_names, False)
    requests = _requests_by_name(grad_req, arg_names)
    grad_arrays = _as_list("args_grad", {} if args_grad is None else args_grad, arg_names, True)
    grad_arrays = [None if requests[n] == "null" else g for n, g in zip(arg_names, grad_arrays)]
    aux_arrays = _as_list("aux_states", {} if aux_states is None else aux_states, aux_names, False)
    shapes = _check_shapes(structure, arg_names, arg_arrays, grad_arrays, aux_names, aux_arrays)
    if any_sparse([*arg_arrays, *grad_arrays, *aux_arrays]) or _creates_sparse_arrays(structure):
        given = arg_arrays, grad_arrays, requests, aux_arrays
        return _bind_by_node(symbol, ctx, *given, group2ctx, (None, None), structure)
    return Executor(
        symbol,
        ctx,
        arg_arrays,
        grad_arrays,
        requests,
        aux_arrays,
        group2ctx,
        shared_exec,
        (shapes if all(map(is_known, shapes.values())) else None, None),
        structure,
    )


def _bind_by_node(
    symbol: Symbol,
    ctx: Context,
    args: list[NDArray],
    grads: list[NDArray | None],
    requests: dict[str, str],
    auxs: list[NDArray],
    group2ctx: Any,
    inferred: tuple[Any, Any],
    structure: Structure,
) -> Executor:
    if group2ctx:
        raise ArgumentError("bind: group2ctx and sparse arrays do not go together")
    return NodeExecutor(symbol, ctx, args, grads, requests, auxs, inferred, structure)


def _creates_sparse_arrays(structure: Structure) -> bool:
    """Return whether an operator of the graph makes a dense array sparse."""
    return any(node.op is not None and creates_sparse(node.prop) for node in structure.order)


def _sparse_storage_types(
    arguments: Iterable[Node], requested: Mapping[str, str] | None
) -> dict[str, str]:
    """Return a dict: sparse argument -> storage type, as requested or the variable's own."""
    found = {}
    for node in arguments:
        code = node.attrs.get("__storage_type__", "0")
        stype = (requested or {}).get(node.name) or STORAGE_TYPES.get(code, "default")
        if stype != "default":
            found[node.name] = stype
    return found


def _argument_names(structure: Structure) -> tuple[list[str], list[str]]:
    """Return the names of arguments and of auxiliary states."""
    arguments, states, _ = variables_in(structure.order)
    return [node.name for node in arguments], [node.name for node in states]


def _check_shapes(
    structure: Structure,
    arg_names: Sequence[str],
    arg_arrays: Sequence[NDArray],
    grad_arrays: Sequence[NDArray | None],
    aux_names: Sequence[str],
    aux_arrays: Sequence[NDArray],
) -> dict[Any, Any]:
    """Check the shapes of the arrays against the inferred shapes; returns all shapes."""
    given = {name: known_shape(value.shape) for name, value in zip(arg_names, arg_arrays)}
    shapes = infer_shapes(structure.heads, given, structure=structure)
    found = {node.name: shape for (node, _), shape in shapes.items() if not node.op}
    for kind, names, arrays in (
        ("argument", arg_names, arg_arrays),
        ("gradient of argument", arg_names, grad_arrays),
        ("auxiliary state", aux_names, aux_arrays),
    ):
        for name, value in zip(names, arrays):
            shape = found[name]
            if value is not None and is_known(shape) and value.shape != plain_shape(shape):
                raise ShapeError(
                    f"bind: {kind} '{name}' has shape {value.shape}, expected {plain_shape(shape)}"
                )
    for name, value, grad in zip(arg_names, arg_arrays, grad_arrays):
        if grad is not None and grad.dtype != value.dtype:
            raise ArgumentTypeError(
                f"bind: gradient of '{name}' has dtype {name_of(grad.dtype)}, "
                f"expected {name_of(value.dtype)}"
            )
    return shapes


@garbage_collector_paused()
def simple_bind(
    symbol: Symbol,
    ctx: ContextLike,
    shapes: Mapping[str, Any],
    grad_req: Any = "write",
    type_dict: Mapping[str, DTypeLike] | None = None,
    group2ctx: Mapping[str, Context] | None = None,
    shared_arg_names: Iterable[str] | None = None,
    shared_exec: Executor | None = None,
    shared_buffer: NamedArrays | None = None,
    stypes: Mapping[str, str] | None = None,
) -> Executor:
    """Infer, allocate zeros and bind; see ``Symbol.simple_bind``. Shapes by name are a dict: names
    of arguments come from files, too, and may be any words."""
    ctx = read_context(ctx)
    structure = structure_of(symbol)
    arguments, states, _ = variables_in(structure.order)
    arg_names, aux_names = [node.name for node in arguments], [node.name for node in states]
    names = {*arg_names, *aux_names}
    strange = _unknown_argument_text([*shapes, *(type_dict or ())], names)
    shapes = {name: shape for name, shape in shapes.items() if name in names}
    types = {name: dtype for name, dtype in (type_dict or {}).items() if name in names}
    given = symbol._known_shapes((), shapes)
    found_shapes = infer_shapes(symbol.entries, given, structure=structure)
    entries = [entry for entry, shape in found_shapes.items() if not is_known(shape)]
    if entries:
        entries.sort(key=lambda entry: entry[0].op is not None)  # arguments first
        unknown = [node.output_name(k) for node, k in entries]
        raise ShapeError(
            f"simple_bind: the shapes given ({shapes}) do not determine that of "
            f"{', '.join(map(repr, unknown[:8]))} (a length of 0 is unknown){strange}"
        )
    if strange:
        warn_user(f"simple_bind{strange}")
    known_types = {name: name_of(dtype) for name, dtype in types.items()}
    found_types = infer_types(symbol.entries, known_types, "float32", structure=structure)
    arg_shapes, aux_shapes = (
        [plain_shape(found_shapes[n, 0]) for n in nodes] for nodes in (arguments, states)
    )
    arg_types, aux_types = (
        [scalar_type(found_types[n, 0]) for n in nodes] for nodes in (arguments, states)
    )
    requests = _requests_by_name(grad_req, arg_names)
    stypes = _sparse_storage_types(arguments, stypes)
    contexts = {}  # variable -> context, if its group has another context
    if group2ctx:
        placed = place_nodes(structure.order, ctx, group2ctx)
        contexts = {node.name: at for node, at in placed.items() if node.op is None}
    shared_names = set(shared_arg_names or ())
    args: list[NDArray] = []
    grads: list[NDArray | None] = []
    for name, shape, dtype in zip(arg_names, arg_shapes, arg_types):
        shared = (
            shared_exec.arg_dict.get(name)
            if shared_exec is not None and name in shared_names
            else None
        )
        if shared is not None and (
            shared.shape != tuple(shape) or name_of(shared.dtype) != name_of(dtype)
        ):
            raise ShapeError(
                f"simple_bind: shared argument '{name}' has shape {shared.shape} and dtype "
                f"{name_of(shared.dtype)}, expected {tuple(shape)} and {dtype}"
            )
        grad = None
        if shared is not None and shared_exec is not None:
            grad = shared_exec.grad_dict.get(name) if requests[name] != "null" else None
        elif name in stypes:
            shared = _sparse_zeros(stypes[name], shape, ctx, dtype)
            if requests[name] != "null":
                grad = zeros(shape, ctx, dtype, stype=stypes[name])
        elif shared_buffer is not None and name not in shared_names:
            shared = _array_from_buffer(shared_buffer, name, shape, dtype, contexts.get(name, ctx))
        if shared is None:
            shared = allocate_for_use(
                f"argument '{name}' of shape {shape}", zeros, shape, contexts.get(name, ctx), dtype
            )
        if grad is None and requests[name] != "null":
            grad = allocate_for_use(
                f"the gradient of '{name}', of shape {shape}",
                zeros,
                shape,
                contexts.get(name, ctx),
                dtype,
            )
        args.append(shared)
        grads.append(grad)
    auxs = []
    for name, shape, dtype in zip(aux_names, aux_shapes, aux_types):
        shared = shared_exec.aux_dict.get(name) if shared_exec is not None else None
        if shared is None or shared.shape != tuple(shape) or shared.dtype != dtype:
            what = f"state '{name}' of shape {shape}"
            shared = allocate_for_use(what, zeros, shape, contexts.get(name, ctx), dtype)
        auxs.append(shared)
    inferred = (found_shapes, found_types)
    if stypes or _creates_sparse_arrays(structure):
        return _bind_by_node(
            symbol, ctx, args, grads, requests, auxs, group2ctx, inferred, structure
        )
    return Executor(
        symbol, ctx, args, grads, requests, auxs, group2ctx, shared_exec, inferred, structure
    )


def _sparse_zeros(stype: str, shape: Shape, ctx: Context, dtype: DTypeLike) -> NDArray:
    return all_rows(shape, ctx, dtype) if stype == "row_sparse" else zeros(shape, ctx, dtype, stype)


def _unknown_argument_text(given: Iterable[str], names: Collection[str]) -> str:
    """Return the warning about `given` names that are not in `names`. They are no error, as an
    inner layer may be bound with the shapes and dtypes of the whole network."""
    unknown = []
    for name in dict.fromkeys(given):
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            unknown.append(f"{shown(name)}" + (f" (did you mean '{near[0]}'?)" if near else ""))
    if not unknown:
        return ""
    return f": the symbol has no argument {', '.join(unknown)}; what is given for it is not used"


def _array_from_buffer(
    buffer: NamedArrays, name: str, shape: Shape, dtype: DTypeLike, ctx: Context
) -> NDArray:
    """Return an array of `shape` at the start of ``buffer[name]``, which is enlarged if needed."""
    size = 1
    for n in shape:
        size *= n
    old = buffer.get(name)
    if old is not None and old.size >= size and old.dtype == dtype:
        return old.reshape((-1,))[:size].reshape(shape)
    buffer[name] = allocate_for_use(f"argument '{name}' of shape {shape}", zeros, shape, ctx, dtype)
    return buffer[name]
