"""The float operator that an 8-bit operator replaces in a quantized graph: declared in its class as
`int8_form`, and read by contrib/quantization."""

from collections.abc import Callable
from typing import Any, NamedTuple

from .._base import OPERATORS


class Int8Form(NamedTuple):  # 8-bit operator that replaces a float one
    """Declaration of an 8-bit operator that replaces a float operator.

    of: The property of the operator of floats.
    params: Parameters to copy from the node if it has them.
    is_layer: True: it has weights, and what is behind it may become a part of it. False: it takes
        what a layer gives, and loses nothing, or half a step.
    fits: ``fits(prop)``: whether it stands for this one.
    """

    of: type
    params: tuple[str, ...] = ()
    is_layer: bool = False
    fits: Callable = lambda prop: True

    def params_to_copy(self, node):
        """Return the parameters to copy from a node."""
        return {name: getattr(node.prop, name) for name in self.params if name in node.params}


_int8_classes = {}  # class of a float property -> its 8-bit class


def int8_class(prop: Any) -> Any:
    """Return the 8-bit class that replaces a float property's class, or None."""
    if not _int8_classes:
        for _, entry in OPERATORS.items():
            form = entry.prop.int8_form
            if isinstance(form, Int8Form):
                _int8_classes.setdefault(form.of, entry.prop)
    return _int8_classes.get(prop)
