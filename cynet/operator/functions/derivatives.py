"""From derivatives to rules of second order: a row's derivative as a `Formula`.

A derivative is written in operators of `F`, which is ``mx.nd``. Entries of what a formula gives are
functions: a gradient is computed where it is wanted.
"""

from ..second_order import Formula


def rule(make, derivative):
    """`make` applied to a derivative that is a function; `Linear()` and the like unchanged."""
    return make(derivative) if callable(derivative) else derivative


def of_one(derivative):
    """The rule from ``derivative(F, x, y)``, of the input and the output."""
    return Formula(lambda p, F, g, x, y: [lambda: g[0] * derivative(F, x[0], y[0])])


def of_number(derivative):
    """The rule from ``derivative(F, x, s)``, of an array and a number."""
    return Formula(lambda p, F, g, x, y: [lambda: g[0] * derivative(F, x[0], p.scalar)])


def of_two(lhs, rhs):
    """The rule from two functions ``(F, a, b)``, the derivatives with respect to operands of one
    shape."""
    return Formula(lambda p, F, g, x, y: [lambda: g[0] * lhs(F, *x), lambda: g[0] * rhs(F, *x)])


def of_broadcast(lhs, rhs):
    """The same where the operands broadcast."""

    def gradients(p, F, g, x, y):
        shape = g[0].shape
        wide = [F.broadcast_to(_with_axes(each, len(shape)), shape=shape) for each in x]
        return [
            lambda: _summed_to(F, g[0] * lhs(F, *wide), x[0].shape),
            lambda: _summed_to(F, g[0] * rhs(F, *wide), x[1].shape),
        ]

    return Formula(gradients)


def of_reduction(derivative):
    """The rule from ``derivative(F, spread, g, x, y)``; ``spread(array)`` repeats a reduced array
    along the axes."""

    def gradients(p, F, g, x, y):
        def spread(array):
            axes = p.reduced(x[0].ndim)
            shape = tuple(1 if i in axes else n for i, n in enumerate(x[0].shape))
            return F.broadcast_to(array.reshape(shape), shape=x[0].shape)

        return [lambda: derivative(F, spread, g[0], x[0], y[0])]

    return Formula(gradients)


def _with_axes(array, ndim):
    return array.reshape((1,) * (ndim - array.ndim) + array.shape)


def _summed_to(F, grad, shape):
    """The gradient summed back to `shape`, from which it was broadcast."""
    if grad.shape == shape:
        return grad
    wide = (1,) * (grad.ndim - len(shape)) + shape
    axes = tuple(i for i, (a, b) in enumerate(zip(grad.shape, wide)) if a != b)
    return F.sum(grad, axis=axes, keepdims=True).reshape(shape)
