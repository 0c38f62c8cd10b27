"""Gradients of a Trainer: summed over contexts and ranks; some may be missing."""

from __future__ import annotations

import numpy as np

from .. import kvstore as kvs
from .. import ndarray as nd
from .errors import StaleGradientError

_STALE_MESSAGE = (
    "the gradient of parameter '{}' on {} is that of an earlier step: no backward has set it since."
    " ignore_stale_grad=True leaves such parameters as they are"
)


def stale_error(param, context):
    """Return the error for a gradient that no backward has set since the last step."""
    return StaleGradientError(_STALE_MESSAGE.format(param.name, context))


class TrainerGradients:  # base of Trainer: sums gradients over devices
    """Base of Trainer: sums gradients over contexts and ranks."""

    _is_step = False  # True in `step`, False in a call of `allreduce_grads`
    _are_fresh = False  # whether all gradients are of this step
    _joined = frozenset()  # names of parameters with a gradient of this step

    def _check_gradients_are_fresh(self):
        for each in self._params:
            if each._grad_req != "null":
                for array in each._data_of_contexts():
                    if not array._fresh_grad:
                        raise stale_error(each, array.context)

    def _allreduce_for_step(self, all_are_fresh):
        """Call `_allreduce_grads` for `step`, which skips parameters without a gradient."""
        self._is_step, self._are_fresh = True, all_are_fresh
        try:
            self._allreduce_grads()
        finally:
            self._is_step = self._are_fresh = False

    def _allreduce_grads(self):
        """Sum the gradients over contexts, directly or by the KVStore; a subclass may sum them over
        machines."""
        if self._kvstore is None and len(self._contexts) < 2:
            return
        together = {}  # gradients to sum over ranks in one call
        for i, name, each in self._gradients_to_sum():
            grads = each.list_grad()
            if self._kvstore is None:
                total = nd.add_n(*[g.as_in_context(grads[0].context) for g in grads])
                for grad in grads:
                    grad[:] = total
                continue
            if self._update_on_kvstore and self._is_user_store:
                self._kvstore.pushpull(name, grads, out=each._data_of_contexts(), priority=-i)
            elif isinstance(self._kvstore, kvs.DistKVStore):
                together[name] = grads
            elif self._update_on_kvstore:
                self._kvstore.push(name, grads, priority=-i)
            else:
                self._kvstore.pushpull(name, grads, grads, priority=-i)
        if together:
            self._push_pull_gradients(list(together), list(together.values()))

    def _push_pull_gradients(self, names, grads):
        """Sum gradients, a list for each name, by the KVStore of all ranks."""
        if self._update_on_kvstore:
            self._kvstore.push(names, grads)
        else:
            self._kvstore.sum_up(names, grads, optimizer=self._optimizer)

    def _gradients_to_sum(self):
        """Return (index, name, Parameter) of the parameters whose gradients are summed.

        A gradient that only a part of the contexts or ranks has set is the sum of theirs: it
        becomes 0 on the others, which take the step, too, so that all copies stay equal.
        """
        rows = [
            (i, name, each)
            for i, (name, each) in enumerate(zip(self._names, self._params))
            if each._grad_req != "null"
        ]
        if self._are_fresh:
            return rows
        fresh = [[array._fresh_grad for array in each._data_of_contexts()] for _, _, each in rows]
        are_some = np.array([any(each) for each in fresh], np.int64)
        if isinstance(self._kvstore, kvs.DistKVStore) and self._kvstore.num_workers > 1:
            all_ranks = self._kvstore._world
            are_some = all_ranks.allreduce(are_some, "which gradients are of this step")
        joined, chosen = set(), []
        for row, own, is_some in zip(rows, fresh, are_some):
            if is_some:
                joined.add(row[1])
                for grad, is_fresh in zip(row[2].list_grad(), own):
                    if not is_fresh:
                        grad[:] = 0
            if is_some or not self._is_step:  # gradients set by hand are not marked
                chosen.append(row)
        self._joined = joined
        return chosen
