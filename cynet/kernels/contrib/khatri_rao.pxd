"""Khatri-Rao products and their gradients (khatri_rao.h)."""

from libc.stdint cimport int64_t

cdef extern from "contrib/khatri_rao.h" namespace "cynet" nogil:
    enum: MOST_FACTORS
    struct KhatriRao:
        int count
        int64_t rows[64]  # of each factor
        int64_t columns, product  # product: rows of the product
    void khatri_rao_forward[T](const KhatriRao& k, int threads, const T* const* factors, T* out,
                               bint add) noexcept
    void khatri_rao_backward[T](const KhatriRao& k, int threads, int which, const T* grad,
                                const T* const* factors, T* dx, bint add) noexcept
