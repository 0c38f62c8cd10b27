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


FORWARD, BACKWARD = "forward", "backward"  # directions of a step
NULL, WRITE, INPLACE, ADD = 0, 1, 2, 3  # the codes of OpReq in _typedefs.pxd

# Kinds of values, which determine the owner and the lifetime of their memory.
ARG, AUX, GRAD, HEAD, OUTPUT, TEMP = "arg", "aux", "grad", "head", "output", "temp"  # value kinds
CONST, CACHED, SAVED = "const", "cached", "saved"  # other kinds of values


class CachedStepGroup:  # steps that run only if what they read has changed
    """Steps that run together, only if an array that they read was written since the last run.

    sources: The arguments and auxiliary states that they read, without constants.
    """

    def __init__(self, sources: Iterable[Value]) -> None:
        self.sources = list(dict.fromkeys(v for v in sources if v.kind != CONST))


def depends_on_inputs_only(step: Step) -> bool:
    """Return whether a forward step gives the same bytes for the same inputs, without side
    effects."""
    return not step.aux and is_repeatable(step)


def is_repeatable(step: Step) -> bool:
    """Return whether a forward step may run again before backward: it gives the same bytes, and
    does not write its auxiliary states."""
    if not step.prop.pure or (step.aux and step.prop.graph.traits.moves_states):
        return False
    requests = step.prop.forward_resource([v.shape for v in step.in_data])
    return ResourceRequest.random not in requests


class Graph:
    """The steps of a plan, and the values that are the user's arrays.

    steps: Forward steps first; `n_forward` of them.
    args, auxs, grads: The values by name; `grads` only those requested.
    heads: Gradients of the outputs that the user passes to backward, one per output.
    constant_steps: Steps that run once, at bind; they compute the values of kind ``const``.
    memory: The MemoryReport of the memory pass.
    saved: Bytes of the values of kind ``saved``.
    hook_results: The results of `call_hook`, by hook and arguments.
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

    def set_forward_steps(self, steps: Iterable[Step]) -> None:
        """Replace all steps by the forward steps `steps`."""
        self.steps = list(steps)
        self.n_forward = len(self.steps)

    def call_hook(self, hook: str, step: Step, *more: Any) -> Any:
        """Return a hook's result for a step's property and inputs; computed once for equal steps.

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

    def readers_and_writers(self) -> tuple[dict[Value, list[Step]], dict[Value, Step]]:
        """Return two dicts: value -> steps that read it, and value -> step that writes it."""
        readers: dict[Value, list[Step]] = {}
        writer: dict[Value, Step] = {}
        for step in self.steps:
            for value in step.in_data:
                readers.setdefault(value, []).append(step)
            writer.update((value, step) for value in step.out_data)
        return readers, writer

    def updated_states(self) -> set[Value]:
        """Return the set of auxiliary states that forward may write."""
        return {v for step in self.steps if step.prop.graph.traits.moves_states for v in step.aux}

    def cached_values(self) -> list[Value]:
        """Return the values of kind ``cached``, in the order of the steps."""
        made = [v for step in self.steps if step.cached is not None for v in step.out_data]
        return [v for v in made if v.kind == CACHED]
