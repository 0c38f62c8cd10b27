// GridGenerator: grids of points from affine maps and from flows. Included by grid.pyx.
#ifndef CYNET_VISION_GRID_H
#define CYNET_VISION_GRID_H

#include "vision/bilinear.h"

namespace cynet {

// The distance of n places from -1 to 1, and place i of them: the middle where there is one alone.
template <typename T>
CYNET_XINLINE T spacing(int64_t n) {
  return n > 1 ? T(2) / static_cast<T>(n - 1) : T(0);
}
template <typename T>
CYNET_XINLINE T spaced(int64_t i, int64_t n) {
  return n > 1 ? T(-1) + static_cast<T>(i) * spacing<T>(n) : T(0);
}

// grid (batch, 2, height, width) = theta (batch, 2, 3) times (x, y, 1)
struct AffineGrid {
  template <typename T>
  static void run(int threads, int64_t batch, int64_t height, int64_t width, const void* theta_,
                  void* grid_, bool add) {
    const T* theta = static_cast<const T*>(theta_);
    T* grid = static_cast<T*>(grid_);
    parallel_for(threads, batch * 2 * height, [=](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* map = theta + r / height * 3;
        const T base = map[1] * spaced<T>(r % height, height) + map[2];
        T* row = grid + r * width;
        const T first = spaced<T>(0, width), step = spacing<T>(width), by_x = map[0];
        const int32_t n = static_cast<int32_t>(width);  // which is fast to convert
        if (add) {
          for (int32_t j = 0; j < n; ++j)
            row[j] += by_x * (first + static_cast<T>(j) * step) + base;
        } else {
          for (int32_t j = 0; j < n; ++j)
            row[j] = by_x * (first + static_cast<T>(j) * step) + base;
        }
      }
    });
  }
};

struct AffineGridBackward {
  template <typename T>
  static void run(int threads, int64_t batch, int64_t height, int64_t width, const void* dgrid_,
                  void* dtheta_, bool add) {
    const T* dgrid = static_cast<const T*>(dgrid_);
    T* dtheta = static_cast<T*>(dtheta_);
    parallel_for(threads, batch * 2, [=](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        double by_x = 0, by_y = 0, by_one = 0;
        for (int64_t i = 0; i < height; ++i) {
          const T* row = dgrid + (r * height + i) * width;
          const T first = spaced<T>(0, width), step = spacing<T>(width);
          double line = 0, along = 0;
          for (int32_t j = 0; j < static_cast<int32_t>(width); ++j) {
            line += row[j];
            along += static_cast<double>(row[j]) * (first + static_cast<T>(j) * step);
          }
          by_x += along;
          by_y += line * spaced<T>(i, height);
          by_one += line;
        }
        put(dtheta + r * 3, static_cast<T>(by_x), add);
        put(dtheta + r * 3 + 1, static_cast<T>(by_y), add);
        put(dtheta + r * 3 + 2, static_cast<T>(by_one), add);
      }
    });
  }
};

// grid = the places that `flow` (batch, 2, height, width), in pixels, leads to. Backwards, the
// gradient of the flow.
struct WarpGrid {
  template <typename T>
  static void run(int threads, int64_t batch, int64_t height, int64_t width, bool backwards,
                  const void* in_, void* out_, bool add) {
    const T* in = static_cast<const T*>(in_);
    T* out = static_cast<T*>(out_);
    parallel_for(threads, batch * 2 * height, [=](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const bool is_y = r / height % 2;
        const int64_t size = is_y ? height : width;
        const T scale = T(2) / static_cast<T>(size > 1 ? size - 1 : 1);
        const T* from = in + r * width;
        T* to = out + r * width;
        for (int64_t j = 0; j < width; ++j) {
          const T place = static_cast<T>(is_y ? r % height : j);
          put(to + j, backwards ? from[j] * scale : (from[j] + place) * scale - T(1), add);
        }
      }
    });
  }
};

inline void affine_grid_all(int threads, int dtype, int64_t batch, int64_t height, int64_t width,
                            const void* theta, void* grid, bool add) {
  by_float<AffineGrid>(dtype, threads, batch, height, width, theta, grid, add);
}
inline void affine_grid_backward_all(int threads, int dtype, int64_t batch, int64_t height,
                                     int64_t width, const void* dgrid, void* dtheta, bool add) {
  by_float<AffineGridBackward>(dtype, threads, batch, height, width, dgrid, dtheta, add);
}
inline void warp_grid_all(int threads, int dtype, int64_t batch, int64_t height, int64_t width,
                          bool backwards, const void* in, void* out, bool add) {
  by_float<WarpGrid>(dtype, threads, batch, height, width, backwards, in, out, add);
}

}  // namespace cynet

#endif
