"""MapOperator: an array read through one index map an axis, as padding by edges or reflection
does."""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from ..._typedefs cimport TBlob, dtype_size, kAddTo, kNullOp
from ...kernels.index cimport run_map_axes
from .._base cimport Operator, OpContext

from ...dtype import dtype_flag


cdef class MapOperator(Operator):
    """``output[i0, i1, ...] = data[maps[0][i0], maps[1][i1], ...]``; the first axis is mapped to
    itself."""

    cdef int64_t* maps
    cdef int64_t dst_shape[8]
    cdef int64_t src_shape[8]
    cdef int ndim, dtype
    cdef readonly tuple described  # (dtype, shape, maps), for the form on a GPU

    def __cinit__(self, dtype, shape, list maps):
        cdef Py_ssize_t total = sum(len(m) for m in maps), at = 0
        self.dtype, self.ndim = dtype_flag(dtype), len(shape)
        self.described = dtype, tuple(shape), maps
        self.maps = <int64_t*>malloc(max(total, 1) * sizeof(int64_t))
        if self.maps == NULL:
            raise MemoryError()
        for i, each in enumerate(maps):
            self.dst_shape[i], self.src_shape[i] = len(each), shape[i]
            for value in each:
                self.maps[at] = value
                at += 1

    def __dealloc__(self):
        free(self.maps)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] != kNullOp:
            run_map_axes(self.dtype, False, req[0] == kAddTo, self.ndim, self.dst_shape,
                         self.src_shape,
                         self.maps, in_data[0].data, out_data[0].data)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if req[0] == kNullOp:
            return 0
        if req[0] != kAddTo:
            memset(in_grad[0].data, 0, in_grad[0].size * dtype_size(self.dtype))
        run_map_axes(self.dtype, True, True, self.ndim, self.dst_shape, self.src_shape, self.maps,
                     in_grad[0].data, out_grad[0].data)
        return 0
