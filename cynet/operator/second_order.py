"""Rules that write an operator's gradient as operators, for gradients of gradients.

A class says it in `OperatorProperty.second_order`: a rule of this module, or a Python property
where it depends on parameters. ``create_graph=True`` follows it (autograd/_walk.pyx).
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

# An array of `F`, a namespace of operators: mx.nd, or the same operators on symbols.
Array: TypeAlias = Any  # an array, or a Symbol
Operators: TypeAlias = Any  # mx.nd, or the same operators on symbols


class Linear(NamedTuple):  # second-order rule of a linear operator
    """The operator is linear in its inputs: its gradient is the transpose, and the transpose of
    that is the operator itself.

    partners: Input that it is linear in -> inputs that it is multiplied with; inputs that are not
    named select or are added. Empty: it is linear in all inputs together.
    affine: True: it adds a constant, too.

    Examples
    --------
    >>> from cynet.operator.second_order import Linear
    >>> product = Linear({0: (1,), 1: (0,)})
    >>> product.partners[0], product.affine
    ((1,), False)
    """

    partners: Mapping[int, tuple[int, ...]] = {}
    affine: bool = False


class Flat(NamedTuple):  # second-order rule: the derivative is piecewise constant
    """The gradient multiplies by a factor that is constant almost everywhere."""


class Formula(NamedTuple):  # second-order rule: the gradient by other operators
    """The gradient is given in terms of other operators.

    gradients: ``gradients(p, F, g, x, y)``: the property, ``mx.nd``, the gradients of the visible
        outputs, and what backward reads of inputs and outputs (None where it reads none). It gives
        a list, one entry an input: an array, or a function that computes it where it is wanted.
    """

    gradients: Callable[..., Any]


class Rewrite(NamedTuple):  # second-order rule: the operator by other operators
    """The operator is rewritten in terms of others, whose gradients then apply.

    outputs: ``outputs(p, F, x, aux, training)``: the property, ``mx.nd``, the inputs, the auxiliary
        states followed by what backward reads of the outputs that users do not see, and whether the
        operator ran as in training. It gives the visible outputs, or None where there is no way.
    """

    outputs: Callable[..., Any]


class Refused(NamedTuple):  # second-order rule: raise GradientError
    """The operator has a gradient but no second one: ``create_graph=True`` raises GradientError.

    reason: Why, a sentence.
    """

    reason: str
