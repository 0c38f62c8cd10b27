"""BilinearSampler: data (batch, channels, height, width) at the points of a grid (batch, 2, points)
of x and y in [-1, 1], which span the data's outer pixels; zeros outside."""

from libc.stdint cimport int64_t

cdef extern from "vision/sampler.h" namespace "cynet" nogil:
    # a plane has fewer than 2^31 elements
    struct SamplerShape:
        int64_t batch, channels, height, width, points

# dtype is kFloat32 or kFloat64. out (batch, channels, points) (+)= data at the grid
cdef void sample(int dtype, const SamplerShape* shape, const void* data, const void* grid,
                 void* out, bint add) noexcept nogil
# dx (+)= the gradient of data
cdef void sample_backward_data(int dtype, const SamplerShape* shape, const void* grid,
                               const void* dy, void* dx, bint add) noexcept nogil
# dgrid (+)= the gradient of the grid
cdef void sample_backward_grid(int dtype, const SamplerShape* shape, const void* data,
                               const void* grid, const void* dy, void* dgrid,
                               bint add) noexcept nogil
