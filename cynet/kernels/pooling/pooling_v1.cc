// Pooling_v1: windows include the zeros of the padding; each window is computed separately.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernel.h"

namespace cynet {
#define POOL_V1_FIELDS(field)                                                                  \
  field(int64_t, planes) field(Int64s<2>, size) field(Int64s<2>, out) field(Int64s<2>, kernel) \
      field(Int64s<2>, stride) field(Int64s<2>, pad) field(bool, maximum) field(double, divisor)
CYNET_PARAMS(PoolV1, POOL_V1_FIELDS)

struct WindowSpan {  // a window's pixels along an axis
  int64_t begin, end;   // begin and end of a window in the data
  bool zeros, nothing;  // it includes padding; it begins after the padding
};

static WindowSpan window_span(const PoolV1& p, int axis, int64_t at) {
  const int64_t first = at * p.stride[axis] - p.pad[axis];
  const int64_t last = std::min(first + p.kernel[axis], p.size[axis] + p.pad[axis]);
  const int64_t begin = std::max<int64_t>(first, 0), end = std::min(last, p.size[axis]);
  return {begin, end, first < begin || last > end, first >= last};
}

// Calls body(down, across, i) for the windows of a plane.
template <class Body>
static void for_window_spans(const PoolV1& p, Body&& body) {
  for (int64_t i = 0; i < p.out[0]; ++i)
    for (int64_t j = 0; j < p.out[1]; ++j)
      body(window_span(p, 0, i), window_span(p, 1, j), i * p.out[1] + j);
}

// Calls body(x, y) for each plane: offsets in the data and in the output.
template <class Body>
static void for_planes(const Args& args, const PoolV1& p, Body&& body) {
  const int64_t inside = p.size[0] * p.size[1], outside = p.out[0] * p.out[1];
  parallel_for(args.threads, p.planes, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) body(plane * inside, plane * outside);
  });
}

template <bool maximum, typename T>
static void pool_planes(const Args& args) {
  const PoolV1& p = args.as<PoolV1>();
  const int64_t width = p.size[1];
  for_planes(args, p, [&](int64_t from, int64_t to) {
    const T* x = args.input<T>(0) + from;
    T* y = args.output<T>(0) + to;
    for_window_spans(p, [&](const WindowSpan down, const WindowSpan across, int64_t i) {
      const bool zeros = down.zeros || across.zeros, nothing = down.nothing || across.nothing;
      T value = maximum && (nothing || !zeros) ? T(-INFINITY) : T(0);
      for (int64_t r = down.begin; r < down.end; ++r)
        for (int64_t c = across.begin; c < across.end; ++c) {
          const T element = x[r * width + c];
          if (!maximum) value += element;
          else if (element > value || element != element) value = element;
        }
      value = T(value / p.divisor);
      y[i] = args.add[0] ? y[i] + value : value;
    });
  });
}

template <typename T>
static void pool_v1(const Args& args) {
  (args.as<PoolV1>().maximum ? pool_planes<true, T> : pool_planes<false, T>)(args);
}

// All elements that are equal to the maximum get its gradient.
template <bool maximum, typename T>
static void unpool_planes(const Args& args) {
  const PoolV1& p = args.as<PoolV1>();
  const int64_t width = p.size[1];
  for_planes(args, p, [&](int64_t to, int64_t from) {
    const T* dy = args.input<T>(0) + from;
    const T* x = maximum ? args.input<T>(1) + to : nullptr;
    const T* y = maximum ? args.input<T>(2) + from : nullptr;
    T* dx = args.output<T>(0) + to;
    for_window_spans(p, [=, &p](const WindowSpan down, const WindowSpan across, int64_t i) {
      const T value = T(dy[i] / p.divisor);
      for (int64_t r = down.begin; r < down.end; ++r)
        for (int64_t at = r * width + across.begin; at < r * width + across.end; ++at)
          if (!maximum || x[at] == y[i]) dx[at] += value;
    });
  });
}

// Reads dy and, for maxima, x and y.
template <typename T>
static void pool_v1_grad(const Args& args) {
  if (!args.add[0]) memset(args.out[0]->data, 0, args.out[0]->size * sizeof(T));
  (args.as<PoolV1>().maximum ? unpool_planes<true, T> : unpool_planes<false, T>)(args);
}
}  // namespace cynet

CYNET_PLAIN_KERNEL(pool_v1, PoolV1, 1, CYNET_FLOATS)
CYNET_PLAIN_KERNEL(pool_v1_grad, PoolV1, 1, CYNET_FLOATS)
