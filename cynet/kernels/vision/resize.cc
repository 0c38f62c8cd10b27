// Planes resized: BilinearResize2D and AdaptiveAvgPooling2D, and their gradients.
#ifndef CYNET_LANES
#include "kernel.h"
#include "vision/bilinear.h"

namespace cynet {
namespace {

// `align_corners`: the outer pixels' centres stay where they are; else the outer edges
#define RESIZE_FIELDS(field) field(bool, align_corners)
CYNET_PARAMS(Resize, RESIZE_FIELDS)

struct ResizeShape {  // sizes of planes before and after
  int64_t planes, in_size[2], out_size[2];
  ResizeShape(const Blob* x, const Blob* y)
      : planes(x->shape[0] * x->shape[1]),
        in_size{x->shape[2], x->shape[3]},
        out_size{y->shape[2], y->shape[3]} {}
  // Bytes of workspace: for sources along both axes, and for a row of each thread.
  int64_t row_bytes() const { return (in_size[1] * 8 + 63) / 64 * 64; }  // workspace of a row
  int64_t sources_bytes() const;
};

// The input of output i along an axis: [first, last) for a mean, or two neighbours (first, last)
// and the weight of the second.
struct ResizeSource {  // inputs of one output
  int64_t first, last;
  double weight;
};

// The sources of bilinear interpolation along one axis, computed in T.
template <typename T>
void bilinear_sources(int64_t in, int64_t out, bool align_corners, ResizeSource* sources) {
  const T scale = align_corners
                      ? (out > 1 ? static_cast<T>(in - 1) / static_cast<T>(out - 1) : T(0))
                      : static_cast<T>(in) / static_cast<T>(out);
  for (int64_t i = 0; i < out; ++i) {
    T at = align_corners ? static_cast<T>(i) * scale : (static_cast<T>(i) + T(.5)) * scale - T(.5);
    if (at < T(0)) at = T(0);
    int64_t low = static_cast<int64_t>(at);
    if (low > in - 1) low = in - 1;
    sources[i] = {low, low < in - 1 ? low + 1 : low, static_cast<double>(at - static_cast<T>(low))};
  }
}

inline void mean_sources(int64_t in, int64_t out, ResizeSource* sources) {  // inputs of means
  for (int64_t i = 0; i < out; ++i) sources[i] = {i * in / out, ((i + 1) * in + out - 1) / out, 0};
}

inline int64_t ResizeShape::sources_bytes() const {
  return ((out_size[0] + out_size[1]) * int64_t(sizeof(ResizeSource)) + 63) / 64 * 64;
}
inline int64_t resize_workspace_bytes(const Args& args) {
  const ResizeShape s(args.in[0], args.out[0]);
  return s.sources_bytes() + args.threads * s.row_bytes();
}
inline int64_t resize_grad_workspace_bytes(const Args& args) {
  const ResizeShape s(args.out[0], args.in[0]);
  return s.sources_bytes() + args.threads * s.row_bytes();
}

}  // namespace
}  // namespace cynet

#define CYNET_PER_ISA_FILE "vision/resize.cc"
#include "isa/for_each_isa.h"

