"""GridGenerator: grids (batch, 2, height, width) of x and y from affine maps and from flows."""

from libc.stdint cimport int64_t

# grid (+)= theta (batch, 2, 3) times (x, y, 1), x and y from -1 to 1; 0 along an axis of length 1
cdef void affine_grid(int dtype, int64_t batch, int64_t height, int64_t width, const void* theta,
                      void* grid, bint add) noexcept nogil
cdef void affine_grid_backward(int dtype, int64_t batch, int64_t height, int64_t width,
                               const void* dgrid, void* dtheta, bint add) noexcept nogil
# grid (+)= where the flow of each pixel leads; backwards: the gradient of the flow, from the grid's
cdef void warp_grid(int dtype, int64_t batch, int64_t height, int64_t width, bint backwards,
                    const void* flow, void* grid, bint add) noexcept nogil
