"""Probability densities of samples and their gradients (density.h)."""

from libc.stdint cimport int64_t

cdef extern from "rng/density.h" namespace "cynet" nogil:
    cdef enum DensityLaw:
        DENSITY_UNIFORM, DENSITY_NORMAL, DENSITY_GAMMA, DENSITY_EXPONENTIAL, DENSITY_POISSON
        DENSITY_NEGATIVE_BINOMIAL, DENSITY_GENERALIZED_NEGATIVE_BINOMIAL
    # out (+)= densities (or their logarithms) of n samples, `each` for each pair of parameters
    void density[T](int law, int threads, bint log, int64_t n, int64_t each, const T* x, const T* a,
                    const T* b, T* out, bint add) noexcept
    # dx, da, db (+)= gradients where they are not NULL; add: of each
    void density_gradient[T](int law, int threads, bint log, int64_t n, int64_t each, const T* g,
                             const T* x, const T* a, const T* b, T* dx, T* da, T* db,
                             const int* add) noexcept
    # The same of samples (n, size) and alpha (n / each, size).
    void dirichlet_forward[T](int threads, bint log, int64_t n, int64_t each, int64_t size,
                              const T* x, const T* alpha, T* out, bint add) noexcept
    void dirichlet_backward[T](int threads, bint log, int64_t n, int64_t each, int64_t size,
                               const T* g, const T* x, const T* alpha, T* dx, T* dalpha,
                               const int* add) noexcept
