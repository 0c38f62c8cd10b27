// where, clip, hard_sigmoid, and their gradients.
#include "common.cuh"
#include "elementwise/convert.h"

// out (+)= condition ? a : b; a condition serves `each` neighbours, NULL is an array of zeros
template <typename T>
__global__ void where(const bool* condition, const T* a, const T* b, T* out, Index n, Index each,
                      int add) {
  CYNET_FOR(i, n) {
    const T* from = condition[i / each] ? a : b;
    store(out, i, from == nullptr ? opmath_t<T>(0) : load(from, i), add);
  }
}

// out (+)= x limited to [low, high]; NaN stays NaN
template <typename T>
__global__ void clip(const T* x, T* out, Index n, double low, double high, int add) {
  typedef opmath_t<T> V;
  const V least = cynet::lower_limit<V>(low), maximum = cynet::upper_limit<V>(high);
  CYNET_FOR(i, n) {
    const V v = load(x, i);
    store(out, i, v < least ? least : (v > maximum ? maximum : v), add);
  }
}

// dx (+)= dy where x lies within the bounds
template <typename T>
__global__ void clip_grad(const T* dy, const T* x, T* dx, Index n, double low, double high,
                          int add) {
  typedef opmath_t<T> V;
  const V least = cynet::lower_limit<V>(low), maximum = cynet::upper_limit<V>(high);
  CYNET_FOR(i, n) {
    const V v = load(x, i);
    store(dx, i, v < least || v > maximum ? V(0) : load(dy, i), add);
  }
}

// out (+)= slope * x + shift, limited to [0, 1]
template <typename T>
__global__ void hard_sigmoid(const T* x, T* out, Index n, double slope, double shift, int add) {
  typedef opmath_t<T> V;
  const V by = static_cast<V>(slope), more = static_cast<V>(shift);
  CYNET_FOR(i, n) {
    const V v = static_cast<V>(by * load(x, i) + more);
    store(out, i, v < V(0) ? V(0) : (v > V(1) ? V(1) : v), add);
  }
}

// dx (+)= slope * dy where 0 < y < 1
template <typename T>
__global__ void hard_sigmoid_grad(const T* dy, const T* y, T* dx, Index n, double slope, int add) {
  typedef opmath_t<T> V;
  const V by = static_cast<V>(slope);
  CYNET_FOR(i, n) {
    const V v = load(y, i);
    store(dx, i, v > V(0) && v < V(1) ? static_cast<V>(by * load(dy, i)) : V(0), add);
  }
}
