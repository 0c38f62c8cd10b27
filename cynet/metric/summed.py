"""Base of metrics that are computed from several sums."""

from __future__ import annotations

import math

import numpy as np

from ..base.guard import guarded
from .base import EvalMetric


@guarded
class _SumMetric(EvalMetric):  # base of metrics computed from an array of sums
    """Base of metrics computed from an array of sums, since ``reset`` and ``reset_local``."""

    def reset(self):
        super().reset()
        self._local = self._global = self._initial_sums()

    def reset_local(self):
        super().reset_local()
        self._local = self._initial_sums()

    def _initial_sums(self):
        """Return the sums without data; the first sum is the count of examples."""
        return np.zeros(self._number_of_sums)

    def _merge_sums(self, one, other):
        return one + other

    def _add_sums(self, sums):
        self._local, self._global = (
            self._merge_sums(self._local, sums),
            self._merge_sums(self._global, sums),
        )
        self._update_num_inst()

    def _update_num_inst(self):
        self.num_inst, self.global_num_inst = (
            float(np.ravel(each)[0]) if np.size(each) else 0 for each in (self._local, self._global)
        )

    def get(self):
        return self.name, self._compute_value(self._local) if self.num_inst else math.nan

    def get_global(self):
        return self.name, self._compute_value(self._global) if self.global_num_inst else math.nan

    def _state_of_this_rank(self):
        return self._global.tolist()

    def _merge_rank_states(self, rows):
        self._global = self._initial_sums()
        for row in rows:
            self._global = self._merge_sums(self._global, np.array(row))
        self._local = self._global
        self._update_num_inst()
