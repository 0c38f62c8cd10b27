"""Converts the derivative of a row to a rule of second order, a `Formula`.

A derivative is written in operators of `F`, which is ``mx.nd``. Entries of what a formula gives are
functions: a gradient is computed where it is wanted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ..second_order import Array, Formula, Operators

if TYPE_CHECKING:
    from collections.abc import Callable

    _Rule = TypeVar("_Rule")  # a rule for second gradients

Derivative: TypeAlias = "Callable[..., Array]"  # in operators of mx.nd


def rule_from_derivative(
    make: Callable[[Derivative], Formula], derivative: Derivative | _Rule
) -> Formula | _Rule:
    """`make` applied to a derivative that is a function; `Linear()` and the like unchanged."""
    return make(derivative) if callable(derivative) else derivative


def make_unary_rule(derivative: Derivative) -> Formula:
    """Return the rule for ``derivative(F, x, y)``, of the input and the output."""
    return Formula(lambda p, F, g, x, y: [lambda: g[0] * derivative(F, x[0], y[0])])


def make_scalar_rule(derivative: Derivative) -> Formula:
    """Return the rule for ``derivative(F, x, s)``, of an array and a number."""
    return Formula(lambda p, F, g, x, y: [lambda: g[0] * derivative(F, x[0], p.scalar)])


def make_binary_rule(lhs: Derivative, rhs: Derivative) -> Formula:
    """The rule from two functions ``(F, a, b)``, the derivatives with respect to operands of one
    shape."""
    return Formula(lambda p, F, g, x, y: [lambda: g[0] * lhs(F, *x), lambda: g[0] * rhs(F, *x)])


def make_broadcast_rule(lhs: Derivative, rhs: Derivative) -> Formula:
    """The Formula of two derivatives where the operands broadcast."""

    def gradients(p: Any, F: Operators, g: Any, x: Any, y: Any) -> list[Callable[[], Array]]:
        shape = g[0].shape
        wide = [F.broadcast_to(_add_leading_axes(each, len(shape)), shape=shape) for each in x]
        return [
            lambda: _sum_to_shape(F, g[0] * lhs(F, *wide), x[0].shape),
            lambda: _sum_to_shape(F, g[0] * rhs(F, *wide), x[1].shape),
        ]

    return Formula(gradients)


def make_reduction_rule(derivative: Derivative) -> Formula:
    """The rule from ``derivative(F, spread, g, x, y)``; ``spread(array)`` repeats a reduced array
    along the axes."""

    def gradients(p: Any, F: Operators, g: Any, x: Any, y: Any) -> list[Callable[[], Array]]:
        def spread(array: Array) -> Array:
            axes = p.reduced_axes(x[0].ndim)
            shape = tuple(1 if i in axes else n for i, n in enumerate(x[0].shape))
            return F.broadcast_to(array.reshape(shape), shape=x[0].shape)

        return [lambda: derivative(F, spread, g[0], x[0], y[0])]

    return Formula(gradients)


def _add_leading_axes(array: Array, ndim: int) -> Array:
    return array.reshape((1,) * (ndim - array.ndim) + array.shape)


def _sum_to_shape(F: Operators, grad: Array, shape: tuple[int, ...]) -> Array:
    """Sum a gradient to `shape`, the shape before the operand was broadcast."""
    if grad.shape == shape:
        return grad
    wide = (1,) * (grad.ndim - len(shape)) + shape
    axes = tuple(i for i, (a, b) in enumerate(zip(grad.shape, wide)) if a != b)
    return F.sum(grad, axis=axes, keepdims=True).reshape(shape)
