"""Outputs computed in one go (contract in results.pxd)."""

from .._resource cimport get_space
from .._typedefs cimport TBlob, dtype_size, kAddTo, kNullOp
from ..kernels.common.by_dtype cimport add_elements
from ._base cimport OpContext


cdef void* room_for(OpContext* ctx, const TBlob* out_data, const int* req, int i) except NULL nogil:
    if req[i] != kAddTo and req[i] != kNullOp:
        return out_data[i].data
    return get_space(&ctx.requested[i], out_data[i].size * dtype_size(out_data[i].dtype) + 1)


cdef void deliver(const TBlob* out_data, const int* req, int i, const void* made) noexcept nogil:
    if req[i] == kAddTo:
        add_elements(out_data[i].dtype, made, out_data[i].data, out_data[i].size)
