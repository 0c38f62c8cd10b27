"""What modules keep for input shapes that they were bound for, as a PlanCache takes it."""

import numpy as np


class Bound:
    """Executors; `nbytes` is what they and the arrays of their inputs take, `kept` what they share
    with others."""

    def __init__(self, execs, inputs):
        self.execs = execs
        arrays = [each.arg_dict[name] for each in execs for name in inputs]
        self._own_bytes = sum(each.size * np.dtype(each.dtype).itemsize for each in arrays)

    @property
    def nbytes(self):
        return self._own_bytes + sum(each.nbytes for each in self.execs)

    @property
    def kept(self):
        return [kept for each in self.execs for kept in each.kept]


class Bucket:
    """The module of a bucket; `nbytes` is what its executors take, `kept` what they share with
    others."""

    def __init__(self, module):
        self.module = module

    @property
    def nbytes(self):
        return self.module._exec_group.nbytes

    @property
    def kept(self):
        return self.module._exec_group.kept
