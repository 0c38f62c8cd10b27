// Pooling over windows of up to three spatial axes: planes by whole rows, or window by window, and
// channels-last floats.
#ifndef CYNET_LANES
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "isa/simd_levels.h"
#include "kernel.h"

namespace cynet {
// Pools planes of in_size to planes of out_size; missing leading axes have size 1. `p`: of POOL_LP.
// `count_pad`: averages divide by the window, clipped to the padded input; only then pad_after
// matters. `last`: memory is (batch, *size, channels), of floats.
#define POOL_SHAPE_FIELDS(field)                                                                \
  field(int, type) field(int, p) field(bool, count_pad) field(bool, last) field(int64_t, batch) \
      field(int64_t, channels) field(Int64s<3>, in_size) field(Int64s<3>, out_size)             \
          field(Int64s<3>, kernel) field(Int64s<3>, stride) field(Int64s<3>, pad)               \
              field(Int64s<3>, pad_after)
CYNET_PARAMS(PoolShape, POOL_SHAPE_FIELDS)

enum { POOL_MAX, POOL_AVG, POOL_SUM, POOL_LP };
enum { POOL_LINE = 2048, POOL_OUT = 1024, POOL_KERNEL = 512 };
enum { POOL_HALF = POOL_LINE / 2 + 64 };

// [begin, end) of the window of output `at` along an axis, inside the input; returns its extent as
// an average counts it
CYNET_XINLINE int64_t pool_window_range(const PoolShape& s, int axis, int64_t at, int64_t* begin,
                                        int64_t* end) {
  int64_t from = at * s.stride[axis] - s.pad[axis], to = from + s.kernel[axis];
  const int64_t limit = s.in_size[axis] + s.pad_after[axis];
  int64_t counted = (to < limit ? to : limit) - from;
  from = from < 0 ? 0 : from;
  to = to > s.in_size[axis] ? s.in_size[axis] : to;
  *begin = from;
  *end = to;
  if (!s.count_pad) counted = to - from;
  return counted > 0 ? counted : 0;
}

// True if one window covers the whole plane.
static inline bool is_window_whole_plane(const PoolShape& s) {
  for (int i = 0; i < 3; ++i)
    if (s.out_size[i] != 1 || s.kernel[i] != s.in_size[i] || s.pad[i] || s.pad_after[i])
      return false;
  return true;
}

// A 2-d window over planes.
struct PoolWindow {  // a 2-d window that slides over planes
  int64_t batch, channels, in_size[2], out_size[2], kernel[2], stride[2], pad[2], pad_after[2];
  int type, count_pad;
};
}  // namespace cynet

#define CYNET_PER_ISA_FILE "pooling/pooling_loops.h"
#include "isa/for_each_isa.h"
#define CYNET_PER_ISA_FILE "pooling/pooling_back_loops.h"
#include "isa/for_each_isa.h"
#define CYNET_PER_ISA_FILE "pooling/channels_last_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

// True if a window's rows can be reduced first: no power means, short lines, no empty window.
static bool can_reduce_rows(const PoolShape& s) {
  if (s.type == POOL_LP || s.kernel[2] > POOL_KERNEL || s.stride[2] > POOL_KERNEL) return false;
  for (int i = 0; i < 3; ++i) {
    const int64_t last = (s.out_size[i] - 1) * s.stride[i] - s.pad[i];
    if (s.pad[i] >= s.kernel[i] || last >= s.in_size[i]) return false;
  }
  return true;
}

// True if `pool_rows` computes this pooling.
static bool can_pool_by_rows(const PoolShape& s) {
  return can_reduce_rows(s) || (s.type != POOL_LP && is_window_whole_plane(s));
}

// True if backward runs by rows: indices in a plane must also fit 32 bits.
static bool can_backward_by_rows(const PoolShape& s) {
  return can_reduce_rows(s) && s.in_size[0] * s.in_size[1] * s.in_size[2] < (int64_t{1} << 30);
}

// True if each element of the input lies in exactly one window.
static bool is_input_tiled(const PoolShape& s) {
  for (int i = 0; i < 3; ++i)
    if (s.stride[i] != s.kernel[i] || s.pad[i] || s.out_size[i] * s.kernel[i] != s.in_size[i])
      return false;
  return true;
}

static int64_t element_count(const Int64s<3>& size) { return size[0] * size[1] * size[2]; }

// --- window by window, for any machine ----------------------------------------------------------
struct WindowPosition {  // a pooling window's bounds
  int64_t begin[3], end[3], counted;
};

