// Choosing: one of two arrays by a condition, values kept within bounds, and the clip's gradient.
#include "common.cuh"

// out (+)= condition ? a : b
template <typename T, typename C>
__global__ void where(const C* condition, const T* a, const T* b, T* out, Index n, int add) {
  CYNET_EACH(i, n) put(out, i, condition[i] != C(0) ? load(a, i) : load(b, i), add);
}

// out (+)= x within [low, high]; NaN stays
template <typename T>
__global__ void clip(const T* x, T* out, Index n, double low, double high, int add) {
  typedef computed<T> V;
  const V least = static_cast<V>(low), most = static_cast<V>(high);
  CYNET_EACH(i, n) {
    const V v = load(x, i);
    put(out, i, v < least ? least : (v > most ? most : v), add);
  }
}

// dx (+)= dy where x lies within the bounds
template <typename T>
__global__ void clip_grad(const T* dy, const T* x, T* dx, Index n, double low, double high,
                          int add) {
  typedef computed<T> V;
  const V least = static_cast<V>(low), most = static_cast<V>(high);
  CYNET_EACH(i, n) {
    const V v = load(x, i);
    put(dx, i, v < least || v > most ? V(0) : load(dy, i), add);
  }
}
