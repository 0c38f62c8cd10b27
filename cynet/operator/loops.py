"""What elementwise operators say of themselves: which loops run over their arrays."""

from typing import NamedTuple


class Loop(NamedTuple):
    """One loop over all elements of its arrays.

    family : str
        The table of kernels: ``unary`` F(a), ``binary`` F(a, b), ``unary_grad`` a * F(b),
        ``binary_grad`` a * F(b, c).
    functor : str
        F, a name in kernels/functors.h.
    reads : tuple
        What is read: arrays as `OperatorProperty.forward_loops` got them, or floats.
    target : object
        The array that is written as its request says.
    more : bool
        True: adds to what an earlier loop of the same step wrote.
    """

    family: str
    functor: str
    reads: tuple
    target: object
    more: bool = False


# Functors that take about as long as an addition; the others take some times as long.
SIMPLE = frozenset(
    [
        "identity",
        "negative",
        "abs",
        "square",
        "relu",
        "relu_grad_y",
        "sigmoid_grad_y",
        "tanh_grad_y",
        "two_x",
        "minus_one",
        "one",
        "zero",
        "sign",
        "plus",
        "minus",
        "mul",
        "div",
        "maximum",
        "minimum",
        "grad_one",
        "grad_minus_one",
        "grad_left",
        "grad_right",
        "div_lgrad",
        "div_rgrad",
        "greater",
        "lesser",
        "greater_equal",
        "lesser_equal",
        "equal",
        "not_equal",
    ]
)


def binary_gradients(gradient, out_grad, lhs, rhs, targets):
    """The loops of a binary function's gradients.

    Parameters
    ----------
    gradient : Gradient
        Row of tensor/binary_rows.py.
    out_grad, lhs, rhs : object
        Arrays, or a float for one operand.
    targets : tuple
        Gradient of lhs and of rhs; None where there is none.

    Returns
    -------
    list of Loop
    """
    # a gradient that reads no input gets out_grad in its place
    operands = tuple(
        each if gradient.reads or isinstance(each, float) else out_grad for each in (lhs, rhs)
    )
    return [
        Loop("binary_grad", functor, (out_grad, *operands), target)
        for functor, target in zip((gradient.lhs, gradient.rhs), targets)
        if target is not None
    ]
