"""Fills the array of a parameter by an initializer."""

from ... import initializer
from ...base.errors import ArgumentTypeError, shown
from ...initializer import InitDesc


def fill_array(init, default_init, name, values):
    """Fill an array by `init` as a weight, whatever its name; only Mixed and Load use the name.

    As in MXNet it is the initializer of the whole network that is called, and `init` goes to it as
    the attribute ``__init__``: so one with a ``__call__`` of its own, or values that were loaded,
    come before what the parameter asks for.
    """
    chosen, default = (
        initializer.create(each) if isinstance(each, str) else each for each in (init, default_init)
    )
    if isinstance(chosen, initializer.Initializer):
        known = (initializer.Initializer, initializer.Mixed, initializer.Load)
        called = default if isinstance(default, known) else chosen
        called(InitDesc(name, {"__init__": chosen}), values)
    elif callable(chosen):
        chosen(InitDesc(name), values)
    else:
        raise ArgumentTypeError(
            f"Parameter '{name}': an initializer is expected, got {shown(init)}"
        )
