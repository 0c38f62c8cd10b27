"""What is common to metrics that are a figure of several sums."""

from __future__ import annotations

import math

import numpy as np

from ..base.guard import guarded
from .base import EvalMetric


@guarded
class _Summed(EvalMetric):
    """A metric computed from an array of sums; two sums are stored, one since ``reset_local``."""

    def reset(self):
        super().reset()
        self._local = self._global = self._zeros()

    def reset_local(self):
        super().reset_local()
        self._local = self._zeros()

    def _zeros(self):
        """What has seen nothing; the first sum counts."""
        return np.zeros(self._sums)

    def _join(self, one, other):
        return one + other

    def _take(self, sums):
        self._local, self._global = self._join(self._local, sums), self._join(self._global, sums)
        self._count()

    def _count(self):
        self.num_inst, self.global_num_inst = (
            float(np.ravel(each)[0]) if np.size(each) else 0 for each in (self._local, self._global)
        )

    def get(self):
        return self.name, self._figure(self._local) if self.num_inst else math.nan

    def get_global(self):
        return self.name, self._figure(self._global) if self.global_num_inst else math.nan

    def _shared(self):
        return self._global.tolist()

    def _take_shared(self, rows):
        self._global = self._zeros()
        for row in rows:
            self._global = self._join(self._global, np.array(row))
        self._local = self._global
        self._count()
