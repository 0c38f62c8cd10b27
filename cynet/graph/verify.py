"""Invariants of graphs, checked after each pass with ``CYNET_GRAPH_VERIFY=1``.

A pass that breaks one of these rules would give wrong numbers much later, in another step.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ..base.errors import CynetError, ShapeError
from ..operator.checks.shapes import known_shape, plain_shape
from ..operator.property import is_known
from .ir import ADD, ARG, AUX, FORWARD, GRAD, HEAD, INPLACE, NULL, TEMP, WRITE
from .memory_plan import nbytes

if TYPE_CHECKING:
    from collections.abc import Container
    from typing import NoReturn

    from .ir import Graph, Step, Value

    MemoryRange = tuple[int, int, str, int]  # first byte, end, name, id of the root


_INPUT_KINDS = (ARG, AUX, GRAD, HEAD)  # kinds of values that no step needs to write
# property -> the shapes and dtypes of its last inference
_inferred_of_property: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # last shapes, dtypes


def verify(graph: Graph, after: str) -> None:
    """Check the invariants of `graph`; `after` names the pass that made it.

    - Each value is written before it is read, and only once; later steps may add to it.
    - The lists of a step are as long as its property says; gradients are like their values.
    - Shapes and dtypes are those that the property infers.
    - Every output is computed.

    Raises CynetError: naming the step, the value and `after`.
    """
    if not 0 <= graph.n_forward <= len(graph.steps):
        raise CynetError(f"{after} leaves {graph.n_forward} of {len(graph.steps)} steps forward")
    made: set[Value] = set()  # roots that are written so far
    own: set[Value] = set()  # values that are written so far
    for step in (*graph.constant_steps, *graph.steps):
        if step.direction == FORWARD:
            _check_forward(step, after)
        else:
            _check_backward(step, after)
        for value in step.read():
            if value.root.kind not in _INPUT_KINDS and value.root not in made:
                _raise_step_error(after, step, value, "reads it before it is written")
        for position, value in step.written():
            if step.req[position] not in (WRITE, INPLACE, ADD):
                _raise_step_error(after, step, value, f"has request {step.req[position]} for it")
            if value in own and step.req[position] != ADD:
                _raise_step_error(after, step, value, "writes it a second time")
            own.add(value)
            made.add(value.root)
    if any(step.direction != FORWARD for step in graph.steps[: graph.n_forward]):
        raise CynetError(f"{after} leaves a backward step among the forward steps")
    for value in graph.outputs:
        if value.root not in made:
            raise CynetError(f"{after} leaves no step that computes {value!r}")


def _raise_step_error(after: str, step: Step, value: Value, words: str) -> NoReturn:
    raise CynetError(f"{after} leaves {step!r} wrong: it {words}: {value!r}")


def _check_forward(step: Step, after: str) -> None:
    prop, aux = step.prop, len(step.prop.list_auxiliary_states())
    lengths = len(step.in_data), len(step.out_data), len(step.aux), len(step.req)
    outputs = len(prop.list_outputs())
    expected = len(prop.list_arguments()), outputs, aux, outputs
    if lengths != expected:
        raise CynetError(
            f"{after} leaves {step!r} with {lengths} inputs, outputs, states and requests, "
            f"expected {expected}"
        )
    if prop.users or not prop.pure:  # a user's code must run only once
        return
    shapes = tuple(v.shape for v in step.in_data), tuple(v.shape for v in step.out_data)
    types = tuple(v.dtype for v in step.in_data), tuple(v.dtype for v in step.out_data)
    if _inferred_of_property.get(prop) == (shapes, types):
        return
    try:
        found = prop.infer_shape([known_shape(s) for s in shapes[0]], [None] * outputs)[1]
    except ShapeError as error:
        raise CynetError(f"{after} leaves {step!r} with inputs {shapes[0]}: {error}") from error
    kinds = prop.infer_type(list(types[0]), [None] * outputs)[1]
    for value, shape, kind in zip(step.out_data, found, kinds):
        if is_known(shape) and plain_shape(shape) != value.shape:
            _raise_step_error(after, step, value, f"makes the shape {plain_shape(shape)}")
        if kind not in (None, value.dtype):
            _raise_step_error(after, step, value, f"makes {kind}")
    _inferred_of_property[prop] = shapes, types


def _check_backward(step: Step, after: str) -> None:
    origin = step.origin or step
    for values, like in ((step.in_grad, origin.in_data), (step.out_grad, origin.out_data)):
        if len(values) != len(like):
            raise CynetError(
                f"{after} leaves {step!r} with {len(values)} gradients of {len(like)} values"
            )
        for value, of in zip(values, like):
            if value is not None and (value.shape, value.dtype) != (of.shape, of.dtype):
                _raise_step_error(after, step, value, f"takes it for the gradient of {of!r}")
    if len(step.req) != len(step.in_grad):
        raise CynetError(f"{after} leaves {step!r} with {len(step.req)} requests")
    for request, value in zip(step.req, step.in_grad):
        if value is None and request != NULL:
            raise CynetError(f"{after} leaves {step!r} with a request for no gradient")


def verify_memory(graph: Graph, apart: Container[Step] = ()) -> None:
    """Check a memory plan: no two values that live at one step share bytes.

    graph: Behind the memory pass.
    apart: Steps whose values share memory with no others.

    Raises CynetError: naming the two values.
    """
    lives: dict[Value, tuple[int, int]] = {}
    for i, step in enumerate(graph.steps):
        begin, end = (0, len(graph.steps)) if step in apart else (i, i)
        for value in (*step.read(), *(v for _, v in step.written())):
            first, last = lives.get(value.root, (begin, end))
            lives[value.root] = min(first, begin), max(last, end)
    begins: dict[int, list[Value]] = {}
    ends: dict[int, list[Value]] = {}
    for root, (first, last) in lives.items():
        if root.kind == TEMP:
            if root.offset is None or not 0 <= root.offset <= graph.memory.planned - nbytes(root):
                raise CynetError(f"the memory pass puts {root!r} at {root.offset}")
            begins.setdefault(first, []).append(root)
            ends.setdefault(last + 1, []).append(root)
    living: list[MemoryRange] = []  # sorted (first byte, end, name, root) of live values
    for i in range(len(graph.steps) + 1):
        for root in ends.get(i, ()):
            del living[bisect_left(living, _memory_range(root))]
        for root in begins.get(i, ()):
            at = bisect_left(living, _memory_range(root))
            for other in living[max(at - 1, 0) : at + 1]:
                if other[0] < _memory_range(root)[1] and _memory_range(root)[0] < other[1]:
                    raise CynetError(
                        f"the memory pass gives {root!r} bytes of {other[2]}, which lives at step "
                        f"{i}, too"
                    )
            insort(living, _memory_range(root))


def _memory_range(root: Value) -> MemoryRange:
    return root.offset, root.offset + nbytes(root), root.name, id(root)
