"""The Symbol of a recorded computation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.errors import ArgumentTypeError, GradientError, shown
from ..ndarray import NDArray
from ..ndarray._tape import computed_by
from ..operator import get_operator
from ..symbol import Variable
from ..symbol.register import function_of

if TYPE_CHECKING:
    from ..typing import Symbol

__all__ = ["get_symbol"]


def get_symbol(x: NDArray) -> Symbol:
    """The Symbol of the recorded history of an array.

    Parameters
    ----------
    x : NDArray
        An array that was computed in a record scope.

    Returns
    -------
    Symbol
        Its variables are ``var0``, ``var1``, ..., one for each array that has a gradient and one
        for each use of any other; its nodes ``node_0``, ``node_1``, ....

    Raises
    ------
    GradientError
        When the array is in no graph, its graph is gone, or a step in it is not an operator.

    Examples
    --------
    >>> x = mx.nd.ones(2)
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = x * x + 2
    >>> mx.autograd.get_symbol(y).list_arguments()
    ['var0']
    """
    if not isinstance(x, NDArray):
        raise ArgumentTypeError(f"get_symbol takes an NDArray, got {shown(x)}")
    entry = computed_by(x)
    if entry is None:
        raise GradientError("get_symbol: the array was not computed while autograd recorded")
    made, counts = {}, [0, 0]

    def new_var():
        counts[0] += 1
        return Variable(f"var{counts[0] - 1}")

    stack = [entry[0]]
    while stack:
        node = stack[-1]
        if node in made:
            stack.pop()
            continue
        sources = node.sources
        if sources is None:
            raise GradientError(f"{node.name} is gone: an earlier backward has let go of its graph")
        waiting = [source for source, _ in filter(None, sources) if source not in made]
        if waiting:
            stack.append(waiting[0])
            continue
        made[node] = new_var() if not sources else _to_symbol(node, sources, made, new_var, counts)
        stack.pop()
    symbol = made[entry[0]]
    return symbol if len(symbol.entries) == 1 else symbol[entry[1]]


def _to_symbol(node, sources, made, new_var, counts):
    call = node.symbol_name_and_params
    if call is None:
        raise GradientError(f"expected an operator, got {node.name}, recorded at {node.location()}")
    inputs = []
    for source in sources:
        if source is None:
            inputs.append(new_var())
            continue
        symbol = made[source[0]]
        inputs.append(symbol if len(symbol.entries) == 1 else symbol[source[1]])
    operator, params = call
    counts[1] += 1
    name = f"node_{counts[1] - 1}"
    return function_of(operator, get_operator(operator))(*inputs, name=name, **params)
