"""GPU form of Pooling_v1."""

import ctypes
from math import prod

from ..nn.pooling_v1 import PoolingV1Property
from .kernel_args import C_TYPES, INT, LONG
from .launch_program import launch_form
from .launch_steps import ADD, IN, IN_GRAD, OUT, OUT_GRAD, launch_each


class PaddedWindow(ctypes.Structure):  # kernel argument: sizes of pooling windows
    """Kernel argument: sizes of pooling windows over planes (pooling_v1.cu)."""

    _fields_ = [("planes", LONG), ("maximum", INT), ("divisor", ctypes.c_double)]
    _fields_ += [(name, INT * 2) for name in ("size", "out", "kernel", "stride", "pad")]


@launch_form(PoolingV1Property)
def pooling_v1_form(prop, in_shapes, in_types, forward, backward):
    data, kind = in_shapes[0], C_TYPES[in_types[0]]
    out, kernel, stride, pad = zip(*(prop.geometry(k, n) for k, n in enumerate(data[2:])))
    window = PaddedWindow(
        data[0] * data[1],
        prop.pool_type == "max",
        prod(kernel) if prop.pool_type == "avg" else 1,
        *[(INT * 2)(*values) for values in (data[2:], out, kernel, stride, pad)],
    )
    n, last = prod(data[:2]) * prod(out), (window, ADD)
    forward += launch_each(n, "pooling_v1", f"pool_v1<{kind}>", IN[0], OUT[0], *last)
    arrays = OUT_GRAD[0], IN[0], OUT[0], IN_GRAD[0]
    backward += launch_each(prod(data), "pooling_v1", f"pool_v1_grad<{kind}>", *arrays, *last)
