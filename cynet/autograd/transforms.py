"""Derivatives of functions of NDArrays: `value_and_grad`, `vjp`, `jvp`, `jacobian` and
`hessian_vector_product`.

A function takes NDArrays and gives one, or a list or tuple of them; a Block is such a function. It
is called once, in a record scope, and operators behave as the thread's ``is_training()`` says.
Nothing is written to ``.grad``. While the thread records, what comes out belongs to its graph, so
that these functions may be nested.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, ArgumentTypeError, ShapeError, shown
from ..base.guard import guarded
from ..ndarray import NDArray, ones_like, stack, zeros_like
from ..ndarray._tape import get_state
from ._adjoint import make_alias
from ._walk import gradients_at_nodes
from .scopes import record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["hessian_vector_product", "jacobian", "jvp", "value_and_grad", "vjp"]


def _call_and_record(name, function, inputs, numbers):
    """Call `function` and record: (result, arrays of the result, graph nodes of the inputs)."""
    inputs, nodes = list(inputs), []
    with record(train_mode=None):
        for i in numbers:
            if not isinstance(inputs[i], NDArray):
                raise ArgumentTypeError(
                    f"{name}: input {i} must be an NDArray, got {shown(inputs[i])}"
                )
            inputs[i], node = make_alias(inputs[i])
            nodes.append(node)
        result = function(*inputs)
    outputs = list(result) if isinstance(result, (list, tuple)) else [result]
    for i, each in enumerate(outputs):
        if not isinstance(each, NDArray):
            raise ArgumentTypeError(
                f"{name}: the function gave {shown(each)} for output {i}, expected an NDArray"
            )
    return result, outputs, nodes


def _gradients_of(outputs, head_grads, nodes, likes, retain=False, create=None):
    """Gradients of outputs with respect to inputs; zeros for inputs that no output depends on."""
    create = bool(get_state() & 1) if create is None else create
    found = gradients_at_nodes(outputs, head_grads, nodes, retain or create, create)
    return [zeros_like(x) if g is None else g for g, x in zip(found, likes)]


def _argument_numbers(name, argnums, n):
    """Return (True if `argnums` is one int, the list of indices among `n` inputs)."""
    numbers = [argnums] if isinstance(argnums, int) else list(argnums)
    for k in numbers:
        if not isinstance(k, int) or not -n <= k < n:
            raise ArgumentError(f"{name}: argnums is {shown(argnums)}, there are {n} inputs")
    return isinstance(argnums, int), [k % n for k in numbers]


def _check_scalar_output(name, outputs):
    if len(outputs) != 1 or outputs[0].size != 1:
        shapes = ", ".join(str(each.shape) for each in outputs)
        raise ShapeError(f"{name}: the function must give one number, it gave {shapes}")


def _checked_arrays_like(name, what, given, likes):
    """A list of arrays with the shapes of others."""
    given = [given] if isinstance(given, NDArray) else list(given)
    if len(given) != len(likes):
        raise ArgumentError(f"{name}: {len(given)} {what} for {len(likes)} arrays")
    for i, (each, like) in enumerate(zip(given, likes)):
        if not isinstance(each, NDArray):
            raise ArgumentTypeError(f"{name}: {what} {i} must be an NDArray, got {shown(each)}")
        if each.shape != like.shape:
            raise ShapeError(
                f"{name}: {what} {i} has shape {each.shape}, expected {tuple(like.shape)}"
            )
    return given


@guarded
def value_and_grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0
) -> Callable[..., tuple[Any, Any]]:
    """A function that returns the value of `function`, one number, and its gradients.

    Parameters
    ----------
    function : callable
        Takes NDArrays (and anything else at positions that are not in `argnums`) and returns an
        NDArray of one element.
    argnums : int or tuple of int
        Positions of the arguments to differentiate by.

    Returns
    -------
    callable
        Gives (value, gradient), or (value, list of gradients) where `argnums` is a tuple.

    Examples
    --------
    >>> value, grad = mx.autograd.value_and_grad(lambda x: (x * x).sum())(mx.nd.array([1, 2]))
    >>> value.asscalar(), grad.asnumpy().tolist()
    (np.float32(5.0), [2.0, 4.0])
    """

    def value_and_gradients(*inputs):
        single, numbers = _argument_numbers("value_and_grad", argnums, len(inputs))
        result, outputs, nodes = _call_and_record("value_and_grad", function, inputs, numbers)
        _check_scalar_output("value_and_grad", outputs)
        grads = _gradients_of(outputs, None, nodes, [inputs[i] for i in numbers])
        return result, grads[0] if single else grads

    return value_and_gradients


@guarded
def vjp(function: Callable[..., Any], *inputs: NDArray) -> tuple[Any, Callable[..., list[NDArray]]]:
    """The outputs of `function`, and a function that maps their gradients to the inputs' gradients.

    Parameters
    ----------
    function : callable
        Takes NDArrays and returns an NDArray, or a list or tuple of them.
    *inputs : NDArray
        The point at which derivatives are computed.

    Returns
    -------
    (result, callable)
        The callable takes an NDArray for each output, of its shape, and gives a list with an
        NDArray for each input; it may be called again.

    Examples
    --------
    >>> result, back = mx.autograd.vjp(lambda x, y: x * y, mx.nd.array([2]), mx.nd.array([3]))
    >>> [g.asscalar() for g in back(mx.nd.ones(1))]
    [np.float32(3.0), np.float32(2.0)]
    """
    result, outputs, nodes = _call_and_record("vjp", function, inputs, range(len(inputs)))

    def pull_gradients_back(*head_grads):
        heads = _checked_arrays_like("vjp", "gradients", head_grads, outputs)
        return _gradients_of(outputs, heads, nodes, inputs, retain=True)

    return result, pull_gradients_back


def _directional_derivative(name, function, inputs, tangents):
    # Backward is linear in the gradient u; transposing it gives the forward derivative.
    tangents = _checked_arrays_like(name, "tangents", tangents, inputs)
    create = bool(get_state() & 1)
    with record(train_mode=None):
        result, outputs, nodes = _call_and_record(name, function, inputs, range(len(inputs)))
        aliases = [make_alias(zeros_like(each)) for each in outputs]
        grads = _gradients_of(outputs, [a for a, _ in aliases], nodes, inputs, create=True)
    found = _gradients_of(grads, tangents, [node for _, node in aliases], outputs, create=create)
    return result, found


@guarded
def jvp(
    function: Callable[..., Any],
    inputs: NDArray | Sequence[NDArray],
    tangents: NDArray | Sequence[NDArray],
) -> tuple[Any, Any]:
    """The outputs of `function`, and their derivative in a direction.

    Parameters
    ----------
    function : callable
        Takes NDArrays and returns an NDArray, or a list or tuple of them.
    inputs, tangents : NDArray or list of NDArray
        The point and the direction.

    Returns
    -------
    (result, derivative)
        The derivative is an NDArray, or a list where the function gives several.

    Raises
    ------
    GradientError
        An operator has no gradient of its gradient.

    Examples
    --------
    >>> x, t = mx.nd.array([1, 2]), mx.nd.array([1, 10])
    >>> mx.autograd.jvp(lambda x: x * x, x, t)[1].asnumpy().tolist()
    [2.0, 40.0]
    """
    inputs = [inputs] if isinstance(inputs, NDArray) else list(inputs)
    result, found = _directional_derivative("jvp", function, inputs, tangents)
    return result, found if isinstance(result, (list, tuple)) else found[0]


@guarded
def jacobian(function: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """A function that returns all derivatives of `function`.

    Parameters
    ----------
    function : callable
        Takes NDArrays and returns one NDArray.
    argnums : int or tuple of int
        Positions of the arguments to differentiate by.

    Returns
    -------
    callable
        Gives an NDArray of the output's shape followed by the input's, or a list of them where
        `argnums` is a tuple.

    Raises
    ------
    ArgumentError
        `argnums` is not the place of an input, or the function gave several arrays.

    Examples
    --------
    >>> mx.autograd.jacobian(lambda x: x * x)(mx.nd.array([1, 2])).asnumpy().tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """

    def compute_jacobian(*inputs):
        single, numbers = _argument_numbers("jacobian", argnums, len(inputs))
        _, outputs, nodes = _call_and_record("jacobian", function, inputs, numbers)
        if len(outputs) != 1:
            raise ArgumentError(f"jacobian: the function gave {len(outputs)} arrays, expected one")
        output, likes = outputs[0], [inputs[i] for i in numbers]
        rows = []
        for k in range(output.size):
            head = zeros_like(output.detach())
            head.reshape((-1,))[k] = 1
            rows.append(_gradients_of(outputs, [head], nodes, likes, retain=True))
        found = [
            stack(*(row[i] for row in rows), axis=0).reshape(output.shape + like.shape)
            for i, like in enumerate(likes)
        ]
        return found[0] if single else found

    return compute_jacobian


@guarded
def hessian_vector_product(
    function: Callable[..., Any],
    inputs: NDArray | Sequence[NDArray],
    vectors: NDArray | Sequence[NDArray],
) -> Any:
    """The product of the matrix of second derivatives with a vector.

    Parameters
    ----------
    function : callable
        Takes NDArrays and returns an NDArray of one element.
    inputs, vectors : NDArray or list of NDArray
        The point and the vector, in arrays of the same shapes.

    Returns
    -------
    NDArray or list of NDArray
        As `inputs`.

    Raises
    ------
    GradientError
        An operator has no gradient of its gradient.

    Examples
    --------
    >>> x, v = mx.nd.array([1, 2]), mx.nd.array([1, 1])
    >>> mx.autograd.hessian_vector_product(lambda x: (x**3).sum(), x, v).asnumpy().tolist()
    [6.0, 12.0]
    """
    single = isinstance(inputs, NDArray)
    inputs = [inputs] if single else list(inputs)
    vectors = _checked_arrays_like("hessian_vector_product", "vectors", vectors, inputs)
    create = bool(get_state() & 1)
    with record(train_mode=None):
        _, outputs, nodes = _call_and_record(
            "hessian_vector_product", function, inputs, range(len(inputs))
        )
        _check_scalar_output("hessian_vector_product", outputs)
        grads = _gradients_of(outputs, [ones_like(outputs[0].detach())], nodes, inputs, create=True)
    found = _gradients_of(grads, vectors, nodes, inputs, create=create)
    return found[0] if single else found
