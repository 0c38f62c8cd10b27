"""CTC by the loops of a level (contract in ctc_loss.pxd)."""

from ..isa.dispatch cimport cpu_level
from ..parallel cimport threads_for

cdef extern from "reduce/ctc_loss.h" namespace "cynet" nogil:
    int64_t ctc_shared_space(const CTCShape& s) noexcept
    int64_t ctc_thread_space(const CTCShape& s, bint backward) noexcept
    void ctc_forward[T](int level, const CTCShape& s, const T* x, T* y, bint add, T* space,
                        int threads) noexcept
    void ctc_backward[T](int level, const CTCShape& s, const T* dy, const T* x, T* dx, bint add,
                         T* space, int threads) noexcept


cdef int64_t ctc_loss_space(const CTCShape* shape, bint backward, int threads) noexcept nogil:
    return ctc_shared_space(shape[0]) + threads * ctc_thread_space(shape[0], backward)


cdef int ctc_loss_threads(const CTCShape* shape) noexcept nogil:
    return threads_for(shape.steps * shape.batch * (4 * shape.classes + 32 * shape.most))


cdef void ctc_loss_forward(const CTCShape* shape, const floating* x, floating* y, bint add,
                           floating* space, int threads) noexcept nogil:
    ctc_forward(cpu_level(), shape[0], x, y, add, space, threads)


cdef void ctc_loss_backward(const CTCShape* shape, const floating* dy, const floating* x,
                            floating* dx, bint add, floating* space, int threads) noexcept nogil:
    ctc_backward(cpu_level(), shape[0], dy, x, dx, add, space, threads)
