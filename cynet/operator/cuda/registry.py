"""The GPU forms of operators: operator name -> builder(prop, in_shapes, in_types, device).

The tables that fill it (`families.TABLES`) are imported when the first operator is made for a GPU.
"""

import importlib
from functools import cache

from ...base.errors import ArgumentError
from ...context import Context
from ...cuda.device import device
from .._base import get_operator

FORMS = {}
TABLES = (  # the modules of this folder with forms in them
    "batch_norm",
    "convolutions",
    "creation",
    "elementwise",
    "gemm",
    "index",
    "losses",
    "own_layers",
    "pooling",
    "pooling_v1",
    "random",
    "reduce",
    "rnn",
    "strided_moves",
    "update",
)
_HOST = Context("cpu")


def form(*names, checks=True):
    """Register the builder of these operators' GPU form.

    Parameters
    ----------
    names : str or type
        Canonical names of operators; the class of `gpu` of declarations.
    checks : bool
        Make the operator for the CPU first, so that dtypes and parameters are refused alike.

    Raises
    ------
    ArgumentError
        When a name has a form already.
    """

    def register(builder):
        for name in names:
            if name in FORMS:
                raise ArgumentError(f"operator {name} has a form for GPUs already")
            FORMS[name] = builder, checks
        return builder

    return register


@cache
def _load():
    for name in TABLES:
        importlib.import_module(f"{__package__}.{name}")


def has_form(name):
    """Whether the operator of that canonical name runs on a GPU."""
    _load()
    return name in FORMS or get_operator(name).prop.gpu is not None


def build_declared(prop, in_shapes, in_types, on):
    """The form that the declaration names, of the class of `prop.gpu`."""
    return FORMS[type(prop.gpu)][0](prop, in_shapes, in_types, on)


def build(prop, in_shapes, in_types, on):
    """The Operator that computes `prop` on the Device `on`.

    Raises
    ------
    ArgumentError
        The operator has no form for GPUs.
    """
    if not has_form(prop.op_name):
        raise ArgumentError(f"operator {prop.op_name} has no form for GPUs; run it on mx.cpu()")
    builder, checks = FORMS.get(prop.op_name, (build_declared, True))
    if checks:
        prop.operator_on(_HOST, in_shapes, in_types)
    return builder(prop, [tuple(s) for s in in_shapes], list(in_types), on)


def gpu_operator(prop, ctx, in_shapes, in_types):
    """The Operator of `prop` on a GPU context."""
    return build(prop, in_shapes, in_types, device(ctx.device_id))
