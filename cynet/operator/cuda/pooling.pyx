# cython: wraparound=True
"""GPU forms of Pooling: averages and sums by cuDNN where it has such windows, kernels for the rest.

The maximum's gradient goes to the first of equal elements and is computed from data alone; cuDNN
promises no order and needs the output, so maxima are the kernels' in every case.
"""

import ctypes
from math import prod

from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...cuda.cudnn_layers cimport Pooling
from .._base cimport Operator, OpContext

from ...cuda.cudnn import open_door
from ..nn.window import pad3
from .program import Steps, operator
from .forms import form
from .steps import ADD, IN, IN_GRAD, OUT, OUT_GRAD, each
from .structs import C_TYPES, INT, LONG

_TYPES = {"max": 0, "avg": 1, "sum": 2, "lp": 3}


class Window(ctypes.Structure):
    """Windows of up to three axes (pooling.cu)."""

    _fields_ = [("planes", LONG), ("type", INT), ("p", INT), ("count_pad", INT)]
    _fields_ += [(n, INT * 3) for n in ("size", "out", "kernel", "stride", "pad", "pad_after")]


cdef class PoolingForm(Operator):
    """An average or a sum by cuDNN."""

    cdef Pooling layer

    def __init__(self, layer):
        self.layer = layer

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] == kNullOp:
            return 0
        return self.layer.forward(&ctx.run_ctx, in_data[0].data, out_data[0].data, req[0] == kAddTo)

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef const void* g = out_grad[0].data
        if req[0] == kNullOp:
            return 0
        # of x and y cuDNN takes the addresses, and reads them for maxima only
        return self.layer.backward(&ctx.run_ctx, g, g, in_grad[0].data, in_grad[0].data,
                                   req[0] == kAddTo)


@form("Pooling")
def pooling(prop, in_shapes, in_types, device):
    """cuDNN's, or two kernels."""
    data, dtype, kind = in_shapes[0], in_types[0], C_TYPES[in_types[0]]
    axes = [prop.geometry(axis, size) for axis, size in enumerate(data[2:])]
    sizes, kernel, stride, pad, pad_after = zip(*axes)
    out = (*data[:2], *sizes)
    usual = tuple((n + 2 * p - k) // s + 1 for n, p, k, s in zip(data[2:], pad, kernel, stride))
    if prop.pool_type in ("avg", "sum") and pad == pad_after and usual == sizes:
        pool_type = prop.pool_type
        if pool_type == "avg" and prop.count_include_pad is False:
            pool_type = "avg_exclude"
        open_door()
        return PoolingForm(Pooling(dtype, pool_type, data, out, kernel, stride, pad))
    window = Window(
        data[0] * data[1], _TYPES[prop.pool_type], prop.p_value or 1,
        prop.count_include_pad is not False, *[
            (INT * 3)(*pad3(values, fill)) for values, fill in (
                (data[2:], 1), (sizes, 1), (kernel, 1), (stride, 1), (pad, 0), (pad_after, 0))])
    forward, backward = Steps(), Steps()
    forward += each(prod(out), "pooling", f"pool<{kind}>", IN[0], OUT[0], window, ADD)
    backward += each(prod(data), "pooling", f"pool_grad<{kind}>", OUT_GRAD[0], IN[0], OUT[0],
                     IN_GRAD[0], window, ADD)
    return operator(device, forward, backward)
