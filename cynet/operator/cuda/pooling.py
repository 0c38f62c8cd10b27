"""GPU forms of Pooling: cuDNN if it has such windows, else kernels.

Maxima are kernels' in every case: cuDNN's of a window of -inf is the lowest finite number, and its
gradient needs the output and promises no order (CUDNN_POOLING_MAX_DETERMINISTIC), where the CPU's
goes to the first of equal elements.
"""

import ctypes
from math import prod

from ...base.errors import ArgumentError
from ...cuda.libraries.cudnn import is_cudnn_countable
from ...cuda.libraries.cudnn_maps import Pooling
from ..nn.pooling import PoolingProperty
from ..nn.spatial_window import to_3d
from .cudnn_layer import CudnnForm
from .kernel_args import C_TYPES, INT, LONG
from .launch_program import Steps, operator
from .launch_steps import ADD, IN, IN_GRAD, NULL, OUT, OUT_GRAD, launch_each
from .layout_adapter import for_every_layout
from .registry import register_form

_MAX_PLANE_ELEMENTS = 2**31 - 1  # kernels index a plane by int
# elements of an image below which our kernels beat cuDNN at mean or sum, forward and backward
_SMALL_PLANE = 64  # elements of an image below which our kernels beat cuDNN
_POOL_TYPES = {"max": 0, "avg": 1, "sum": 2, "lp": 3}  # numbers in pooling.cu


class WindowArgs(ctypes.Structure):  # kernel argument: sizes of pooling windows
    """Kernel argument: sizes of pooling windows with up to three axes (pooling.cu)."""

    _fields_ = [("planes", LONG), ("type", INT), ("p", INT), ("count_pad", INT)]
    _fields_ += [(n, INT * 3) for n in ("size", "out", "kernel", "stride", "pad", "pad_after")]


def cudnn_pooling_layer(prop, dtype, data, axes):
    """cuDNN's layer for a pooling over `axes` (`prop.geometry` of each); None if cuDNN has none or
    a slower one."""
    sizes, kernel, stride, pad, pad_after = zip(*axes)
    out = (*data[:2], *sizes)
    usual = tuple((n + 2 * p - k) // s + 1 for n, p, k, s in zip(data[2:], pad, kernel, stride))
    if prop.cudnn_off or (kernel == data[2:] and prod(sizes) == 1 and prod(kernel) <= _SMALL_PLANE):
        return None
    if prop.pool_type in ("max", "lp") or pad != pad_after or usual != sizes:
        return None
    if not is_cudnn_countable(data) or not is_cudnn_countable(out):
        return None
    pool_type = prop.pool_type
    if pool_type == "avg" and prop.count_include_pad is False:
        pool_type = "avg_exclude"
    return Pooling(dtype, pool_type, data, out, kernel, stride, pad)


@register_form(PoolingProperty)
@for_every_layout
def pooling_form(prop, in_shapes, in_types, device):
    """Build the form of Pooling: cuDNN's averages and sums, or our own kernels."""
    data, dtype, kind = in_shapes[0], in_types[0], C_TYPES[in_types[0]]
    axes = [prop.geometry(axis, size) for axis, size in enumerate(data[2:])]
    layer = cudnn_pooling_layer(prop, dtype, data, axes)
    if layer is not None:
        return CudnnForm(device, layer)
    sizes, kernel, stride, pad, pad_after = zip(*axes)
    window = WindowArgs(
        data[0] * data[1],
        _POOL_TYPES[prop.pool_type],
        prop.p_value or 1,
        prop.count_include_pad is not False,
        *[(INT * 3)(*to_3d(values, 1)) for values in (data[2:], sizes, kernel, stride)],
        *[(INT * 3)(*to_3d(values, 0)) for values in (pad, pad_after)],
    )
    n = prod(data[:2]) * prod(sizes)
    forward, backward, positions = Steps(), Steps(), NULL
    forward += launch_each(n, "pooling", f"pool<{kind}>", IN[0], OUT[0], window, ADD)
    if prop.pool_type == "max":
        if prod(data[2:]) > _MAX_PLANE_ELEMENTS:
            raise ArgumentError(
                f"operator {prop.op_name}: images of {data[2:]}; on a GPU they have at most "
                f"{_MAX_PLANE_ELEMENTS} elements"
            )
        positions = backward.reserve(n, "int")
        backward += launch_each(
            n, "pooling", f"pool_argmax<{kind}>", IN[0], positions, window, to=(0, 1)
        )
    arrays = OUT_GRAD[0], IN[0], OUT[0], positions, IN_GRAD[0]
    backward += launch_each(prod(data), "pooling", f"pool_grad<{kind}>", *arrays, window, ADD)
    return operator(device, forward, backward)
