"""FusedOptimizer: optimizers whose step is one of the update rules in kernels/update/update.h."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core.sparse_kind import dense_of
from ..base.dtype import is_narrow
from ..base.errors import UndefinedError
from ..ndarray import zeros_like
from ..ndarray.sparse.convert import dense_for_update, values_of_all_rows
from ..ndarray.sparse.through_host import update_by_rows
from ..operator.update.rows import any_sparse
from ._joined import JoinedUpdate
from .base import Optimizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import NDArray, State


class FusedOptimizer(Optimizer):
    """Base of optimizers whose step is native code for all weights of a call together.

    A subclass names the rule and says what goes in besides gradients: ``_rule_name``, ``_n_states``
    (arrays for a weight) or ``_update_rule(state)`` and ``create_state``; ``_rule_params(count)``
    and, where it is not the learning rate itself, ``_rule_rate(lr, count)``. ``count`` is the
    number of updates of the weight, from 1.
    """

    _rule_name, _n_states = None, 0
    _norm_rule = None  # argument `norm` of JoinedUpdate, on CPUs only

    _takes_lists = False
    # MXNet's SGD calls _get_lrs and _update_count with lists of indices
    _asks_for_lists = False
    _keeps_masters = False  # whether the rule supports float32 copies of weights
    _is_lazy = False  # whether a row_sparse gradient updates its rows only
    _joined = None  # tuple of weights' indices -> JoinedUpdate

    def _update_rule(self, state):
        """Return the name of the update rule for a weight of this state."""
        if self._rule_name is None:
            raise UndefinedError(f"{type(self).__name__} defines no _rule_name")
        return self._rule_name

    def create_state(self, index: Any, weight: NDArray) -> State:
        states = tuple(zeros_like(weight) for _ in range(self._n_states))
        return states if len(states) > 1 else states[0] if states else None

    def _rule_params(self, count):
        """Return the rule's parameters, in the order of kernels/update/update.h."""
        return ()

    def _rule_params_per_weight(self, counts):
        """Return the rule's parameters for each of several weights."""
        if counts.count(counts[0]) == len(counts):
            return [self._rule_params(counts[0])] * len(counts)
        return [self._rule_params(count) for count in counts]

    def _rule_rate(self, lr, count):
        """Return the learning rate that the rule gets."""
        return lr

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: State) -> None:
        """Update one weight by a step that the engine runs asynchronously."""
        own = self._has_user_methods()
        if isinstance(index, (list, tuple)):
            arrays = list(weight), list(grad), list(state)
            self._update_jointly(list(index), *arrays, False, own)
        else:
            self._update_jointly([index], [weight], [grad], [state], False, own)

    def update_multi_precision(
        self, index: Any, weight: NDArray, grad: NDArray, state: State
    ) -> None:
        if (
            isinstance(index, (list, tuple))
            and not self.has_override("update")
            and self._can_fuse_updates(weight)
        ):
            arrays = list(weight), list(grad), list(state)
            own = self._has_user_methods()
            self._update_jointly(list(index), *arrays, self.multi_precision, own)
        else:
            super().update_multi_precision(index, weight, grad, state)

    def update_all(
        self,
        indices: Sequence[Any],
        weights: Sequence[NDArray],
        grads: Sequence[NDArray],
        states: Sequence[State],
    ) -> None:
        """Update several weights by one function that the engine runs asynchronously."""
        if self._has_user_methods() or not self._can_fuse_updates(weights):
            super().update_all(indices, weights, grads, states)
        else:
            arrays = list(weights), list(grads), list(states)
            self._update_jointly(list(indices), *arrays, self.multi_precision)

    def joined_update(self, indices, weights, grads, states):
        """Return the function that `update_all` would push, and its arguments."""
        plain = type(self).update_all is FusedOptimizer.update_all and not self._has_user_methods()
        if any_sparse(grads) or any_sparse(weights):
            return None
        if not (plain and indices and self._can_fuse_updates(weights)):
            return None
        arrays = list(weights), list(grads), list(states)
        return self._prepare_step(list(indices), *arrays, self.multi_precision)

    def _has_user_methods(self):
        """Return whether a user has overridden a method that a joint step does not call."""
        return bool(self._of_user or self._on_object)

    def _can_fuse_updates(self, weights):
        """Return whether one JoinedUpdate can update these weights."""
        if self._norm_rule is not None and weights and weights[0].context.device_type == "gpu":
            return False
        return self._keeps_masters or not (
            self.multi_precision and any(is_narrow(weight.dtype) for weight in weights)
        )

    def _update_jointly(self, indices, weights, grads, states, multi_precision, own=False):
        if any_sparse(grads) or any_sparse(weights):
            for each in zip(indices, weights, grads, states):
                self._update_one_sparse(*each, multi_precision, own)
        elif indices:
            joined, numbers = self._prepare_step(
                indices, weights, grads, states, multi_precision, own
            )
            joined(*numbers)

    def _update_one_sparse(self, index, weight, grad, state, multi_precision, own):
        """Update the gradient's rows, or all rows if the optimizer has no lazy update."""
        if grad.stype != "row_sparse" or not self._is_lazy:
            copies = []  # dense copies of sparse arrays, written back below
            arrays = [dense_for_update(weight, copies)], [dense_of(grad)]
            states = [dense_for_update(state, copies)]
            self._update_jointly([index], *arrays, states, multi_precision, own)
            for array, copy in copies:
                array[:] = copy
            return
        weight, state = values_of_all_rows(weight), values_of_all_rows(state)
        master = None
        if multi_precision and is_narrow(weight.dtype):
            master, state = self._swap_master_and_state(state)
        states = () if state is None else state if isinstance(state, tuple) else (state,)
        rates, decays, rescale, clip, numbers = self._next_step_settings([index], own)
        values, (rows,) = grad.parts()
        rule = self._update_rule(state)
        step = rates[0], decays[0], rescale, clip, tuple(numbers[0])
        update_by_rows(rule, weight, values, rows, tuple(states), master, *step)

    def _prepare_step(self, indices, weights, grads, states, multi_precision, own=False):
        """Count a step; return the JoinedUpdate of these arrays and the arguments of its call. With
        `multi_precision` states of narrow weights come from `create_state_multi_precision`; `own`:
        a user overrides steps of the optimizer."""
        if self._joined is None:
            self._joined = {}
        key = tuple(indices)
        joined = self._joined.get(key)
        if joined is None or not joined.is_made_for(weights, grads, states):
            has_master = multi_precision and is_narrow(weights[0].dtype)
            rule = self._update_rule(
                self._swap_master_and_state(states[0])[1] if has_master else states[0]
            )
            joined = JoinedUpdate(
                rule, weights, grads, states, multi_precision, self._norm_rule, self._copy_is_last
            )
            self._joined[key] = joined
        return joined, self._next_step_settings(indices, own)

    def _next_step_settings(self, indices, own):
        """Count a step; return its learning rates, weight decays, gradient factor and clipping
        bound, and the rule's parameters."""
        if own and not self._asks_for_lists and len(indices) == 1:
            self._update_count(indices[0])
        else:
            self._update_count(indices)
        counts = [self._index_update_count[index] for index in indices]
        if own:
            rates, decays = self._rates_by_user_methods(indices)
        else:
            rates, decays = self._get_lrs(indices), self._get_wds(indices)
        if type(self)._rule_rate is not FusedOptimizer._rule_rate:
            rates = [self._rule_rate(lr, count) for lr, count in zip(rates, counts)]
        clip = -1.0 if self.clip_gradient is None else self.clip_gradient
        return rates, decays, self.rescale_grad, clip, self._rule_params_per_weight(counts)

    def _rates_by_user_methods(self, indices):
        """Return learning rates and weight decays by the methods that a user overrides."""
        found = []
        for one, several in (("_get_lr", "_get_lrs"), ("_get_wd", "_get_wds")):
            if self._asks_for_lists and (self.has_override(several) or not self.has_override(one)):
                found.append(getattr(self, several)(indices))
            else:
                found.append([getattr(self, one)(index) for index in indices])
        return found
