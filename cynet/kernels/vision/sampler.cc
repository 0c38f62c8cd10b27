// GridGenerator: grids (batch, 2, height, width) of x and y from affine maps and from flows;
// BilinearSampler: data read at the points of a grid; SpatialTransformer, which is both.
#ifndef CYNET_LANES
#include "kernel.h"
#include "vision/bilinear.h"

namespace cynet {
namespace {

// The grid_spacing of n positions from -1 to 1, and position i; a single position is 0.
template <typename T>
T grid_spacing(int64_t n) {  // distance of n points from -1 to 1
  return n > 1 ? T(2) / static_cast<T>(n - 1) : T(0);
}
template <typename T>
T grid_coordinate(int64_t i, int64_t n) {  // position i of n from -1 to 1
  return n > 1 ? T(-1) + static_cast<T>(i) * grid_spacing<T>(n) : T(0);
}

// grid = theta (batch, 2, 3) times (x, y, 1). In no level: both operators make the same one.
template <typename T>
CYNET_NOINLINE void make_affine_grid(int threads, const int64_t* shape, const T* theta, T* grid,
                                     bool add) {
  const int64_t height = shape[2], width = shape[3];
  const T first = grid_coordinate<T>(0, width), step = grid_spacing<T>(width);
  parallel_for(threads, shape[0] * 2 * height, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t plane = r / height;
      const T* map = theta + plane * 3;
      const T base = map[1] * grid_coordinate<T>(r - plane * height, height) + map[2];
      T* row = grid + r * width;
      const T by_x = map[0];
      const int32_t n = static_cast<int32_t>(width);  // int32 converts fast to float
      if (add) {
        for (int32_t j = 0; j < n; ++j) row[j] += by_x * (first + static_cast<T>(j) * step) + base;
      } else {
        for (int32_t j = 0; j < n; ++j) row[j] = by_x * (first + static_cast<T>(j) * step) + base;
      }
    }
  });
}

template <typename T>
CYNET_NOINLINE void affine_grid_gradient(int threads, const int64_t* shape, const T* dgrid,
                                         T* dtheta, bool add) {
  const int64_t height = shape[2], width = shape[3];
  const T first = grid_coordinate<T>(0, width), step = grid_spacing<T>(width);
  parallel_for(threads, shape[0] * 2, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      double by_x = 0, by_y = 0, by_one = 0;
      for (int64_t i = 0; i < height; ++i) {
        const T* row = dgrid + (r * height + i) * width;
        double line = 0, along = 0;
        for (int32_t j = 0; j < static_cast<int32_t>(width); ++j) {
          line += row[j];
          along += static_cast<double>(row[j]) * (first + static_cast<T>(j) * step);
        }
        by_x += along;
        by_y += line * grid_coordinate<T>(i, height);
        by_one += line;
      }
      write_or_add(dtheta + r * 3, static_cast<T>(by_x), add);
      write_or_add(dtheta + r * 3 + 1, static_cast<T>(by_y), add);
      write_or_add(dtheta + r * 3 + 2, static_cast<T>(by_one), add);
    }
  });
}

// grid = pixel positions plus a flow in pixels; with `backwards`, the gradient of the flow.
template <typename T>
void add_flow_positions(const Args& args, bool backwards) {
  const int64_t height = args.in[0]->shape[2], width = args.in[0]->shape[3];
  const T* in = args.input<T>(0);
  T* out = args.output<T>(0);
  const bool add = args.add[0];
  parallel_for(args.threads, args.in[0]->size / width, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t plane = r / height, row = r - plane * height;
      const bool is_y = plane % 2;
      const int64_t size = is_y ? height : width;
      const T scale = T(2) / static_cast<T>(size > 1 ? size - 1 : 1);
      const T* from = in + r * width;
      T* to = out + r * width;
      for (int64_t j = 0; j < width; ++j) {
        const T place = static_cast<T>(is_y ? row : j);
        write_or_add(to + j, backwards ? from[j] * scale : (from[j] + place) * scale - T(1), add);
      }
    }
  });
}
#define GRID_FIELDS(field) field(bool, warp)
CYNET_PARAMS(GridParams, GRID_FIELDS)

// reads affine maps, or with `warp` flows
template <typename T>
void grid_generator(const Args& args) {
  if (args.as<GridParams>().warp) return add_flow_positions<T>(args, false);
  make_affine_grid(args.threads, args.out[0]->shape, args.input<T>(0), args.output<T>(0),
                   args.add[0]);
}
template <typename T>
void grid_generator_grad(const Args& args) {
  if (args.as<GridParams>().warp) return add_flow_positions<T>(args, true);
  affine_grid_gradient(args.threads, args.in[0]->shape, args.input<T>(0), args.output<T>(0),
                       args.add[0]);
}

