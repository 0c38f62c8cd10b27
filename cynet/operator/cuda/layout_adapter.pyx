"""GPU forms for channels-last layouts: the channels-first form between copies."""

from libc.stddef cimport size_t

from ...cuda._device cimport SpaceFn
from .._base cimport OpContext
from ..nn.layout_adapter cimport LayoutAdapter

from functools import wraps

from ..nn.layout_adapter import reordering_operator, reorder_moves
from ..nn.spatial_window import channels_first_shape, is_channels_last
from .strided_moves import copy_form

cdef enum:
    ADAPTER_SPACE = 2  # index of temporary memory, behind those of convolutions


cdef class LayoutAdapterForm(LayoutAdapter):  # channels-last operators on a GPU
    """LayoutAdapter on a device."""

    cdef SpaceFn space

    def __init__(self, device, inner, data, weight, out):
        super().__init__(inner, data, weight, out)
        self.space = <SpaceFn><size_t>device.workspace_function_address

    cdef char* workspace(self, OpContext* ctx, size_t nbytes) except NULL nogil:  # temporary memory
        return <char*>self.space(ctx.run_ctx.dev_id, ADAPTER_SPACE, nbytes, ctx.run_ctx.stream)


def for_every_layout(builder):
    """Turn a builder of forms for arrays (N, C, *size) into one for every layout.

    It is for operators of data, perhaps a weight of as many axes and a bias.
    """

    @wraps(builder)
    def build_any_layout(prop, in_shapes, in_types, device):
        if not is_channels_last(prop.layout):
            return builder(prop, in_shapes, in_types, device)
        laid = list(in_shapes[:2])
        first = [channels_first_shape(shape, prop.layout) for shape in laid]
        inner = builder(prop.changed(layout=None), [*first, *in_shapes[2:]], in_types, device)
        weight = reorder_form(device, laid[1], in_types[1]) if len(laid) > 1 else None
        (out,) = prop.output_shapes(in_shapes)
        return LayoutAdapterForm(device, inner, reorder_form(device, laid[0], in_types[0]), weight,
                                 reorder_form(device, out, in_types[0]))

    return build_any_layout


def reorder_form(device, shape, dtype):
    """The Operator that copies an array of `shape` to channels-first order on the device."""
    return copy_form(device, reordering_operator(shape, dtype), [shape], [reorder_moves(shape)[1]])
