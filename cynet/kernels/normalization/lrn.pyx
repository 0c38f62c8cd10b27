"""Local response by the loops of a level (contract in lrn.pxd)."""

from ..isa.dispatch cimport cpu_level

cdef extern from "normalization/lrn.h" namespace "cynet" nogil:
    void response_forward[T](int level, const LocalResponse& s, const T* x, T* y, bint add,
                             int threads) noexcept
    void response_backward[T](int level, const LocalResponse& s, const T* dy, const T* x, T* dx,
                              bint add, int threads, T* space) noexcept


cdef void lrn_forward(const LocalResponse* shape, const floating* x, floating* y,
                      bint add, int threads) noexcept nogil:
    response_forward(cpu_level(), shape[0], x, y, add, threads)


cdef void lrn_backward(const LocalResponse* shape, const floating* dy, const floating* x,
                       floating* dx, bint add, int threads, floating* space) noexcept nogil:
    response_backward(cpu_level(), shape[0], dy, x, dx, add, threads, space)
