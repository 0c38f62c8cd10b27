"""Functions of NDArrays as graphs: mx.compile."""

from __future__ import annotations

import contextlib
import functools
import types
from typing import TYPE_CHECKING, Any

from ...base.errors import ArgumentTypeError, shown
from ...base.guard import guarded
from ...base.tracing import has_trace
from ...ndarray import NDArray
from ..tracing import is_tracing
from .block import Block
from .hybrid_block import HybridBlock

if TYPE_CHECKING:
    from collections.abc import Callable

_PLAIN_TYPES = (bool, int, float, str, type(None))  # values compared by `==`
# longer lists and dicts are compared by identity and length only
_MAX_COMPARED_ELEMENTS = 1000  # of a list or dict
_PACKAGE = __name__.partition(".")[0]  # name of this package


@guarded
def compile(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function of NDArrays: it runs as a graph, like a hybridized Block.

    It is traced for each structure of its arguments, for numbers and str among them, for training
    or not and, where it looks at shapes, for each of those; and anew when an array or a number that
    it reads from outside (a global or a variable of the function around it, in lists and dicts, and
    through functions that it calls) is another one. What needs the values of arrays runs operator
    by operator, with a warning.

    Parameters
    ----------
    fn : callable
        Written in ``mx.nd``; it may call Blocks. A decorator, too.

    Returns
    -------
    callable
        It takes and returns what `fn` does; gradients go through it.

    Examples
    --------
    >>> @mx.compile
    ... def norm(x, power=2):
    ...     return mx.nd.sum(mx.nd.abs(x) ** power) ** (1 / power)
    >>> norm(mx.nd.array([3, 4])).asscalar()
    np.float32(5.0)
    """
    if not callable(fn):
        raise ArgumentTypeError(f"compile takes a function, got {shown(fn)}")
    block = _FunctionBlock(fn)
    block.hybridize()

    @functools.wraps(fn)
    def call_compiled(*args, **kwargs):
        if has_trace() or is_tracing():
            return fn(*args, **kwargs)
        block.update_for_globals()
        return block(*args, **kwargs)

    return call_compiled


class _FunctionBlock(HybridBlock):  # a Block that runs a function
    """A Block without parameters of its own that runs a function."""

    def __init__(self, fn):
        super().__init__(prefix="")
        vars(self)["_fn"] = fn
        vars(self)["_last_values"] = None
        self._outside = ()

    def update_for_globals(self):
        """Update the Block if a global that the function reads has changed since the last call."""
        found = _values_read_by(_underlying_function(vars(self)["_fn"]))
        held = vars(self)["_last_values"]
        if (
            held is not None
            and len(found) == len(held)
            and all(a is b or _is_same_plain_value(a, b) for a, b in zip(found, held))
        ):
            return
        vars(self)["_last_values"] = found
        blocks = [each for each in found if isinstance(each, Block)]
        for name in list(self._children):
            del self._children[name]
        for each in dict.fromkeys(blocks):
            Block.register_child(self, each)
        self._outside = tuple(
            id(each) if isinstance(each, NDArray) else (type(each), each)
            for each in found
            if not isinstance(each, Block)
        )

    def forward(self, *args, **kwargs):
        return vars(self)["_fn"](*args, **kwargs)


def _is_same_plain_value(a, b):
    return type(a) is type(b) and isinstance(a, _PLAIN_TYPES) and a == b


def _underlying_function(fn):
    if isinstance(fn, functools.partial):
        fn = fn.func
    if isinstance(fn, types.MethodType):
        fn = fn.__func__
    return fn if isinstance(fn, types.FunctionType) else vars(type(fn)).get("__call__")


def _values_read_by(fn):
    """Return the global arrays, numbers and Blocks that a function and its callees read."""
    found, seen, stack = [], set(), [fn]
    while stack:
        value = stack.pop()
        if isinstance(value, types.FunctionType):
            if value in seen or value.__module__.partition(".")[0] == _PACKAGE:
                continue
            seen.add(value)
            stack.extend(value.__defaults__ or ())
            stack.extend(_closure_values(value))
            stack.extend(_used_globals(value.__code__, value.__globals__))
        elif isinstance(value, (NDArray, Block, *_PLAIN_TYPES)):
            found.append(value)
        elif isinstance(value, (list, tuple, dict)) and id(value) not in seen:
            seen.add(id(value))
            if len(value) > _MAX_COMPARED_ELEMENTS:
                found.extend((id(value), len(value)))
            else:
                stack.extend(value.values() if isinstance(value, dict) else value)
    return found


def _closure_values(fn):
    for cell in fn.__closure__ or ():
        with contextlib.suppress(ValueError):  # the closure's variable is not set yet
            yield cell.cell_contents


def _used_globals(code, names):
    for name in code.co_names:
        if name in names:
            yield names[name]
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _used_globals(each, names)
