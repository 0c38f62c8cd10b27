"""Graph: the ONNX graph being written, and the table of exporters."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from ..base.errors import UndefinedError
from ..operator import get_operator
from ..registry import import_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..symbol.node import Node
    from ..typing import Shape

_Function = TypeVar("_Function", bound="Callable[..., Any]")  # an exporter
OPSET = 13  # supported by every runtime of recent years
# property class of an operator -> function(graph, node) that writes it and returns its outputs
EXPORTERS: dict[type, Callable[[Graph, OpNode], str | list[str]]] = {}  # property class -> exporter


def exports(*classes: type) -> Callable[[_Function], _Function]:
    """Decorator: register an exporter for operators with these property classes."""

    def register(function: _Function) -> _Function:
        EXPORTERS.update(dict.fromkeys(classes, function))
        return function

    return register


def prop_classes(*names: str) -> list[type]:
    """Return the property classes of operators, by the operators' names."""
    return [get_operator(name).prop for name in names]


@cache
def _load_exporters() -> None:
    import_all(__package__)
    import_all(f"{__package__}.quantized")


def exporter_of(prop: type) -> Callable[[Graph, OpNode], str | list[str]] | None:
    """Return the exporter for a property class, or None."""
    _load_exporters()
    return EXPORTERS.get(prop)


class OpNode:  # a node of a symbol, as exporters get it
    """A node of a symbol with what an exporter needs: parameters, input names, shapes, dtypes.

    op, name: str
    prop (OperatorProperty): The parsed parameters are its attributes.
    inputs: Names of values, arguments and then states.
    dtypes: Of the inputs.
    """

    def __init__(
        self,
        node: Node,
        inputs: list[str],
        shapes: list[Shape],
        out_shapes: list[Shape],
        dtypes: list[str],
        out_dtypes: list[str],
    ) -> None:
        self.op, self.name, self.prop = node.op.name, node.name, node.prop
        self.inputs, self.shapes, self.out_shapes = inputs, shapes, out_shapes
        self.dtypes, self.out_dtypes = dtypes, out_dtypes

    def refuse(self, why: str) -> NoReturn:
        """Raise the error for a feature that ONNX cannot express."""
        raise UndefinedError(f"ONNX export of {self.op} '{self.name}': {why}")


class Graph:  # the ONNX graph being written
    """The ONNX graph being written: its nodes and constants, in order."""

    def __init__(self, helper: Any) -> None:
        self._helper = helper
        self.nodes: list[Any] = []
        self.constants: dict[str, np.ndarray[Any, Any]] = {}
        self._known: dict[Any, str] = {}
        self._taken: set[str] = set()
        self._where = ""

    def begin_node(self, name: str) -> int:
        """Set the name prefix of the nodes written next; return the current node count."""
        self._where = name
        return len(self.nodes)

    def unique_name(self, name: str) -> str:
        """Return `name`, with a number appended if the name is taken."""
        made, k = name, 0
        while made in self._taken:
            k += 1
            made = f"{name}_{k}"
        self._taken.add(made)
        return made

    def emit(self, kind: str, inputs: Iterable[str], **attributes: Any) -> str:
        """Write a node with one output; return the output's name."""
        name = self.unique_name(f"{self._where}_{kind.lower()}")
        self.nodes.append(self._helper.make_node(kind, list(inputs), [name], name, **attributes))
        return name

    def emit_several(
        self, kind: str, inputs: Iterable[str], count: int, **attributes: Any
    ) -> list[str]:
        """Write a node with `count` outputs, two or more; return their names."""
        name = self.unique_name(f"{self._where}_{kind.lower()}")
        made = [self.unique_name(f"{name}_{i}") for i in range(count)]
        self.nodes.append(self._helper.make_node(kind, list(inputs), made, name, **attributes))
        return made

    def constant(self, values: Any, dtype: Any = None) -> str:
        """Write an initializer, or reuse an equal one; return its name."""
        array = np.array(values, dtype, order="C")
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._known:
            name = self._known[key] = self.unique_name(f"{self._where}_constant")
            self.constants[name] = array
        return self._known[key]

    def ints(self, *values: int) -> str:
        """Write a constant int64 vector; return its name."""
        return self.constant(np.array(values, "int64"))

    def cast(self, value: str, dtype: Any) -> str:
        """Write a Cast of `value` to another dtype."""
        to = self._helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.emit("Cast", [value], to=to)

    def rename_values(self, begin: int, names: dict[str, str]) -> None:
        """Rename values in the nodes from index `begin` on: {old: new}."""
        for node in self.nodes[begin:]:
            node.input[:] = [names.get(each, each) for each in node.input]
            node.output[:] = [names.get(each, each) for each in node.output]

    def reshape(self, value: str, shape: Sequence[int]) -> str:
        """Write a Reshape of `value`; 0 copies a length, -1 is inferred."""
        return self.emit("Reshape", [value, self.ints(*shape)])

    def transpose(self, value: str, axes: Iterable[int]) -> str:
        """Write a Transpose of `value`."""
        return self.emit("Transpose", [value], perm=list(axes))

    def squeeze(self, value: str, *axes: int) -> str:
        """Write a Squeeze of axes of length 1."""
        return self.emit("Squeeze", [value, self.ints(*axes)])

    def unsqueeze(self, value: str, *axes: int) -> str:
        """Write an Unsqueeze, which inserts axes of length 1."""
        return self.emit("Unsqueeze", [value, self.ints(*axes)])

    def emit_slice(self, value: str, axis: int, begin: int, end: int) -> str:
        """Write a Slice of `value` from `begin` to `end` of an axis."""
        at = [self.ints(begin), self.ints(end), self.ints(axis)]
        return self.emit("Slice", [value, *at])


def to_channels_first(g: Graph, c: OpNode, layout: str | None) -> tuple[str, Callable[[str], str]]:
    """Move the channels of the data to axis 1; also return a function that moves a result back."""
    n = len(c.shapes[0])
    if layout in (None, "NCW", "NCHW", "NCDHW"):
        return c.inputs[0], lambda value: value
    to, back = [0, n - 1, *range(1, n - 1)], [0, *range(2, n), 1]
    return g.transpose(c.inputs[0], to), lambda value: g.transpose(value, back)
