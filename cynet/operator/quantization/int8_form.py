"""The operator of floats that an operator of 8 bits stands for in a quantized graph: its class says
it in `int8_form`, and contrib/quantization reads it."""

from collections.abc import Callable
from typing import NamedTuple

from .._base import OPERATORS


class Int8Form(NamedTuple):
    """An operator of 8 bits in place of one of floats.

    Attributes
    ----------
    of : type
        The property of the operator of floats.
    params : tuple of str
        Parameters that go on where the node has them.
    is_layer : bool
        True: it has weights, and what is behind it may become a part of it. False: it takes what a
        layer gives, and loses nothing, or half a step.
    fits : callable
        ``fits(prop)``: whether it stands for this one.
    """

    of: type
    params: tuple[str, ...] = ()
    is_layer: bool = False
    fits: Callable = lambda prop: True

    def kept(self, node):
        """The parameters that go on from a node."""
        return {name: getattr(node.prop, name) for name in self.params if name in node.params}


_found = {}  # class of a property of floats -> class of that of 8 bits


def int8_of(prop):
    """The class that stands for one of floats in 8 bits, or None."""
    if not _found:
        for _, entry in OPERATORS.items():
            form = entry.prop.int8_form
            if isinstance(form, Int8Form):
                _found.setdefault(form.of, entry.prop)
    return _found.get(prop)
