"""The GPU forms of operators: class of the property -> builder(prop, in_shapes, in_types, device).

The modules of this folder, which fill it, are imported when the first operator is made for a GPU.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from ...base.errors import ArgumentError
from ...context import Context
from ...cuda.device import device
from ...registry import import_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...typing import Operator, Shape
    from ..registered import Registered

FORMS: dict[type, tuple[Any, bool]] = {}  # class of a property -> (builder, checks)
_CPU_CONTEXT = Context("cpu")  # for the checks of the CPU's operator


def register_form(*classes, checks=True):
    """Register the builder of these operators' GPU form.

    classes (type): Properties of operators; a class that is no operator itself stands for all that
        derive from it and have no form of their own. Or the class of `gpu` of declarations.
    checks (bool): Make the operator for the CPU first, so that dtypes and parameters are refused
        alike.

    Raises ArgumentError when a class has a form already.
    """

    def register(builder):
        for cls in classes:
            if cls in FORMS:
                raise ArgumentError(f"{cls.__name__} has a form for GPUs already")
            FORMS[cls] = builder, checks
        return builder

    return register


@cache
def _load_forms():
    import_all(__package__)


def find_form_builder(prop):
    """Return (builder, checks) of a property or its class, or None if it has no GPU form."""
    _load_forms()
    cls = prop if isinstance(prop, type) else type(prop)
    for base in cls.__mro__:
        # an operator inherits no form from another operator's class
        if base in FORMS and base.op_name in (None, cls.op_name):
            return FORMS[base]
    return FORMS.get(type(prop.gpu))


def has_form(prop: Registered | type[Registered]) -> bool:
    """Return whether the operator of a property or its class runs on a GPU."""
    return find_form_builder(prop) is not None


def build(
    prop: Registered, in_shapes: Sequence[Shape], in_types: Sequence[str], on: Any
) -> Operator:
    """The Operator that computes `prop` on the Device `on`.

    Raises ArgumentError: the operator has no form for GPUs.
    """
    form = find_form_builder(prop)
    if form is None:
        raise ArgumentError(f"operator {prop.op_name} has no form for GPUs; run it on mx.cpu()")
    builder, checks = form
    if checks:
        prop.operator_on(_CPU_CONTEXT, in_shapes, in_types)
    return builder(prop, [tuple(s) for s in in_shapes], list(in_types), on)


def create_gpu_operator(
    prop: Registered, ctx: Context, in_shapes: Sequence[Shape], in_types: Sequence[str]
) -> Operator:
    """Create the Operator that computes `prop` on a GPU."""
    return build(prop, in_shapes, in_types, device(ctx.device_id))
