"""The steps of recurrent layers (contract in recurrent.pxd): the loops are in recurrent.h."""

from ..gemm.blas cimport gemm
from ..isa.dispatch cimport cpu_level
from ..parallel cimport threads_for

cdef extern from "rnn/recurrent.h" namespace "cynet" nogil:
    const PackedProducts* cpp_products "cynet::recurrent_products"(
        int level, bint wide, int64_t batch, int64_t hidden) noexcept
    int64_t cpp_packed "cynet::recurrent_packed_size"(int level, const Recurrence& r) noexcept
    void cpp_pack "cynet::pack_recurrence"(int level, bint backward, const Recurrence& r,
                                           void* to) noexcept
    void cpp_forward "cynet::recurrent_forward"(int level, int threads,
                                                const Recurrence& r) noexcept
    void cpp_backward "cynet::recurrent_backward"(int level, int threads,
                                                  const Recurrence& r) noexcept
    bint cpp_first "cynet::is_first_step_skippable"(int level, const Recurrence& r) noexcept
    int64_t gate_count(int mode) noexcept


cdef int64_t recurrent_packed_size(Recurrence* r) noexcept nogil:
    r.products = cpp_products(cpu_level(), r.wide, r.batch, r.hidden)
    return cpp_packed(cpu_level(), r[0])


cdef void pack_recurrence(Recurrence* r, bint backward, void* to) noexcept nogil:
    r.products = cpp_products(cpu_level(), r.wide, r.batch, r.hidden)
    r.packed = to
    cpp_pack(cpu_level(), backward, r[0], to)


cdef int _thread_count(const Recurrence* r) noexcept nogil:
    return threads_for(r.steps * r.batch * r.hidden * r.hidden * gate_count(r.mode) // 8)


cdef void recurrent_forward(Recurrence* r) noexcept nogil:
    r.gemm = gemm[double]
    cpp_forward(cpu_level(), _thread_count(r), r[0])


cdef void recurrent_backward(Recurrence* r) noexcept nogil:
    r.gemm = gemm[double]
    cpp_backward(cpu_level(), _thread_count(r), r[0])


cdef bint is_first_gradient_zero(const Recurrence* r) noexcept nogil:
    return cpp_first(cpu_level(), r[0])
