"""The layout pass: stores arrays between convolutions in channels-last order.

Convolutions, and the operators between them, are fastest on memory ordered (N, *size, C). A step
whose operator prefers that order (GraphHooks.channels_last_form) gets its inputs in it, the
steps after it keep the order as long as they can, and everything else is row-major. Where the two
orders meet, the pass inserts a step that reorders, one per value and order. It runs before the
gradient pass, so a gradient has the order of its value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...operator import get_operator
from ...operator.graph_hooks import GraphHooks
from ...operator.tensor.memory_format import PERMUTABLE
from ..ir import ARG, FORWARD, OUTPUT, TEMP, WRITE, Step, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...typing import Shape
    from ..ir import Graph

VIEW_HOOKS = GraphHooks(view=True)  # a reorder that does not move bytes


class _ColumnsAsChannels(get_operator("_channels_last").prop):  # type: ignore[misc]  # compiled
    """A view of data (N, 1, H, W) as (N, W, H, 1) in channels-last order: the same bytes."""

    def infer_shape(self, in_shapes: list[Any], out_shapes: list[Any]) -> tuple[Sequence[Any], ...]:
        batch, _, height, width = in_shapes[0]
        return in_shapes, [(batch, width, height, 1)], []


def choose_layouts(graph: Graph) -> Graph:
    """Choose the memory order of the values of `graph`: row-major or channels-last.

    graph: Forward steps only.

    Returns Graph: the same graph; steps have the properties of the order they work in.
    """
    return _LayoutPass(graph).run()


class _LayoutPass:  # chooses row-major or channels-last order
    """One run of the layout pass."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.steps: list[Step] = []
        # (value, memory order) -> its copy in that order
        self.ordered: dict[tuple[Value, bool | str], Value] = {}

    def run(self) -> Graph:
        for step in self.graph.steps:
            self._convert_step_layout(step)
        self.graph.set_forward_steps(self.steps)
        return self.graph

    def _convert_step_layout(self, step: Step) -> None:
        self._use_columns_as_channels(step)
        self._transpose_weight(step)
        form = self._channels_last_form(step)
        # a matrix has only one order
        if form is not None and len(step.in_data[0].shape) == 2:
            step.prop = form[0]
            self.steps.append(step)
            return
        prop, inputs = (step.prop, ()) if form is None else form
        step.in_data = [
            v if i in prop.graph.traits.shape_only else self._reordered_value(v, i in inputs)
            for i, v in enumerate(step.in_data)
        ]
        step.prop = prop
        self.steps.append(step)
        if form is None:
            return
        rank = len(step.in_data[0].shape)
        for position, value in enumerate(step.out_data):
            if len(value.shape) != rank:
                continue
            if value.kind == OUTPUT:  # users see row-major memory
                inner = Value(value.name, value.shape, value.dtype, value.ctx, TEMP, True)
                step.out_data[position] = inner
                self.ordered[value, True] = inner
                self.steps.append(self._make_reorder_step(inner, value))
            else:
                value.channels_last = True

    def _use_columns_as_channels(self, step: Step) -> None:
        """Use the columns as channels if a convolution of one channel has a window as wide as its
        data (the words of a sentence): the bytes have that order already. Return whether it
        applies."""
        prop = self._columns_as_channels_prop(step)
        if prop is None:
            return
        data, weight = (self._reordered_value(v, False) for v in step.in_data[:2])
        key = data, "columns"
        if key not in self.ordered:
            batch, _, height, width = data.shape
            turned = self._temporary_like(data, "columns", (batch, width, height, 1), True)
            move = _ColumnsAsChannels()
            if data.kind != ARG:
                move.graph = VIEW_HOOKS
            self.steps.append(self._make_step(f"{data.name}_columns", move, data, turned))
            self.ordered[key] = turned
        filters, _, height, width = weight.shape
        turned = self._temporary_like(weight, "columns", (filters, width, height, 1), False)
        transpose = get_operator("transpose").prop(axes=(0, 3, 2, 1))
        self.steps.append(self._make_step(f"{weight.name}_columns", transpose, weight, turned))
        step.prop, step.in_data = prop, [self.ordered[key], turned, *step.in_data[2:]]

    def _transpose_weight(self, step: Step) -> None:
        """Use channels-last data of the user directly. A step of its own transposes the
        convolution's weight, so that later passes may cache the result."""
        prop = self.graph.call_hook("weight_first_form", step)
        if prop is None:
            return
        weight = self._reordered_value(step.in_data[1], False)
        key = weight, "channels first"
        if key not in self.ordered:
            filters, *size, channels = weight.shape
            turned = self._temporary_like(weight, "first", (filters, channels, *size), False)
            axes = (0, len(size) + 1, *range(1, len(size) + 1))
            transpose = get_operator("transpose").prop(axes=axes)
            self.steps.append(self._make_step(f"{weight.name}_first", transpose, weight, turned))
            self.ordered[key] = turned
        step.prop, step.in_data = prop, [step.in_data[0], self.ordered[key], *step.in_data[2:]]

    def _columns_as_channels_prop(self, step: Step) -> Any:
        shapes, types = [v.shape for v in step.in_data], [v.dtype for v in step.in_data]
        prop = step.prop.graph.columns_as_channels_form(step.prop, shapes)
        if prop is None:
            return None
        turned = [(n, width, height, 1) for n, _, height, width in shapes[:2]] + shapes[2:]
        return prop if prop.graph.channels_last_form(prop, turned, types) else None

    def _channels_last_form(self, step: Step) -> tuple[Any, list[int]] | None:
        """Return (property, indices of inputs) of a step in channels-last order, or None."""
        if not step.in_data or len(step.in_data[0].shape) < 2:
            return None
        if any(v.dtype not in PERMUTABLE for v in step.in_data):
            return None
        form: tuple[Any, list[int]] | None = self.graph.call_hook("channels_last_form", step)
        if form is None or form[0].graph.traits.prefers_channels_last:
            return form
        return form if any(self._is_channels_last(step.in_data[i]) for i in form[1]) else None

    def _is_channels_last(self, value: Value) -> bool:
        return value.channels_last or len(value.shape) == 2 or (value, True) in self.ordered

    def _reordered_value(self, value: Value, channels_last: bool) -> Value:
        if value.channels_last == channels_last:
            return value
        key = value, channels_last
        if key not in self.ordered:
            order = "last" if channels_last else "first"
            other = self._temporary_like(value, order, value.shape, channels_last)
            self.steps.append(self._make_reorder_step(value, other))
            self.ordered[key] = other
        return self.ordered[key]

    def _make_reorder_step(self, source: Value, target: Value) -> Step:
        prop = get_operator("_channels_last").prop(to_last=target.channels_last)
        _, channels, *size = source.shape
        # with one channel or one pixel both orders are the same bytes
        if source.kind != ARG and (channels == 1 or all(n == 1 for n in size)):
            prop.graph = VIEW_HOOKS
        return self._make_step(f"{source.name}_reorder", prop, source, target)

    @staticmethod
    def _temporary_like(value: Value, suffix: str, shape: Shape, channels_last: bool) -> Value:
        """Make a temporary on the device of `value`."""
        return Value(f"{value.name}_{suffix}", shape, value.dtype, value.ctx, TEMP, channels_last)

    @staticmethod
    def _make_step(name: str, prop: Any, source: Value, target: Value) -> Step:
        return Step(name, prop, source.ctx, FORWARD, [source], [target], [], [WRITE])
