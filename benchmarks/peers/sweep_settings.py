"""How operators.py calls each operator: small, from the tests' cases, and large.

Large is a case of the tests enlarged where all its inputs have one shape or broadcast to it, else a
row of LARGE (sweep_large.py). An operator that is new in the registry is measured small by itself,
and large with a row there.
"""

import numpy as np
from sweep_large import LARGE, MATRIX, SIDE

from cynet.operator import OPERATORS
from tests.operator.cases import all_cases
from tests.operator.cases.case import Input

ELEMENTWISE = ("unary", "binary", "binary_scalar", "where_clip", "add_n", "smooth_l1", "cast")


class Setting:
    """One call of one operator: arrays, how many of them are states, parameters."""

    def __init__(self, op, inputs, params, states=()):
        self.op, self.params, self.states = op, params, len(states)
        rng = np.random.default_rng(0)
        self.arrays = [
            (each if isinstance(each, Input) else Input(each, _normal)).make(rng, "float32")
            for each in (*inputs, *states)
        ]

    @property
    def differentiable(self):
        """Whether there is a gradient to measure."""
        prop = OPERATORS.get(self.op).prop
        floats = [x for x in self.arrays[: len(self.arrays) - self.states] if x.dtype.kind == "f"]
        return prop.differentiable and bool(floats)


def _normal(rng, shape):
    return rng.standard_normal(shape)


def operators():
    """Name to family of every operator of cynet's own."""
    found = {}
    for name, entry in OPERATORS.items():
        parts = entry.prop.__module__.split(".")
        if name == entry.name and parts[:2] == ["cynet", "operator"] and len(parts) > 3:
            found[name] = parts[2]
    return found


def _enlarged(case):
    """The inputs of an elementwise case as matrices; None where their shapes differ."""
    entry = OPERATORS.get(case.op)
    module = entry.prop.__module__.rpartition(".")[2]
    shapes = [each.shape for each in case.inputs]
    if module == "broadcast" and len(shapes) == 2:
        wanted = [MATRIX, (1, SIDE)]
    elif module in ELEMENTWISE and len(set(shapes)) == 1:
        wanted = [MATRIX] * len(shapes)
    else:
        return None
    if any(isinstance(each.domain, np.ndarray) for each in case.inputs):
        return None
    return [Input(s, each.domain, each.dtype) for s, each in zip(wanted, case.inputs)]


def settings():
    """(operator, "small" or "large") to a function that makes its Setting."""
    found = {}
    for case in all_cases():
        if case.op not in OPERATORS or "float32" not in case.dtypes:
            continue
        name = OPERATORS.get(case.op).name
        if (name, "small") not in found:
            found[name, "small"] = lambda name=name, c=case: Setting(
                name, c.inputs, c.params, c.aux
            )
            inputs = _enlarged(case)
            if inputs is not None:
                found[name, "large"] = lambda name=name, c=case, i=inputs: Setting(
                    name, i, c.params
                )
    for name, (inputs, params, *states) in LARGE.items():
        if name in OPERATORS:
            found[name, "large"] = lambda n=name, i=inputs, p=params, s=states: Setting(n, i, p, *s)
    return found
