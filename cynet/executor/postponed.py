"""Executors run call by call, without a plan, for shapes that may not occur again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd import _walk
from ..base.dtype import name_of
from ..base.errors import ArgumentError, ArgumentTypeError, CynetError, ShapeError, shown
from ..base.observers import executor_observers
from ..graph.infer import infer_types
from ..ndarray import NDArray, zeros
from ..ndarray._tape import computed_by, get_state, mark_variable, set_state
from .arena_pool import allocate_for_use
from .call_by_call import is_call_by_call_due, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..typing import Shape
    from .arena_pool import ArenaLease

_MAX_SIGNATURES = 1000  # signatures of a graph
_PLAN_ATTRIBUTES = (  # attributes that exist once a plan is built
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


class PostponedPlan:  # base of Executor: first runs without a plan
    """Base class of Executor: runs without a plan for shapes that may not occur again.

    The plan is postponed only if the graph has a plan for other shapes. The first use of an
    attribute of the plan builds it (`__getattr__`). Where gradients are wanted, autograd records
    forward.
    """

    _inputs: Any  # the arrays of the CallByCall
    cached_results: list[Any]
    forward_on: Callable[..., bool]
    _calls: Any = None  # a CallByCall until the plan is built
    _recorded: ArenaLease | None = None  #  the outputs of the last forward

    def __getattr__(self, name: str) -> Any:
        if name in _PLAN_ATTRIBUTES and self._calls is not None:
            self._build_plan()
        return object.__getattribute__(self, name)

    def _needs_gradients(self) -> bool:
        return any(grad is not None for grad in self.grad_arrays)

    def _shapes_and_dtypes(self) -> tuple[tuple[Shape, Any], ...]:
        return tuple((each.shape, each.dtype) for each in (*self.arg_arrays, *self.aux_arrays))

    def _note_signature_has_plan(self) -> None:
        """Record that the signature has a plan now."""
        self._calls = self._inputs = None
        self._store_run_count(None)

    def _store_run_count(self, runs: int | None) -> None:
        """Store the number of call-by-call runs of the signature; None once it has a plan."""
        met = self._structure.met[self._needs_gradients()]
        met[self._shapes_and_dtypes()] = runs
        if len(met) > _MAX_SIGNATURES:
            met.pop(next(iter(met)))

    def _postpone_plan(self, inferred: tuple[Any, Any]) -> bool:
        """Return whether this executor begins without a plan; `inferred`: see Executor."""
        structure, shapes, trains = self._structure, inferred[0], self._needs_gradients()
        met = structure.met[trains]
        if not met or self._group2ctx or executor_observers:
            return False
        runs = met.get(self._shapes_and_dtypes(), 0)
        if shapes is None or runs is None or not is_call_by_call_due(runs):
            return False
        arrays = [*self.arg_arrays, *self.aux_arrays]
        names = [*self._arg_names, *self._aux_names]
        types = inferred[1]
        if types is None:
            known = {name: name_of(each.dtype) for name, each in zip(names, arrays)}
            types = infer_types(structure.heads, known, "float32", structure=structure)
        self._calls = calls = resolve(structure, names, shapes, types, arrays, self._ctx, trains)
        if calls is None or not is_call_by_call_due(runs, calls):
            self._calls = None
            return False
        self._inputs = [*self._arguments_as_leaves(), *self.aux_arrays] if trains else arrays
        self._types, self._watched, self.joins_steps, self.cached_results = types, False, False, []
        heads = [(*entry, shapes[entry], types[entry]) for entry in structure.heads]
        self.outputs = [
            allocate_for_use(
                f"'{node.output_name(i)}' of shape {shape}", zeros, shape, self._ctx, dtype
            )
            for node, i, shape, dtype in heads
        ]
        self.nbytes = calls.nbytes + sum(
            each.size * np.dtype(each.dtype).itemsize for each in self.outputs
        )
        return True

    def _arguments_as_leaves(self) -> list[NDArray]:
        """Return the arguments as leaves of autograd whose gradients are the bound ones."""
        views = [each.detach() for each in self.arg_arrays]
        for name, view, grad in zip(self._arg_names, views, self.grad_arrays):
            if grad is not None:
                mark_variable(view, grad, "add" if self._grad_req[name] == "add" else "write")
        return views

    def _run_call_by_call(
        self, sources: Sequence[NDArray], targets: Sequence[NDArray], is_train: bool
    ) -> bool:
        """Run `Executor.forward_on` operator by operator, as no plan is compiled yet."""
        trains, flags = self._needs_gradients(), get_state()
        runs = self._structure.met[trains].get(self._shapes_and_dtypes(), 0)
        if (
            flags
            or self._monitor is not None
            or runs is None
            or not is_call_by_call_due(runs, self._calls)
        ):
            self._build_plan()
            return self.forward_on(sources, targets, is_train)
        pairs = list(zip(sources, targets))
        if any(not isinstance(s, NDArray) or s.shape != t.shape for s, t in pairs):
            return False
        if self._constant_inputs is not None:
            self._constant_inputs.restore()
        for source, target in pairs:
            source.copyto(target)
        self._drop_recorded_outputs()
        set_state((1 if trains else 0) | (2 if is_train else 0))
        try:
            found = self._calls(self._inputs)
        finally:
            set_state(flags)
        for new, output in zip(found, self.outputs):
            new.copyto(output)
        if trains:
            lease = self._recorded = self._arena_pool.lease_outputs(self._me, found)
            lease.pending = bool(is_train)
        self._store_run_count(runs + 1)
        self.has_run, self._training = True, bool(is_train)
        return True

    def _drop_recorded_outputs(self) -> None:
        """Drop the outputs of the last forward that autograd recorded."""
        if self._recorded is not None:
            self._recorded.array, self._recorded.pending = None, False

    def _run_backward_of_calls(self, out_grads: Any) -> None:
        """Run `Executor.backward` after a forward without a plan."""
        place, names = self._recorded, self._symbol.list_outputs()
        if place is None or place.array is None:
            raise CynetError(
                "backward: what forward left is gone: a backward, or an executor that shares memory"
                " with this one, has run since; call forward again"
            )
        wanted = frozenset(name for name, grad in self.grad_dict.items() if grad is not None)
        taken = self._structure.calls.needs_head_gradients(wanted)
        shapes = [each.shape if takes else None for each, takes in zip(place.array, taken)]
        given = head_gradients(names, shapes, out_grads)
        heads = [pair for pair in zip(place.array, given) if computed_by(pair[0]) is not None]
        # after explicit gradients others may follow, such as the rows of a Jacobian
        again = out_grads is not None
        _walk.walk_back(*map(list, zip(*heads)), again, self._training)
        place.pending = False
        if not again:
            place.array = None


def head_gradients(
    names: Sequence[str], shapes: Sequence[Shape | None], given: Any
) -> list[NDArray | None]:
    """Return the arguments of `backward`, the gradients of the outputs, as a list.

    Parameters
    ----------
    names : list of str
        Of all outputs.
    shapes : list of tuple or None
        None: the output is a loss, which takes no gradient.
    given : NDArray, list or dict of NDArray, or None
        As ``Executor.backward`` takes it.

    Returns
    -------
    list of NDArray or None
        One an output; None for a loss.
    """
    if isinstance(given, dict):
        given = [given.get(name) for name in names]
    elif given is None:
        given = []
    else:
        given = list(given) if isinstance(given, (list, tuple)) else [given]
    if len(given) > len(names):
        raise ArgumentError(f"backward: {len(given)} out_grads for {len(names)} outputs")
    given += [None] * (len(names) - len(given))
    found: list[NDArray | None] = []
    for name, shape, grad in zip(names, shapes, given):
        if grad is not None and not isinstance(grad, NDArray):
            raise ArgumentTypeError(
                f"backward: out_grads of '{name}' must be an NDArray, got {shown(grad)}"
            )
        if shape is None:
            found.append(None)
            continue
        if grad is None:
            raise ArgumentError(
                f"backward: expected out_grads with the gradient of output '{name}', which "
                f"is not a loss, "
                f"an NDArray of shape {shape}; what `fit` trains ends in a loss, such as "
                "SoftmaxOutput or MakeLoss"
            )
        if grad.shape != shape:
            raise ShapeError(
                f"backward: out_grads of '{name}' has shape {grad.shape}, expected {shape}"
            )
        found.append(grad)
    return found
