"""BilinearSampler (contract in sampler.pxd)."""

from ..isa.dispatch cimport cpu_level
from ..parallel cimport threads_for

cdef extern from "vision/sampler.h" namespace "cynet" nogil:
    void sample_all(int threads, int level, int dtype, const SamplerShape* s, const void* data,
                    const void* grid, void* out, bint add) noexcept
    void sample_data_all(int threads, int level, int dtype, const SamplerShape* s,
                         const void* grid, const void* dy, void* dx, bint add) noexcept
    void sample_grid_all(int threads, int level, int dtype, const SamplerShape* s,
                         const void* data, const void* grid, const void* dy, void* dgrid,
                         bint add) noexcept


cdef inline int _threads(const SamplerShape* s) noexcept nogil:
    # a point takes about eight steps a channel
    return threads_for(s.batch * s.points * (s.channels + 2) * 8)


cdef void sample(int dtype, const SamplerShape* shape, const void* data, const void* grid,
                 void* out, bint add) noexcept nogil:
    sample_all(_threads(shape), cpu_level(), dtype, shape, data, grid, out, add)


cdef void sample_backward_data(int dtype, const SamplerShape* shape, const void* grid,
                               const void* dy, void* dx, bint add) noexcept nogil:
    sample_data_all(_threads(shape), cpu_level(), dtype, shape, grid, dy, dx, add)


cdef void sample_backward_grid(int dtype, const SamplerShape* shape, const void* data,
                               const void* grid, const void* dy, void* dgrid,
                               bint add) noexcept nogil:
    sample_grid_all(_threads(shape), cpu_level(), dtype, shape, data, grid, dy, dgrid, add)
