"""GPU forms of the optimizers' updates: one launch each."""

import ctypes
from math import prod

from ..update.update import UpdateProperty
from .kernel_args import C_TYPES
from .launch_program import launch_form
from .launch_steps import ADD, AUX, IN, NULL, OUT, launch_each


class KernelArgs(ctypes.Structure):  # hyperparameters of an update
    """Hyperparameters of an update (``KernelArgs`` of update.cu)."""

    _fields_ = [(name, ctypes.c_double) for name in ("lr", "wd", "rescale", "clip", *"abcdef")]
    _fields_ += [("now", ctypes.c_void_p)]  # address of parameters that replace these, or null


@launch_form(UpdateProperty)
def update_form(prop, shapes, types, forward, backward):
    n, kind = prod(shapes[0]), C_TYPES[types[0]]
    numbers = (*prop.rule_parameters(), 0.0, 0.0, 0.0, 0.0, 0.0)[:5]
    params = KernelArgs(prop.lr, prop.wd, prop.rescale_grad, prop.clip_bound, *numbers)
    count = len(prop.states) - prop.master  # the float32 master weight is the last state
    states = [AUX[i] if i < count else NULL for i in range(3)]
    exact = AUX[count] if prop.master else NULL
    computed = "double" if kind == "double" else "float"
    types = f"{kind}, float" if prop.master else f"{kind}, {kind}"
    master = "true" if prop.master else "false"
    name = f"update<cynet::{prop.rule}, {types}, {computed}, {master}>"
    arrays = IN[0], IN[1], OUT[0], *states, exact
    forward += launch_each(n, "update", name, *arrays, params, n, ADD)
