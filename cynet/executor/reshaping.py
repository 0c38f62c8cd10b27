"""An executor's arrays for new shapes: the same arrays, parts of them, or larger arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import ShapeError
from ..graph.infer import infer_shapes
from ..ndarray import zeros
from ..operator.checks.shapes import plain_shape
from ..operator.property import is_known

if TYPE_CHECKING:
    from collections.abc import Container, Mapping


def reshape_arrays(
    executor: Any, shapes: Mapping[str, Any], free: Container[str], allow_up_sizing: bool, hint: str
) -> tuple[list[Any], list[Any], list[Any], dict[Any, Any]]:
    """Return (arguments, gradients, auxiliary states, shapes) for `Executor.reshape_free`."""
    given = executor._symbol._known_shapes((), shapes)
    found = infer_shapes(executor._symbol.entries, given, structure=executor._structure)
    by_name = {node.name: found[node, 0] for node in executor._structure.variables}
    if not all(map(is_known, by_name.values())):
        raise ShapeError(f"reshape: the shapes given ({shapes}) do not determine all others")

    def reshape_array(kind: str, name: str, shape: tuple[int, ...], old: Any) -> Any:
        if old is None or old.shape == tuple(shape):
            return old
        if name not in free:
            error = ShapeError(
                f"reshape: {kind} '{name}' changes from {old.shape} to {tuple(shape)}{hint}"
            )
            # for callers that know the requested shape
            error.change = name, old.shape, tuple(shape)  # type: ignore[attr-defined]
            raise error
        size = 1
        for n in shape:
            size *= n
        if size <= old.size:
            return old.reshape((-1,))[:size].reshape(shape)
        if not allow_up_sizing:
            raise ShapeError(
                f"reshape: {kind} '{name}' grows from {old.shape} to {shape}; pass "
                "allow_up_sizing=True to allow new memory for it"
            )
        return zeros(shape, ctx=old.ctx, dtype=old.dtype)

    args, grads = [], []
    for name in executor._arg_names:
        shape = plain_shape(by_name[name])
        args.append(reshape_array("argument", name, shape, executor.arg_dict[name]))
        grads.append(reshape_array("gradient of", name, shape, executor.grad_dict[name]))
    auxs = [
        reshape_array("auxiliary state", name, plain_shape(by_name[name]), executor.aux_dict[name])
        for name in executor._aux_names
    ]
    return args, grads, auxs, found