struct SamplerShape {  // sizes of data and grid
  int64_t batch, channels, height, width, points;
  // The sizes of data (batch, channels, height, width); the last two axes of `out` are the points.
  SamplerShape(const Blob* data, const Blob* out)
      : batch(data->shape[0]),
        channels(data->shape[1]),
        height(data->shape[2]),
        width(data->shape[3]),
        points(out->shape[2] * out->shape[3]) {}
  int64_t block_count() const { return (points + POINTS - 1) / POINTS; }
};

// Bytes of the grid of `out`, whose last two axes are the points, or of its gradient.
inline int64_t grid_bytes(const Blob* out) {
  return out->shape[0] * 2 * out->shape[2] * out->shape[3] * element_size(out->dtype);
}
inline int64_t transformer_workspace_bytes(const Args& args) { return grid_bytes(args.out[0]); }
inline int64_t transformer_grad_workspace_bytes(const Args& args) {
  return 2 * grid_bytes(args.in[0]);
}

}  // namespace
}  // namespace cynet

#define CYNET_PER_ISA_FILE "vision/sampler.cc"
#include "isa/for_each_isa.h"

CYNET_PLAIN_KERNEL(grid_generator, GridParams, 2, CYNET_FLOATS)
CYNET_PLAIN_KERNEL(grid_generator_grad, GridParams, 2, CYNET_FLOATS)
CYNET_KERNEL(bilinear_sampler, NoParams, 8, CYNET_FLOATS)
CYNET_KERNEL(bilinear_sampler_grad, NoParams, 8, CYNET_FLOATS)
CYNET_SPACE_KERNEL(spatial_transformer, NoParams, 8, transformer_workspace_bytes, CYNET_FLOATS)
CYNET_SPACE_KERNEL(spatial_transformer_grad, NoParams, 8, transformer_grad_workspace_bytes,
                   CYNET_FLOATS)
#else
namespace {

// Computes points [first, first + n) of one image's grid (2, points): x, then y, in [-1, 1].
template <typename T>
CYNET_XINLINE void locate_grid_points(const SamplerShape& s, const T* grid, int64_t first,
                                      int64_t n, SamplePoints<T>* points) {
  const int32_t height = static_cast<int32_t>(s.height), width = static_cast<int32_t>(s.width);
  const T wide = static_cast<T>(width - 1) / T(2), high = static_cast<T>(height - 1) / T(2);
  const T* x = grid + first;
  const T* y = x + s.points;
  for (int64_t i = 0; i < n; ++i)
    point_weights<T, FADES>(points, i, (y[i] + T(1)) * high, (x[i] + T(1)) * wide, height, width);
}

CYNET_XINLINE int64_t locate_point_block(const SamplerShape& s, int64_t block, int64_t* image,
                                         int64_t* first) {
  *image = block / s.block_count();
  *first = block % s.block_count() * POINTS;
  return *first + POINTS < s.points ? static_cast<int64_t>(POINTS) : s.points - *first;
}

template <typename T>
void sample_block(const SamplerShape& s, const T* data, const T* grid, T* out, bool add,
                  int64_t block) {
  SamplePoints<T> points;
  int64_t image, first;
  const int64_t n = locate_point_block(s, block, &image, &first), plane = s.height * s.width;
  locate_grid_points(s, grid + image * 2 * s.points, first, n, &points);
  for (int64_t c = image * s.channels; c < (image + 1) * s.channels; ++c) {
    const T* x = data + c * plane;
    T* y = out + c * s.points + first;
    if (add) {
      for (int64_t i = 0; i < n; ++i) y[i] += interpolated_value(points, i, x);
    } else {
      for (int64_t i = 0; i < n; ++i) y[i] = interpolated_value(points, i, x);
    }
  }
}

// Computes dx for planes [first_plane, last_plane) of one image.
template <typename T>
void add_data_gradients(const SamplerShape& s, const T* grid, const T* dy, T* dx, bool add,
                        int64_t image, int64_t first_plane, int64_t last_plane) {
  SamplePoints<T> points;
  const int64_t plane = s.height * s.width;
  T* planes = dx + image * s.channels * plane;
  if (!add)
    std::memset(planes + first_plane * plane, 0,
                static_cast<size_t>((last_plane - first_plane) * plane) * sizeof(T));
  for (int64_t first = 0; first < s.points; first += POINTS) {
    const int64_t n = first + POINTS < s.points ? static_cast<int64_t>(POINTS) : s.points - first;
    locate_grid_points(s, grid + image * 2 * s.points, first, n, &points);
    for (int64_t c = first_plane; c < last_plane; ++c) {
      const T* g = dy + (image * s.channels + c) * s.points + first;
      for (int64_t i = 0; i < n; ++i) add_gradient(points, i, g[i], planes + c * plane);
    }
  }
}

template <typename T>
void grid_gradient_block(const SamplerShape& s, const T* data, const T* grid, const T* dy, T* dgrid,
                         bool add, int64_t block) {
  SamplePoints<T> points;
  T along_x[POINTS] = {}, along_y[POINTS] = {};
  int64_t image, first;
  const int64_t n = locate_point_block(s, block, &image, &first), plane = s.height * s.width;
  locate_grid_points(s, grid + image * 2 * s.points, first, n, &points);
  for (int64_t c = image * s.channels; c < (image + 1) * s.channels; ++c) {
    const T* x = data + c * plane;
    const T* g = dy + c * s.points + first;
    for (int64_t i = 0; i < n; ++i) {
      along_y[i] += g[i] * derivative_y(points, i, x);
      along_x[i] += g[i] * derivative_x(points, i, x);
    }
  }
  const T wide = static_cast<T>(s.width - 1) / T(2), high = static_cast<T>(s.height - 1) / T(2);
  T* out = dgrid + image * 2 * s.points + first;
  for (int64_t i = 0; i < n; ++i) {
    write_or_add(out + i, along_x[i] * wide, add);
    write_or_add(out + s.points + i, along_y[i] * high, add);
  }
}

template <typename T>
void sample(int threads, const SamplerShape& s, const T* data, const T* grid, T* out, bool add) {
  parallel_for(threads, s.batch * s.block_count(), [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) sample_block(s, data, grid, out, add, block);
  });
}

