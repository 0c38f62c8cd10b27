"""Outputs computed in one go (contract in results.pxd)."""

from libc.stdint cimport int32_t, int64_t

from ..._resource cimport get_space
from ..._typedefs cimport (
    TBlob, dtype_size, kAddTo, kFloat32, kFloat64, kInt32, kNullOp)
from ...kernels.parallel cimport threads_for
from .._base cimport OpContext


cdef void* room_for(OpContext* ctx, const TBlob* out_data, const int* req, int i) except NULL nogil:
    if req[i] != kAddTo and req[i] != kNullOp:
        return out_data[i].data
    return get_space(&ctx.requested[i], out_data[i].size * dtype_size(out_data[i].dtype) + 1)


cdef void deliver(const TBlob* out_data, const int* req, int i, const void* made) noexcept nogil:
    cdef int64_t k
    if req[i] != kAddTo:
        return
    for k in range(out_data[i].size):
        if out_data[i].dtype == kFloat32:
            (<float*>out_data[i].data)[k] += (<const float*>made)[k]
        elif out_data[i].dtype == kFloat64:
            (<double*>out_data[i].data)[k] += (<const double*>made)[k]
        elif out_data[i].dtype == kInt32:
            (<int32_t*>out_data[i].data)[k] += (<const int32_t*>made)[k]


cdef int parts_of(int64_t batch, int64_t work) noexcept nogil:
    cdef int threads = threads_for(work)
    return threads if threads < batch else <int>batch