CYNET_SPACE_KERNEL(bilinear_resize, Resize, 4, resize_workspace_bytes, CYNET_FLOATS)
CYNET_SPACE_KERNEL(bilinear_resize_grad, Resize, 4, resize_grad_workspace_bytes, CYNET_FLOATS)
CYNET_SPACE_KERNEL(adaptive_avg_pool, NoParams, 4, resize_workspace_bytes, CYNET_FLOATS)
CYNET_SPACE_KERNEL(adaptive_avg_pool_grad, NoParams, 4, resize_grad_workspace_bytes, CYNET_FLOATS)
#else
namespace {

template <typename T>
void resize_plane(const ResizeShape& s, const ResizeSource* rows, const ResizeSource* columns,
                  const T* x, T* y, bool add, void* space) {
  T* line = static_cast<T*>(space);  // interpolation of two rows of x
  for (int64_t i = 0; i < s.out_size[0]; ++i) {
    const T* upper = x + rows[i].first * s.in_size[1];
    const T* lower = x + rows[i].last * s.in_size[1];
    const T part = static_cast<T>(rows[i].weight), rest = T(1) - part;
    CYNET_IVDEP
    for (int64_t w = 0; w < s.in_size[1]; ++w) line[w] = rest * upper[w] + part * lower[w];
    for (int64_t j = 0; j < s.out_size[1]; ++j) {
      const T weight = static_cast<T>(columns[j].weight);
      write_or_add(y++, (T(1) - weight) * line[columns[j].first] + weight * line[columns[j].last],
                   add);
    }
  }
}

template <typename T>
void resize_plane_backward(const ResizeShape& s, const ResizeSource* rows,
                           const ResizeSource* columns, const T* dy, T* dx, bool add, void* space) {
  T* line = static_cast<T*>(space);
  if (!add) std::memset(dx, 0, static_cast<size_t>(s.in_size[0] * s.in_size[1]) * sizeof(T));
  for (int64_t i = 0; i < s.out_size[0]; ++i) {
    for (int64_t w = 0; w < s.in_size[1]; ++w) line[w] = T(0);
    for (int64_t j = 0; j < s.out_size[1]; ++j) {
      const T g = *dy++, weight = static_cast<T>(columns[j].weight);
      line[columns[j].first] += (T(1) - weight) * g;
      line[columns[j].last] += weight * g;
    }
    T* upper = dx + rows[i].first * s.in_size[1];
    T* lower = dx + rows[i].last * s.in_size[1];
    const T part = static_cast<T>(rows[i].weight), rest = T(1) - part;
    CYNET_IVDEP
    for (int64_t w = 0; w < s.in_size[1]; ++w) upper[w] += rest * line[w];
    CYNET_IVDEP
    for (int64_t w = 0; w < s.in_size[1]; ++w) lower[w] += part * line[w];
  }
}

template <typename T>
void mean_plane(const ResizeShape& s, const ResizeSource* rows, const ResizeSource* columns,
                const T* x, T* y, bool add, void* space) {
  double* line = static_cast<double*>(space);  // sums of rows
  for (int64_t i = 0; i < s.out_size[0]; ++i) {
    for (int64_t w = 0; w < s.in_size[1]; ++w) line[w] = 0;
    for (int64_t h = rows[i].first; h < rows[i].last; ++h) {
      const T* row = x + h * s.in_size[1];
      CYNET_IVDEP
      for (int64_t w = 0; w < s.in_size[1]; ++w) line[w] += row[w];
    }
    for (int64_t j = 0; j < s.out_size[1]; ++j) {
      double total = 0;
      for (int64_t w = columns[j].first; w < columns[j].last; ++w) total += line[w];
      const int64_t area = (rows[i].last - rows[i].first) * (columns[j].last - columns[j].first);
      write_or_add(y++, static_cast<T>(total / static_cast<double>(area)), add);
    }
  }
}

template <typename T>
void mean_plane_backward(const ResizeShape& s, const ResizeSource* rows,
                         const ResizeSource* columns, const T* dy, T* dx, bool add, void* space) {
  T* line = static_cast<T*>(space);
  if (!add) std::memset(dx, 0, static_cast<size_t>(s.in_size[0] * s.in_size[1]) * sizeof(T));
  for (int64_t i = 0; i < s.out_size[0]; ++i) {
    for (int64_t w = 0; w < s.in_size[1]; ++w) line[w] = T(0);
    for (int64_t j = 0; j < s.out_size[1]; ++j) {
      const int64_t area = (rows[i].last - rows[i].first) * (columns[j].last - columns[j].first);
      const T g = *dy++ / static_cast<T>(area);
      for (int64_t w = columns[j].first; w < columns[j].last; ++w) line[w] += g;
    }
    for (int64_t h = rows[i].first; h < rows[i].last; ++h) {
      T* row = dx + h * s.in_size[1];
      CYNET_IVDEP
      for (int64_t w = 0; w < s.in_size[1]; ++w) row[w] += line[w];
    }
  }
}

// Calls loop(..., from, to, add, row) for all planes; `fill` fills an axis' sources.
template <typename T, class FillSources, class Loop>
void resize_planes(const Args& args, const ResizeShape& s, FillSources fill, Loop loop) {
  ResizeSource* rows = static_cast<ResizeSource*>(args.space);
  ResizeSource* columns = rows + s.out_size[0];
  fill(s.in_size[0], s.out_size[0], rows);
  fill(s.in_size[1], s.out_size[1], columns);
  const int64_t from = args.in[0]->size / s.planes, to = args.out[0]->size / s.planes;
  const int64_t parts = args.threads < s.planes ? args.threads : s.planes;
  for_parts(parts, [&](int64_t part) {
    char* row = static_cast<char*>(args.space) + s.sources_bytes() + part * s.row_bytes();
    for (int64_t p = s.planes * part / parts; p < s.planes * (part + 1) / parts; ++p)
      loop(s, rows, columns, args.input<T>(0) + p * from, args.output<T>(0) + p * to, args.add[0],
           row);
  });
}

template <typename T, class Loop>
void interpolate_planes(const Args& args, const ResizeShape& s, Loop loop) {
  const bool align_corners = args.as<Resize>().align_corners;
  const auto fill = [=](int64_t in, int64_t out, ResizeSource* to) {
    bilinear_sources<T>(in, out, align_corners, to);
  };
  resize_planes<T>(args, s, fill, loop);
}

template <typename T>
void bilinear_resize(const Args& args) {
  interpolate_planes<T>(args, ResizeShape(args.in[0], args.out[0]), resize_plane<T>);
}
template <typename T>
void bilinear_resize_grad(const Args& args) {
  interpolate_planes<T>(args, ResizeShape(args.out[0], args.in[0]), resize_plane_backward<T>);
}
template <typename T>
void adaptive_avg_pool(const Args& args) {
  resize_planes<T>(args, ResizeShape(args.in[0], args.out[0]), mean_sources, mean_plane<T>);
}
template <typename T>
void adaptive_avg_pool_grad(const Args& args) {
  resize_planes<T>(args, ResizeShape(args.out[0], args.in[0]), mean_sources,
                   mean_plane_backward<T>);
}

}  // namespace
#endif
