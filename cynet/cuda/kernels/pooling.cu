// Pooling over up to three axes, a thread for each element of the result. Every window begins at
// its place times the stride minus the padding and is cut at the plane's edges.
#include "common.cuh"

enum PoolType { MAX_POOL, AVG_POOL, SUM_POOL, LP_POOL };

struct Window {  // sizes of a pooling
  Index planes;  // batch times channels
  int type, p;   // type: a PoolType; p: the norm of LP_POOL, 1 to 3
  int count_pad;  // whether padding counts in the divisor of an average
  int size[3], out[3], kernel[3], stride[3], pad[3], pad_after[3];
};

struct Span {  // range of one pooling window
  int from[3], to[3];  // within the plane
  Index counted;       // divisor of an average
};

// The window of the output at (d, h, w).
__device__ inline Span window_span(const Window& s, const int* at) {
  Span r;
  r.counted = 1;
  for (int k = 0; k < 3; ++k) {
    const int begin = at[k] * s.stride[k] - s.pad[k], end = begin + s.kernel[k];
    const int maximum = s.size[k] + s.pad_after[k];
    r.from[k] = begin > 0 ? begin : 0;
    r.to[k] = end < s.size[k] ? end : s.size[k];
    const int counted = s.count_pad ? (end < maximum ? end : maximum) - begin : r.to[k] - r.from[k];
    r.counted *= counted > 0 ? counted : 0;
  }
  return r;
}

// The index of the first largest element of a window, a NaN counting as larger than all; -1 if the
// window is empty.
template <typename T>
__device__ inline Index index_of_largest(const T* plane, const Window& s, const Span& r) {
  Index best = -1;
  opmath_t<T> top = 0;
  for (int d = r.from[0]; d < r.to[0]; ++d)
    for (int h = r.from[1]; h < r.to[1]; ++h)
      for (int w = r.from[2]; w < r.to[2]; ++w) {
        const Index at = (static_cast<Index>(d) * s.size[1] + h) * s.size[2] + w;
        const opmath_t<T> x = load(plane, at);
        if (best < 0 || x > top || (x != x && top == top)) {
          best = at;
          top = x;
        }
      }
  return best;
}

// The initial value of a maximum.
__device__ inline float lowest_value(float) { return -3.402823466e+38f; }
__device__ inline double lowest_value(double) { return -1.7976931348623157e+308; }

template <typename T>
__device__ inline opmath_t<T> window_total(const T* plane, const Window& s, const Span& r) {
  const int p = s.type == LP_POOL ? s.p : 1;
  opmath_t<T> sum = 0;
  for (int d = r.from[0]; d < r.to[0]; ++d)
    for (int h = r.from[1]; h < r.to[1]; ++h)
      for (int w = r.from[2]; w < r.to[2]; ++w) {
        const opmath_t<T> x = load(plane, (static_cast<Index>(d) * s.size[1] + h) * s.size[2] + w);
        sum += p == 1 ? x : p == 2 ? x * x : x * x * x;
      }
  if (p == 2) return sqrt(sum);
  if (p == 3) return cbrt(sum);
  if (s.type == AVG_POOL) return r.counted ? sum / static_cast<opmath_t<T>>(r.counted) : 0;
  return sum;
}

// The plane of output i, and the output's position (d, h, w) in it.
__device__ inline Index plane_of(Index i, const Window& s, int* at) {  // sets `at`: its place
  for (int k = 2; k >= 0; --k) at[k] = static_cast<int>(divide_index(&i, s.out[k]));
  return i;
}

// y (+)= each window of x
template <typename T>
__global__ void pool(const T* x, T* y, const Window s, int add) {
  const Index plane_size = static_cast<Index>(s.size[0]) * s.size[1] * s.size[2];
  CYNET_FOR(i, s.planes * s.out[0] * s.out[1] * s.out[2]) {
    int at[3];
    const T* plane = x + plane_of(i, s, at) * plane_size;
    const Span r = window_span(s, at);
    if (s.type == MAX_POOL) {
      const Index best = index_of_largest(plane, s, r);
      store(y, i, best < 0 ? lowest_value(opmath_t<T>()) : load(plane, best), add);
    } else {
      store(y, i, window_total(plane, s, r), add);
    }
  }
}

// argmax[i] = the index of the maximum of window i in its plane
template <typename T>
__global__ void pool_argmax(const T* x, int* argmax, const Window s) {
  const Index plane_size = static_cast<Index>(s.size[0]) * s.size[1] * s.size[2];
  CYNET_FOR(i, s.planes * s.out[0] * s.out[1] * s.out[2]) {
    int at[3];
    const T* plane = x + plane_of(i, s, at) * plane_size;
    argmax[i] = static_cast<int>(index_of_largest(plane, s, window_span(s, at)));
  }
}

// dx (+)= the gradient. A thread for each element of x gathers from the windows that it lies in, so
// nothing is added twice at once and the sum has one order. MAX_POOL reads argmax; LP_POOL with
// p > 1 reads x and y.
template <typename T>
__global__ void pool_grad(const T* dy, const T* x, const T* y, const int* argmax, T* dx,
                          const Window s, int add) {
  const Index plane_size = static_cast<Index>(s.size[0]) * s.size[1] * s.size[2];
  CYNET_FOR(i, s.planes * plane_size) {
    Index rest = i;
    int first[3], last[3], at[3];
    for (int k = 2; k >= 0; --k) {
      const int place = static_cast<int>(divide_index(&rest, s.size[k])) + s.pad[k];
      first[k] = place < s.kernel[k] ? 0 : (place - s.kernel[k]) / s.stride[k] + 1;
      last[k] = place / s.stride[k] < s.out[k] ? place / s.stride[k] : s.out[k] - 1;
    }
    opmath_t<T> sum = 0;
    for (at[0] = first[0]; at[0] <= last[0]; ++at[0])
      for (at[1] = first[1]; at[1] <= last[1]; ++at[1])
        for (at[2] = first[2]; at[2] <= last[2]; ++at[2]) {
          const Index from = ((rest * s.out[0] + at[0]) * s.out[1] + at[1]) * s.out[2] + at[2];
          opmath_t<T> g = load(dy, from);
          if (s.type == MAX_POOL) {
            if (argmax[from] != i - rest * plane_size) continue;
          } else if (s.type == AVG_POOL) {
            g /= static_cast<opmath_t<T>>(window_span(s, at).counted);
          } else if (s.type == LP_POOL && s.p > 1) {
            const opmath_t<T> norm = load(y, from);
            if (norm == 0) continue;
            const opmath_t<T> ratio = load(x, i) / norm;
            g *= s.p == 2 ? ratio : ratio * ratio;
          }
          sum += g;
        }
    store(dx, i, sum, add);
  }
}
