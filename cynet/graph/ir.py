"""The graph that the passes transform: steps over values, in the order in which they run.

A `Graph` is made from a Symbol by `build`, extended by `gradient`, and given memory by `memory`;
the executor turns it into native tables. Every pass takes a Graph and returns one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..operator.property import ResourceRequest
from .steps import Step as Step
from .steps import Value as Value

if TYPE_CHECKING:
    from collections.abc import Iterable


FORWARD, BACKWARD = "forward", "backward"
NULL, WRITE, INPLACE, ADD = 0, 1, 2, 3  # OpReq, as _typedefs.pxd has it

# Kinds of values: the owner of the memory and its lifetime.
ARG, AUX, GRAD, HEAD, OUTPUT, TEMP = "arg", "aux", "grad", "head", "output", "temp"
CONST, CACHED, SAVED = "const", "cached", "saved"


class CachedGroup:
    """Steps that run together, and only when one of the arrays they depend on was written since.

    sources: Arguments and auxiliary states; what is constant is left out.
    """

    def __init__(self, sources: Iterable[Value]) -> None:
        self.sources = list(dict.fromkeys(v for v in sources if v.kind != CONST))


def depends_on_inputs_only(step: Step) -> bool:
    """True when a forward step gives the same bytes for the same inputs, and does nothing else."""
    return not step.aux and repeatable(step)


def repeatable(step: Step) -> bool:
    """True when a forward step may be run again before backward: it gives the same bytes, and
    leaves its auxiliary states alone."""
    if not step.prop.pure or (step.aux and step.prop.graph.traits.moves_states):
        return False
    requests = step.prop.forward_resource([v.shape for v in step.in_data])
    return ResourceRequest.random not in requests


class Graph:
    """Steps and the values that users see.

    steps: Forward steps first; `n_forward` of them.
    args, auxs, grads: By name; `grads` only those asked for.
    heads: Gradients of the outputs that backward needs from outside, one per output.
    constant_steps: What is run once, before everything else; it makes the values of kind ``const``.
    memory: What the memory pass found.
    saved: Bytes of the values of kind ``saved``.
    asked: What `ask` has found.
    """

    def __init__(
        self,
        steps: list[Step],
        args: dict[str, Value],
        auxs: dict[str, Value],
        outputs: list[Value],
    ) -> None:
        self.steps = steps
        self.n_forward = len(steps)
        self.args = args
        self.auxs = auxs
        self.outputs = outputs
        self.grads: dict[str, Value] = {}
        self.heads: list[Value | None] = [None] * len(outputs)
        self.constant_steps: list[Step] = []
        self.memory: Any = None
        self.saved = 0
        self.hook_results: dict[Any, Any] = {}

    def set_forward(self, steps: Iterable[Step]) -> None:
        """Replace all steps by `steps`, the result of a pass before the gradient pass."""
        self.steps = list(steps)
        self.n_forward = len(self.steps)

    def ask(self, hook: str, step: Step, *more: Any) -> Any:
        """The answer of a hook for a step's property and inputs; computed once for equal steps.

        hook: Name of a method of GraphHooks that takes the property, shapes and dtypes.
        step: A forward step.
        *more: Further arguments of the hook.
        """
        prop = step.prop
        shapes, types = [v.shape for v in step.in_data], [v.dtype for v in step.in_data]
        key = hook, prop, *shapes, *types, *more
        found = self.hook_results.get(key, self)
        if found is self:
            found = self.hook_results[key] = getattr(prop.graph, hook)(prop, shapes, types, *more)
        return found

    def neighbours(self) -> tuple[dict[Value, list[Step]], dict[Value, Step]]:
        """(readers, writer): value to the steps that read it, and to the step that writes it."""
        readers: dict[Value, list[Step]] = {}
        writer: dict[Value, Step] = {}
        for step in self.steps:
            for value in step.in_data:
                readers.setdefault(value, []).append(step)
            writer.update((value, step) for value in step.out_data)
        return readers, writer

    def moved_states(self) -> set[Value]:
        """The set of auxiliary states that running forward may write."""
        return {v for step in self.steps if step.prop.graph.traits.moves_states for v in step.aux}

    def cached_values(self) -> list[Value]:
        """Values with memory of their own that stay from run to run, in the order of the steps."""
        made = [v for step in self.steps if step.cached is not None for v in step.out_data]
        return [v for v in made if v.kind == CACHED]
