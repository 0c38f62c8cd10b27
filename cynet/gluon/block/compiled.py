"""compile: a function of arrays as a graph."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ...base.errors import ArgumentTypeError, shown
from ...base.guard import guarded
from .hybrid_block import HybridBlock

if TYPE_CHECKING:
    from collections.abc import Callable


class _Function(HybridBlock):
    """A Block that calls a function."""

    def __init__(self, function):
        super().__init__(prefix="")
        vars(self)["_function"] = function

    def forward(self, *args, **kwargs):
        return self._function(*args, **kwargs)


@guarded
def compile(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays that runs as a graph, which its first call of each kind traces.

    What holds for a hybridized Block with a plain ``forward`` holds here: numbers, structures,
    modes and shapes that were looked at are guarded, and what cannot be traced runs as it is. The
    function may call Blocks.

    Parameters
    ----------
    function : callable
        Written in ``mx.nd``.

    Examples
    --------
    >>> import cynet as mx
    >>> @mx.compile
    ... def gelu(x):
    ...     return x * 0.5 * (1 + mx.nd.erf(x / 2 ** 0.5))
    >>> f"{gelu(mx.nd.ones(1)).asscalar():.4f}"
    '0.8413'
    """
    if not callable(function):
        raise ArgumentTypeError(f"compile takes a function, got {shown(function)}")
    block = _Function(function)
    block.hybridize()

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return block(*args, **kwargs)

    return call
