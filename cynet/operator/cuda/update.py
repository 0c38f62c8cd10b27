"""GPU forms of the optimizers' updates: one launch each."""

import ctypes
from math import prod

from ..update.update import UpdateProperty
from .kernel_args import C_TYPES
from .launch_program import Steps, operator
from .launch_steps import ADD, AUX, IN, NULL, OUT, each
from .registry import form


class Numbers(ctypes.Structure):
    """Hyperparameters of an update (``KernelArgs`` of update.cu)."""

    _fields_ = [(name, ctypes.c_double) for name in ("lr", "wd", "rescale", "clip", *"abcdef")]
    _fields_ += [("now", ctypes.c_void_p)]  # where other ones are to be read, or null


@form(UpdateProperty)
def update(prop, shapes, types, device):
    n, kind = prod(shapes[0]), C_TYPES[types[0]]
    numbers = (*prop.numbers(), 0.0, 0.0, 0.0, 0.0, 0.0)[:5]
    params = Numbers(prop.lr, prop.wd, prop.rescale_grad, prop.clip, *numbers)
    count = len(prop.states) - prop.master  # the master is the last state
    states = [AUX[i] if i < count else NULL for i in range(3)]
    exact = AUX[count] if prop.master else NULL
    computed = "double" if kind == "double" else "float"
    of_states = "float" if prop.master else kind
    master = "true" if prop.master else "false"
    forward = Steps()
    forward += each(
        n,
        "update",
        f"update<cynet::{prop.rule}, {kind}, {of_states}, {computed}, {master}>",
        IN[0],
        IN[1],
        OUT[0],
        *states,
        exact,
        params,
        n,
        ADD,
    )
    return operator(device, forward)
