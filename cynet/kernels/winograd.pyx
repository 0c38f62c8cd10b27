"""Winograd convolutions (contract in winograd.pxd): the loops are in winograd.h."""

from .dispatch cimport cpu_level

from .dispatch import cpu_capabilities

import numpy as np

cdef extern from "winograd.h" namespace "cynet" nogil:
    bint cpp_suits "cynet::winograd_suits"(
        int level, const WinogradShape& shape, bint packed) noexcept
    bint cpp_packs "cynet::winograd_packs"(int level, const WinogradShape& shape) noexcept
    size_t cpp_space "cynet::winograd_space"(int level, const WinogradShape& shape, int threads,
                                             Stage stage) noexcept
    int64_t cpp_packed_size "cynet::winograd_packed_size"(
        int level, const WinogradShape& shape) noexcept
    void cpp_pack "cynet::winograd_pack"(
        int level, const WinogradShape& shape, const float* w, int threads, float* packed) noexcept
    void cpp_forward "cynet::winograd_forward"(
        int level, const WinogradShape& shape, const float* x, const float* w, bint packed,
        const float* bias, bint relu, float* y, bint add, int threads, char* space) noexcept
    void cpp_backward_data "cynet::winograd_backward_data"(
        int level, const WinogradShape& shape, const float* w, const float* dy, float* dx,
        bint add, int threads, char* space) noexcept
    void cpp_backward_weight "cynet::winograd_backward_weight"(
        int level, const WinogradShape& shape, const float* x, const float* dy, float* dw,
        bint add, int threads, char* space) noexcept


cdef bint winograd_suits(const WinogradShape* shape, bint packed) noexcept nogil:
    return cpp_suits(cpu_level(), shape[0], packed)


cdef bint winograd_packs(const WinogradShape* shape) noexcept nogil:
    return cpp_packs(cpu_level(), shape[0])


cdef size_t winograd_space(const WinogradShape* shape, int threads, Stage stage) noexcept nogil:
    return cpp_space(cpu_level(), shape[0], threads, stage)


cdef int64_t winograd_packed_size(const WinogradShape* shape) noexcept nogil:
    return cpp_packed_size(cpu_level(), shape[0])


cdef void winograd_pack(const WinogradShape* shape, const float* w, int threads,
                        float* packed) noexcept nogil:
    cpp_pack(cpu_level(), shape[0], w, threads, packed)


cdef void winograd_forward(const WinogradShape* shape, const float* x, const float* w,
                           bint packed, const float* bias, bint relu, float* y, bint add,
                           int threads, char* space) noexcept nogil:
    cpp_forward(cpu_level(), shape[0], x, w, packed, bias, relu, y, add, threads, space)


cdef void winograd_backward_data(const WinogradShape* shape, const float* w, const float* dy,
                                 float* dx, bint add, int threads, char* space) noexcept nogil:
    cpp_backward_data(cpu_level(), shape[0], w, dy, dx, add, threads, space)


cdef void winograd_backward_weight(const WinogradShape* shape, const float* x, const float* dy,
                                   float* dw, bint add, int threads, char* space) noexcept nogil:
    cpp_backward_weight(cpu_level(), shape[0], x, dy, dw, add, threads, space)


cdef WinogradShape _shape(x, filters, kernel, pad, stride):
    cdef WinogradShape shape
    shape.batch, shape.height, shape.width, shape.channels = x
    shape.filters, shape.kernel = filters, kernel
    shape.pad_h, shape.pad_w = pad
    shape.stride = stride
    return shape


def _winograd_suits(x_shape, filters, kernel, pad, int level, bint packed=False, stride=1):
    """winograd_suits for an input of (batch, height, width, channels), for tests; `level` as enum
    Level of levels.h counts them."""
    cdef WinogradShape shape = _shape(x_shape, filters, kernel, pad, stride)
    return cpp_suits(level, shape, packed)


def _winograd_arrays(what, x, w, y, pad, bias=None, bint relu=False, bint add=False,
                     int threads=1, level=None, int fill=255, stride=1):
    """One of the four on C-contiguous NumPy float32 arrays, for tests and benchmarks.

    `what` is ``'forward'``, ``'backward_data'``, ``'backward_weight'`` or ``'packed'`` (forward
    with weights packed before); y, x or w is written. Scratch is filled with the byte `fill`
    before; what lies behind its end is returned.
    """
    cdef WinogradShape shape = _shape(x.shape, w.shape[0], w.shape[2], pad, stride)
    cdef int at = cpu_level() if level is None else cpu_capabilities().index(level)
    cdef int which = ("forward", "backward_data", "backward_weight", "packed").index(what)
    cdef size_t size = cpp_space(at, shape, threads, (FORWARD, BACKWARD, BACKWARD, PACKED)[which])
    cdef size_t start = 0, packed_start = 0
    room = _room(size, fill, &start)
    cdef size_t space = room.ctypes.data + start
    cdef size_t px = x.ctypes.data, pw = w.ctypes.data, py = y.ctypes.data
    cdef size_t pb = 0 if bias is None else bias.ctypes.data
    packed = _room(cpp_packed_size(at, shape) * sizeof(float), fill, &packed_start)
    cdef size_t pu = packed.ctypes.data + packed_start
    with nogil:
        if which == 3:
            cpp_pack(at, shape, <float*>pw, threads, <float*>pu)
            pw = pu
        if which == 1:
            cpp_backward_data(at, shape, <float*>pw, <float*>py, <float*>px, add, threads,
                              <char*>space)
        elif which == 2:
            cpp_backward_weight(at, shape, <float*>px, <float*>py, <float*>pw, add, threads,
                                <char*>space)
        else:
            cpp_forward(at, shape, <float*>px, <float*>pw, which == 3, <float*>pb, relu,
                        <float*>py, add, threads, <char*>space)
    return room[start + size:]


cdef object _room(size_t size, int fill, size_t* start):
    """Bytes of `fill`; from `start` on they are aligned to 64 and at least `size`."""
    room = np.full(size + 128, fill, np.uint8)
    start[0] = (room.ctypes.data + 63) // 64 * 64 - <size_t>room.ctypes.data
    return room
