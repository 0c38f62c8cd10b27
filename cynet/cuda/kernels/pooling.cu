// Pooling of (images, height, width) planes, a thread for each element of the result. Every window
// begins at its place times the stride minus the padding and is cut at the plane's edges.
#include "common.cuh"

struct Window {
  Index planes;  // batch times channels
  int height, width, out_height, out_width;
  int kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
  int include_pad;  // an average divides by the window's size within the padded plane
};

struct Span {
  int from, to, padded;  // within the plane; length before the cut at the plane's edges
};

__device__ inline Span span(int place, int kernel, int stride, int pad, int size) {
  const int begin = place * stride - pad;
  const int end = begin + kernel < size + pad ? begin + kernel : size + pad;
  Span s;
  s.padded = end - begin;
  s.from = begin > 0 ? begin : 0;
  s.to = end < size ? end : size;
  return s;
}

// The place of the largest element of a window, the first of equals; NaN is larger than all.
template <typename T>
__device__ inline Index largest(const T* plane, Span rows, Span columns, int width) {
  Index best = static_cast<Index>(rows.from) * width + columns.from;
  for (int i = rows.from; i < rows.to; ++i)
    for (int j = columns.from; j < columns.to; ++j) {
      const Index at = static_cast<Index>(i) * width + j;
      const computed<T> x = load(plane, at), top = load(plane, best);
      if (x > top || (x != x && top == top)) best = at;
    }
  return best;
}

__device__ inline void window(const Window& s, Index i, Span* rows, Span* columns, Index* plane) {
  *columns = span(static_cast<int>(i % s.out_width), s.kernel_w, s.stride_w, s.pad_w, s.width);
  *rows = span(static_cast<int>(i / s.out_width % s.out_height), s.kernel_h, s.stride_h, s.pad_h,
               s.height);
  *plane = i / s.out_width / s.out_height * s.height * s.width;
}

template <typename T>
__global__ void max_pool(const T* x, T* y, const Window s, int add) {
  CYNET_EACH(i, s.planes * s.out_height * s.out_width) {
    Span rows, columns;
    Index plane;
    window(s, i, &rows, &columns, &plane);
    put(y, i, load(x, plane + largest(x + plane, rows, columns, s.width)), add);
  }
}

// The sum of each window, divided by its size for an average.
template <typename T>
__global__ void sum_pool(const T* x, T* y, const Window s, int average, int add) {
  CYNET_EACH(i, s.planes * s.out_height * s.out_width) {
    Span rows, columns;
    Index plane;
    window(s, i, &rows, &columns, &plane);
    computed<T> sum = 0;
    for (int r = rows.from; r < rows.to; ++r)
      for (int c = columns.from; c < columns.to; ++c)
        sum += load(x, plane + static_cast<Index>(r) * s.width + c);
    const int cut = (rows.to - rows.from) * (columns.to - columns.from);
    if (average) sum /= s.include_pad ? rows.padded * columns.padded : cut;
    put(y, i, sum, add);
  }
}

// A thread for each element of x gathers from the windows that it lies in, so nothing is added
// twice at once and the sum has one order.
template <typename T>
__global__ void pool_grad(const T* dy, const T* x, T* dx, const Window s, int largest_only,
                          int average, int add) {
  CYNET_EACH(i, s.planes * s.height * s.width) {
    const int column = static_cast<int>(i % s.width);
    const int row = static_cast<int>(i / s.width % s.height);
    const Index which = i / s.width / s.height, plane = which * s.height * s.width;
    const int first_h = row + s.pad_h - s.kernel_h, first_w = column + s.pad_w - s.kernel_w;
    computed<T> sum = 0;
    for (int h = first_h < 0 ? 0 : first_h / s.stride_h + 1;
         h < s.out_height && h * s.stride_h - s.pad_h <= row; ++h)
      for (int w = first_w < 0 ? 0 : first_w / s.stride_w + 1;
           w < s.out_width && w * s.stride_w - s.pad_w <= column; ++w) {
        const Span rows = span(h, s.kernel_h, s.stride_h, s.pad_h, s.height);
        const Span columns = span(w, s.kernel_w, s.stride_w, s.pad_w, s.width);
        computed<T> g = load(dy, (which * s.out_height + h) * s.out_width + w);
        if (largest_only) {
          if (largest(x + plane, rows, columns, s.width) != i - plane) continue;
        } else if (average) {
          const int cut = (rows.to - rows.from) * (columns.to - columns.from);
          g /= s.include_pad ? rows.padded * columns.padded : cut;
        }
        sum += g;
      }
    put(dx, i, sum, add);
  }
}
