"""Polynomials of the second degree, element by element (polynomial.h)."""

from libc.stdint cimport int64_t

cdef extern from "elementwise/polynomial.h" namespace "cynet" nogil:
    # y (+)= g (a x^2 + b x + c), g may be NULL, and x where a and b are 0; y may be x or g
    void polynomial(int dtype, int threads, double a, double b, double c, const void* g,
                    const void* x, void* y, int64_t n, bint add) noexcept
