"""Winograd convolutions (contract in winograd.pxd): the loops are in winograd.h."""

from ..isa.dispatch cimport cpu_level

from ..isa.dispatch import cpu_capabilities, level_number

import numpy as np

cdef extern from "conv/winograd.h" namespace "cynet::winograd" nogil:
    enum: AVX512_BY_ROW
    int choose_form(int level, const WinogradShape& shape) noexcept

cdef extern from "conv/winograd.h" namespace "cynet" nogil:
    size_t cpp_space "cynet::winograd_workspace_bytes"(int form, const WinogradShape& shape,
                                                       int threads,
                                                       WorkspaceUse stage) noexcept
    int64_t cpp_packed_size "cynet::winograd_packed_size"(
        int form, const WinogradShape& shape) noexcept
    void cpp_pack "cynet::winograd_pack_w"(
        int form, const WinogradShape& shape, const float* w, int threads, float* packed) noexcept
    void cpp_forward "cynet::winograd_forward"(
        int form, const WinogradShape& shape, const float* x, const float* w, bint packed,
        const float* bias, bint relu, float* y, bint add, int threads, char* space) noexcept
    void cpp_backward_data "cynet::winograd_backward_data"(
        int form, const WinogradShape& shape, const float* w, const float* dy, float* dx,
        bint add, int threads, char* space) noexcept
    void cpp_backward_weight "cynet::winograd_backward_weight"(
        int form, const WinogradShape& shape, const float* x, const float* dy, float* dw,
        bint add, int threads, char* space) noexcept


cdef inline int _form_for_cpu(const WinogradShape* shape) noexcept nogil:
    return choose_form(cpu_level(), shape[0])


cdef size_t winograd_workspace_bytes(const WinogradShape* shape, int threads,
                                     WorkspaceUse stage) noexcept nogil:
    return cpp_space(_form_for_cpu(shape), shape[0], threads, stage)


cdef int64_t winograd_packed_size(const WinogradShape* shape) noexcept nogil:
    return cpp_packed_size(_form_for_cpu(shape), shape[0])


cdef void winograd_pack_w(const WinogradShape* shape, const float* w, int threads,
                          float* packed) noexcept nogil:
    cpp_pack(_form_for_cpu(shape), shape[0], w, threads, packed)


cdef void winograd_forward(const WinogradShape* shape, const float* x, const float* w,
                           bint packed, const float* bias, bint relu, float* y, bint add,
                           int threads, char* space) noexcept nogil:
    cpp_forward(_form_for_cpu(shape), shape[0], x, w, packed, bias, relu, y, add, threads, space)


cdef void winograd_backward_data(const WinogradShape* shape, const float* w, const float* dy,
                                 float* dx, bint add, int threads, char* space) noexcept nogil:
    cpp_backward_data(_form_for_cpu(shape), shape[0], w, dy, dx, add, threads, space)


cdef void winograd_backward_weight(const WinogradShape* shape, const float* x, const float* dy,
                                   float* dw, bint add, int threads, char* space) noexcept nogil:
    cpp_backward_weight(_form_for_cpu(shape), shape[0], x, dy, dw, add, threads, space)


cdef WinogradShape _winograd_shape(x, filters, kernel, pad, stride):
    cdef WinogradShape shape
    shape.batch, shape.height, shape.width, shape.channels = x
    shape.filters, shape.kernel = filters, kernel
    shape.pad_h, shape.pad_w = pad
    shape.stride = stride
    return shape


def winograd_is_by_row(level, channels, filters, stride):
    """True if that capability level uses the loops by rows of positions."""
    cdef WinogradShape shape
    shape.channels, shape.filters, shape.stride = channels, filters, stride
    cdef int at = level_number(level)
    return choose_form(at, shape) != at


def _winograd_forms():
    """Names of the forms that this machine can run, with their numbers, for tests."""
    forms = {name: number for number, name in enumerate(cpu_capabilities())}
    if "avx512" in forms:
        forms["avx512 by row"] = AVX512_BY_ROW
    return forms


def _run_winograd(what, x, w, y, pad, bias=None, bint relu=False, bint add=False,
                  int threads=1, form=None, int fill=255, stride=1):
    """Run one of the four functions on C-contiguous NumPy float32 arrays, for tests and benchmarks.

    `what` is ``'forward'``, ``'backward_data'``, ``'backward_weight'`` or ``'packed'`` (forward
    with weights packed before); y, x or w is written. `form` is one of _winograd_forms, by default
    that for this machine. Scratch is filled with the byte `fill` before; what lies behind its end
    is returned.
    """
    cdef WinogradShape shape = _winograd_shape(x.shape, w.shape[0], w.shape[2], pad, stride)
    cdef int at = _form_for_cpu(&shape) if form is None else form
    cdef int which = ("forward", "backward_data", "backward_weight", "packed").index(what)
    cdef size_t size = cpp_space(at, shape, threads, (FORWARD, BACKWARD, BACKWARD, PACKED)[which])
    cdef size_t start = 0, packed_start = 0
    buffer = _aligned_buffer(size, fill, &start)
    cdef size_t space = buffer.ctypes.data + start
    cdef size_t px = x.ctypes.data, pw = w.ctypes.data, py = y.ctypes.data
    cdef size_t pb = 0 if bias is None else bias.ctypes.data
    packed = _aligned_buffer(cpp_packed_size(at, shape) * sizeof(float), fill, &packed_start)
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
    return buffer[start + size:]


cdef object _aligned_buffer(size_t size, int fill, size_t* start):
    """Return bytes of `fill`, at least `size` from `start` on, which is aligned to 64."""
    buffer = np.full(size + 128, fill, np.uint8)
    start[0] = (buffer.ctypes.data + 63) // 64 * 64 - <size_t>buffer.ctypes.data
    return buffer