// Calls body(window, i) for each output.
template <class Body>
static void for_windows(const PoolShape& s, Body&& body) {
  WindowPosition a;
  int64_t i = 0;
  for (int64_t d = 0; d < s.out_size[0]; ++d) {
    const int64_t deep = pool_window_range(s, 0, d, &a.begin[0], &a.end[0]);
    for (int64_t h = 0; h < s.out_size[1]; ++h) {
      const int64_t high = deep * pool_window_range(s, 1, h, &a.begin[1], &a.end[1]);
      for (int64_t w = 0; w < s.out_size[2]; ++w, ++i) {
        a.counted = high * pool_window_range(s, 2, w, &a.begin[2], &a.end[2]);
        body(a, i);
      }
    }
  }
}

// Calls body(offset) for each element of a window, until it returns true.
template <class Body>
static inline void for_elements(const PoolShape& s, const WindowPosition& a, Body&& body) {
  for (int64_t d = a.begin[0]; d < a.end[0]; ++d)
    for (int64_t h = a.begin[1]; h < a.end[1]; ++h) {
      const int64_t row = (d * s.in_size[1] + h) * s.in_size[2];
      for (int64_t at = row + a.begin[2]; at < row + a.end[2]; ++at)
        if (body(at)) return;
    }
}

// Returns the first maximum in the window, or a NaN; `where` is its offset, -1 for an empty window.
template <typename T>
static T window_maximum(const PoolShape& s, const WindowPosition& a, const T* x, int64_t* where) {
  T best = std::numeric_limits<T>::lowest();
  *where = -1;
  for_elements(s, a, [&](int64_t at) {
    const T value = x[at];
    if (value > best || value != value || *where < 0) {
      if (best != best) return true;
      best = value;
      *where = at;
    }
    return false;
  });
  return best;
}

template <typename T>
static T window_sum(const PoolShape& s, const WindowPosition& a, const T* x) {
  const int p = s.type == POOL_LP ? s.p : 1;
  T total = 0;
  for_elements(s, a, [&](int64_t at) {
    total += p == 1 ? x[at] : p == 2 ? x[at] * x[at] : x[at] * x[at] * x[at];
    return false;
  });
  if (p == 2) return std::sqrt(total);
  if (p == 3) return std::cbrt(total);
  if (s.type == POOL_AVG) return a.counted > 0 ? total / a.counted : T(0);
  return total;
}

template <typename T>
static void pool_plane(const PoolShape& s, const T* x, T* y, bool add) {
  int64_t where;
  for_windows(s, [&](const WindowPosition& a, int64_t i) {
    const T value = s.type == POOL_MAX ? window_maximum(s, a, x, &where) : window_sum(s, a, x);
    y[i] = add ? y[i] + value : value;
  });
}

template <typename T>
static void unpool_plane(const PoolShape& s, const T* dy, const T* x, const T* y, T* dx) {
  for_windows(s, [&](const WindowPosition& a, int64_t i) {
    const bool roots = s.type == POOL_LP && s.p > 1;
    T grad = dy[i];
    if (s.type == POOL_MAX) {
      int64_t where;
      window_maximum(s, a, x, &where);
      if (where >= 0) dx[where] += grad;
      return;
    }
    if (s.type == POOL_AVG) {
      if (a.counted <= 0) return;
      grad /= a.counted;
    } else if (roots && y[i] == 0) {
      return;
    }
    for_elements(s, a, [&](int64_t at) {
      const T ratio = roots ? x[at] / y[i] : T(1);
      dx[at] += grad * (roots && s.p == 3 ? ratio * ratio : ratio);
      return false;
    });
  });
}

// --- channels last --------------------------------------------------------------------------
// A 3-d window is one over planes and then one along depth: of equal maxima the first one in memory
// gets the gradient, as in row-major order.
struct TwoPassWindows {  // over planes, then along depth
  PoolWindow plane, depth;
  bool deep;
  size_t nbytes;  // bytes of the result of the first window

