"""GridGenerator (contract in grid.pxd)."""

from libc.stdint cimport int64_t

from ..parallel cimport threads_for

cdef extern from "vision/grid.h" namespace "cynet" nogil:
    void affine_grid_all(int threads, int dtype, int64_t batch, int64_t height, int64_t width,
                         const void* theta, void* grid, bint add) noexcept
    void affine_grid_backward_all(int threads, int dtype, int64_t batch, int64_t height,
                                  int64_t width, const void* dgrid, void* dtheta,
                                  bint add) noexcept
    void warp_grid_all(int threads, int dtype, int64_t batch, int64_t height, int64_t width,
                       bint backwards, const void* flow, void* grid, bint add) noexcept


cdef void affine_grid(int dtype, int64_t batch, int64_t height, int64_t width, const void* theta,
                      void* grid, bint add) noexcept nogil:
    affine_grid_all(threads_for(batch * height * width * 4), dtype, batch, height, width, theta,
                    grid, add)


cdef void affine_grid_backward(int dtype, int64_t batch, int64_t height, int64_t width,
                               const void* dgrid, void* dtheta, bint add) noexcept nogil:
    affine_grid_backward_all(threads_for(batch * height * width * 4), dtype, batch, height, width,
                             dgrid, dtheta, add)


cdef void warp_grid(int dtype, int64_t batch, int64_t height, int64_t width, bint backwards,
                    const void* flow, void* grid, bint add) noexcept nogil:
    warp_grid_all(threads_for(batch * height * width * 2), dtype, batch, height, width, backwards,
                  flow, grid, add)