template <typename T>
void sample_data_gradient(int threads, const SamplerShape& s, const T* grid, const T* dy, T* dx,
                          bool add) {
  parallel_for(threads, s.batch * s.channels, [&](int64_t begin, int64_t end) {
    for_images(begin, end, s.channels, [&](int64_t image, int64_t first, int64_t last) {
      add_data_gradients(s, grid, dy, dx, add, image, first, last);
    });
  });
}

template <typename T>
void sample_grid_gradient(int threads, const SamplerShape& s, const T* data, const T* grid,
                          const T* dy, T* dgrid, bool add) {
  parallel_for(threads, s.batch * s.block_count(), [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block)
      grid_gradient_block(s, data, grid, dy, dgrid, add, block);
  });
}

// reads data, grid
template <typename T>
void bilinear_sampler(const Args& args) {
  const SamplerShape s(args.in[0], args.out[0]);
  sample(args.threads, s, args.input<T>(0), args.input<T>(1), args.output<T>(0), args.add[0]);
}

// reads d_output, data, grid; writes d_data, d_grid
template <typename T>
void bilinear_sampler_grad(const Args& args) {
  const SamplerShape s(args.in[1], args.in[0]);
  const T *dy = args.input<T>(0), *grid = args.input<T>(2);
  if (args.wanted[0])
    sample_data_gradient(args.threads, s, grid, dy, args.output<T>(0), args.add[0]);
  if (args.wanted[1])
    sample_grid_gradient(args.threads, s, args.input<T>(1), grid, dy, args.output<T>(1),
                         args.add[1]);
}

// reads data, loc
template <typename T>
void spatial_transformer(const Args& args) {
  const SamplerShape s(args.in[0], args.out[0]);
  T* grid = static_cast<T*>(args.space);
  make_affine_grid(args.threads, args.out[0]->shape, args.input<T>(1), grid, false);
  sample<T>(args.threads, s, args.input<T>(0), grid, args.output<T>(0), args.add[0]);
}

// reads d_output, data, loc; writes d_data, d_loc
template <typename T>
void spatial_transformer_grad(const Args& args) {
  const SamplerShape s(args.in[1], args.in[0]);
  const T* dy = args.input<T>(0);
  T *grid = static_cast<T*>(args.space), *dgrid = grid + s.batch * 2 * s.points;
  make_affine_grid(args.threads, args.in[0]->shape, args.input<T>(2), grid, false);
  if (args.wanted[0])
    sample_data_gradient<T>(args.threads, s, grid, dy, args.output<T>(0), args.add[0]);
  if (!args.wanted[1]) return;
  sample_grid_gradient<T>(args.threads, s, args.input<T>(1), grid, dy, dgrid, false);
  affine_grid_gradient<T>(args.threads, args.in[0]->shape, dgrid, args.output<T>(1), args.add[1]);
}

}  // namespace
#endif