  explicit TwoPassWindows(const PoolShape& s) {  // 3-d pooling as planes, then depth
    const int64_t across = s.out_size[1] * s.out_size[2];
    plane = {s.batch * s.in_size[0],
             s.channels,
             {s.in_size[1], s.in_size[2]},
             {s.out_size[1], s.out_size[2]},
             {s.kernel[1], s.kernel[2]},
             {s.stride[1], s.stride[2]},
             {s.pad[1], s.pad[2]},
             {s.pad_after[1], s.pad_after[2]},
             s.type,
             s.count_pad};
    depth = {s.batch,          s.channels,       {s.in_size[0], across}, {s.out_size[0], across},
             {s.kernel[0], 1}, {s.stride[0], 1}, {s.pad[0], 0},          {s.pad_after[0], 0},
             s.type,           s.count_pad};
    deep = s.in_size[0] != 1 || s.kernel[0] != 1 || s.out_size[0] != 1;
    const int64_t size = s.batch * s.channels * s.in_size[0] * across;
    nbytes = deep ? (size * sizeof(float) + 63) / 64 * 64 : 0;
  }
};

static int64_t pool_workspace_bytes(const Args& args) {
  const PoolShape& s = args.as<PoolShape>();
  return s.last ? 2 * TwoPassWindows(s).nbytes : 0;
}
}  // namespace cynet

#define CYNET_PER_ISA_FILE "pooling/pooling.cc"
#include "isa/for_each_isa.h"

CYNET_SPACE_KERNEL(pool, PoolShape, 1, pool_workspace_bytes, CYNET_FLOATS)
CYNET_SPACE_KERNEL(pool_grad, PoolShape, 1, pool_workspace_bytes, CYNET_FLOATS)
#else
namespace {

void pool_channels_last(const Args& args, const PoolShape& s) {
  const TwoPassWindows w(s);
  const float* x = args.input<float>(0);
  float *y = args.output<float>(0), *between = static_cast<float*>(args.space);
  if (!w.deep) return pool_images(&w.plane, x, y, args.add[0], args.threads);
  pool_images(&w.plane, x, between, false, args.threads);
  pool_images(&w.depth, between, y, args.add[0], args.threads);
}

void pool_channels_last_grad(const Args& args, const PoolShape& s) {
  const TwoPassWindows w(s);
  const float *dy = args.input<float>(0), *x = args.input<float>(1);
  float *dx = args.output<float>(0), *between = static_cast<float*>(args.space);
  float* grad = between + w.nbytes / sizeof(float);
  if (!w.deep) return unpool_images(&w.plane, dy, x, dx, args.add[0], args.threads);
  if (s.type == POOL_MAX) pool_images(&w.plane, x, between, false, args.threads);
  unpool_images(&w.depth, dy, between, grad, false, args.threads);
  unpool_images(&w.plane, grad, x, dx, args.add[0], args.threads);
}

// y (+)= pool(x). A window that lies outside: the lowest finite number for max, 0 for the others.
template <typename T>
void pool(const Args& args) {
  const PoolShape& s = args.as<PoolShape>();
  if (s.last) return pool_channels_last(args, s);
  const int64_t inside = element_count(s.in_size), outside = element_count(s.out_size);
  const bool rows = can_pool_by_rows(s), add = args.add[0];
  parallel_for(args.threads, s.batch * s.channels, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const T* x = args.input<T>(0) + plane * inside;
      T* y = args.output<T>(0) + plane * outside;
      if (!rows) pool_plane(s, x, y, add);
      else if (s.type == POOL_MAX) pool_rows<T, true>(s, x, y, add);
      else pool_rows<T, false>(s, x, y, add);
    }
  });
}

// dx (+)= the gradient; the first of equal maxima gets it. Reads dy, x and, for roots, y.
template <typename T>
void pool_grad(const Args& args) {
  const PoolShape& s = args.as<PoolShape>();
  if (s.last) return pool_channels_last_grad(args, s);
  const int64_t inside = element_count(s.in_size), outside = element_count(s.out_size);
  const bool rows = can_backward_by_rows(s), add = args.add[0];
  const bool fresh = rows && !add && s.type != POOL_MAX && is_input_tiled(s);
  const T *in = args.input<T>(1), *out = args.input<T>(2);
  parallel_for(args.threads, s.batch * s.channels, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const T *dy = args.input<T>(0) + plane * outside, *x = in ? in + plane * inside : in;
      T* dx = args.output<T>(0) + plane * inside;
      if (!add && !fresh) std::memset(dx, 0, inside * sizeof(T));
      if (!rows) unpool_plane(s, dy, x, out ? out + plane * outside : out, dx);
      else if (s.type == POOL_MAX) max_pool_rows_grad(s, dy, x, dx);
      else sum_pool_rows_grad(s, dy, dx, fresh);
    }
  });
}
}
#endif
