"""Executors of shapes that may not come back: they run call by call before they have a plan."""

import numpy as np

from ..base.dtype import name_of
from ..base.observers import executor_steps
from ..graph.infer import infer_types
from ..ndarray import NDArray, zeros
from .arenas import made
from .call_by_call import due, resolved

_MOST_MET = 1000  # signatures of a graph
_OF_PLAN = (
    "_arena",
    "_arena_size",
    "_arrays",
    "_graph",
    "_heads",
    "_plan",
    "_slots",
    "_steps",
    "_takes_heads",
    "_waits",
)


class Postponed:
    """The part of an Executor that may have no plan yet.

    Only a prediction of a graph that has a plan for other shapes is postponed. What needs the plan
    makes it: `__getattr__` is asked for attributes that are not there.
    """

    _calls = None  # a CallByCall while there is no plan

    def __getattr__(self, name):
        if name in _OF_PLAN and self._calls is not None:
            self._build()
        return object.__getattribute__(self, name)

    def _signature(self):
        return tuple((each.shape, each.dtype) for each in (*self.arg_arrays, *self.aux_arrays))

    def _note_plan(self):
        """From now on there is a plan."""
        self._calls = None
        self._note(None)

    def _note(self, runs):
        """Note how often the signature was run call by call; None: it has a plan."""
        met = self._structure.met
        met[self._signature()] = runs
        if len(met) > _MOST_MET:
            met.pop(next(iter(met)))

    def _postpone(self, inferred):
        """Whether this executor has no plan to begin with; `inferred` as Executor takes it."""
        structure, shapes = self._structure, inferred[0]
        trains = any(grad is not None for grad in self.grad_arrays)
        if trains or not structure.met or self._group2ctx or executor_steps:
            return False
        runs = structure.met.get(self._signature(), 0)
        if shapes is None or runs is None or not due(runs):
            return False
        arrays = [*self.arg_arrays, *self.aux_arrays]
        names = [*self._arg_names, *self._aux_names]
        types = inferred[1]
        if types is None:
            known = {name: name_of(each.dtype) for name, each in zip(names, arrays)}
            types = infer_types(structure.heads, known, "float32", structure=structure)
        self._calls = calls = resolved(structure, names, shapes, types, arrays, self._ctx)
        if calls is None:
            return False
        self._types, self._watched, self.joins_steps, self.kept = types, False, False, []
        heads = [(*entry, shapes[entry], types[entry]) for entry in structure.heads]
        self.outputs = [
            made(f"'{node.output_name(i)}' of shape {shape}", zeros, shape, self._ctx, dtype)
            for node, i, shape, dtype in heads
        ]
        self.nbytes = calls.nbytes + sum(
            each.size * np.dtype(each.dtype).itemsize for each in self.outputs
        )
        return True

    def _run_calls(self, sources, targets, is_train):
        """What `Executor.forward_on` does, before there is a plan."""
        runs = self._structure.met.get(self._signature(), 0)
        if is_train or self._monitor is not None or runs is None or not due(runs):
            self._build()
            return self.forward_on(sources, targets, is_train)
        pairs = list(zip(sources, targets))
        if any(not isinstance(s, NDArray) or s.shape != t.shape for s, t in pairs):
            return False
        if self._pins is not None:
            self._pins.restore()
        for source, target in pairs:
            source.copyto(target)
        for new, output in zip(self._calls([*self.arg_arrays, *self.aux_arrays]), self.outputs):
            new.copyto(output)
        self._note(runs + 1)
        self.has_run, self._training = True, False
        return True
