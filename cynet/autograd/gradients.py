"""From outputs back to variables: `backward`, `grad`, `mark_variables`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..base.guard import guarded
from ..ndarray import NDArray
from ..ndarray._tape import mark_variable
from . import _walk

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["backward", "grad", "mark_variables"]


class _HeadListError(ArgumentError, AssertionError):
    """Empty lists, or lists of different lengths, for which MXNet raises AssertionError."""


def _as_arrays(what, given):
    given = [given] if isinstance(given, NDArray) else given
    if not isinstance(given, (list, tuple)):
        raise ArgumentTypeError(f"{what} must be an NDArray or a list of them, got {shown(given)}")
    return list(given)


def _check_heads(heads, head_grads):
    heads = _as_arrays("heads", heads)
    if not heads:
        raise _HeadListError("heads must not be an empty list")
    if head_grads is None:
        return heads, None
    head_grads = _as_arrays("head_grads", head_grads)
    if len(heads) != len(head_grads):
        raise _HeadListError(
            f"heads and head_grads must be lists of the same length, got {len(heads)} and "
            f"{len(head_grads)}"
        )
    return heads, head_grads


@guarded
def mark_variables(
    variables: NDArray | Sequence[NDArray],
    gradients: NDArray | Sequence[NDArray],
    grad_reqs: str | Sequence[str] = "write",
) -> None:
    """Make arrays variables whose gradients go to given arrays.

    Parameters
    ----------
    variables, gradients : NDArray or list of NDArray
        Each gradient has its variable's shape and dtype.
    grad_reqs : str or list of str
        What backward does with each gradient: ``'write'``, ``'add'`` or ``'null'``.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        Lists have different lengths, or a value is not an NDArray.

    Examples
    --------
    >>> x, grad = mx.nd.array([1, 2]), mx.nd.zeros(2)
    >>> mx.autograd.mark_variables([x], [grad])
    >>> with mx.autograd.record():
    ...     y = x * x
    ...
    >>> y.backward()
    >>> grad
    [2. 4.]
    <NDArray 2 @cpu(0)>
    """
    variables, gradients = _as_arrays("variables", variables), _as_arrays("gradients", gradients)
    if isinstance(grad_reqs, str):
        grad_reqs = [grad_reqs] * len(variables)
    if not len(variables) == len(gradients) == len(grad_reqs):
        raise _HeadListError(
            f"variables, gradients and grad_reqs must be lists of the same length, got "
            f"{len(variables)}, {len(gradients)} and {len(grad_reqs)}"
        )
    for variable, gradient, req in zip(variables, gradients, grad_reqs):
        mark_variable(variable, gradient, req)


def backward(
    heads: NDArray | Sequence[NDArray],
    head_grads: NDArray | Sequence[NDArray | None] | None = None,
    retain_graph: bool = False,
    train_mode: bool = True,
) -> None:
    """Fill the gradients of the variables that `heads` were computed from in a record scope.

    Parameters
    ----------
    heads : NDArray or list of NDArray
        The arrays to differentiate.
    head_grads : NDArray or list of NDArray or None, optional
        Gradients of the heads, of their shapes; None stands for ones.
    retain_graph : bool
        Keep the graph for another backward; otherwise its memory is freed as gradients are
        computed.
    train_mode : bool
        What ``is_training()`` returns in the backward of a `Function`; operators run in the mode
        that they were recorded in.

    Raises
    ------
    GradientError
        When a head was not recorded, its graph is gone, no variable in it has a gradient, or an
        array that backward reads was changed after it was recorded.
    ShapeError
        When a head's gradient has another shape.

    Examples
    --------
    >>> x = mx.nd.array([1, 2])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y, z = x * x, 3 * x
    >>> mx.autograd.backward([y, z])
    >>> x.grad.asnumpy().tolist()
    [5.0, 7.0]
    """
    heads, head_grads = _check_heads(heads, head_grads)
    _walk.backward(heads, head_grads, retain_graph, train_mode)


def grad(
    heads: NDArray | Sequence[NDArray],
    variables: NDArray | Sequence[NDArray],
    head_grads: NDArray | Sequence[NDArray | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    train_mode: bool = True,
) -> list[NDArray]:
    """The gradients of `heads` with respect to `variables`, as new arrays; ``.grad`` stays.

    Parameters
    ----------
    heads : NDArray or list of NDArray
        The arrays to differentiate.
    variables : NDArray or list of NDArray
        The arrays to differentiate by; they have `attach_grad`.
    head_grads : NDArray or list of NDArray or None, optional
        Gradients of the heads, see `backward`.
    retain_graph : bool, optional
        Keep the graph for another backward; by default the value of `create_graph`.
    create_graph : bool
        Record how the gradients are computed, so that they have gradients themselves.
    train_mode : bool
        What ``is_training()`` returns in the backward of a `Function`.

    Raises
    ------
    GradientError
        As `backward`, and when a variable has no gradient or no way leads to it.

    Examples
    --------
    >>> x = mx.nd.array([2])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = x * x * x
    ...     dx, = mx.autograd.grad(y, [x], create_graph=True)
    >>> dx.backward()
    >>> dx.asscalar(), x.grad.asscalar()
    (np.float32(12.0), np.float32(12.0))
    """
    flags = {"retain_graph": retain_graph, "create_graph": create_graph, "train_mode": train_mode}
    _walk.check_optional_flags("grad", flags)
    heads, head_grads = _check_heads(heads, head_grads)
    variables = _as_arrays("variables", variables)
    if not variables:
        raise _HeadListError("variables must not be an empty list")
    for i, variable in enumerate(variables):
        if not isinstance(variable, NDArray):
            raise ArgumentTypeError(f"variable {i} must be an NDArray, got {shown(variable)}")
    retain = create_graph if retain_graph is None else retain_graph
    with _walk.BACKWARD_SPAN:
        return _walk.gradients(
            heads, head_grads, variables, bool(retain), bool(create_graph), bool(train_mode)
        )
