// Gradients of the operators that end a network, and the sum of cross-entropies.
#include "common.cuh"

// dx (+)= scale (y - label), or the sign of the difference; times dy where it is given
template <typename T>
__global__ void difference_grad(const T* y, const T* label, const T* dy, T* dx, Index n,
                                double scale, int sign_only, int add) {
  typedef opmath_t<T> C;
  const C by = static_cast<C>(scale);
  CYNET_FOR(i, n) {
    C d = load(y, i) - load(label, i);
    if (sign_only) d = static_cast<C>((d > 0) - (d < 0));
    d *= by;
    if (dy != nullptr) d *= load(dy, i);
    store(dx, i, d, add);
  }
}

// counted += the number of elements above the threshold
template <typename T>
__global__ void count_above(const T* x, Index n, double threshold, unsigned long long* counted) {
  CYNET_FOR(i, n)
  if (load(x, i) > static_cast<opmath_t<T>>(threshold)) atomicAdd(counted, 1ull);
}

// counted += the number of infinite or NaN elements
template <typename T>
__global__ void count_not_finite(const T* x, Index n, unsigned long long* counted) {
  CYNET_FOR(i, n) {
    const opmath_t<T> v = load(x, i);
    if (!(v - v == 0)) atomicAdd(counted, 1ull);
  }
}

// out[0] (+)= 1 if `counted` is 0, else 0; with `keep` a 1 is not written
extern "C" __global__ void is_count_zero(const unsigned long long* counted, float* out, int keep,
                                         int add) {
  const float none = *counted == 0;
  if (add) out[0] += none;
  else if (!keep || !none) out[0] = none;
}

// dx (+)= scale / counted
template <typename T>
__global__ void divided_gradient(T* dx, Index n, double scale, const unsigned long long* counted,
                                 int add) {
  const double by = *counted > 0 ? static_cast<double>(*counted) : 1.0;
  CYNET_FOR(i, n) store(dx, i, static_cast<opmath_t<T>>(scale / by), add);
}

// dx (+)= the gradient of max(0, margin - t y), linear or squared, with t = 1 for the label's class
// and -1 for the others
template <typename T>
__global__ void hinge_grad(const T* y, const T* label, T* dx, Index rows, Index classes,
                           double margin, double scale, int linear, int add) {
  typedef opmath_t<T> C;
  CYNET_FOR(i, rows * classes) {
    const C t = load(label, i / classes) == static_cast<C>(i % classes) ? C(1) : C(-1);
    const C slack = static_cast<C>(margin) - t * load(y, i);
    const C slope = linear ? C(1) : 2 * slack;
    store(dx, i, slack > 0 ? -t * static_cast<C>(scale) * slope : C(0), add);
  }
}

// The label as a class index; one out of range becomes the nearest class.
template <typename C>
__device__ inline Index nearest_class(C label, Index classes) {
  if (label >= static_cast<C>(classes)) return classes - 1;
  return label > 0 ? static_cast<Index>(label) : 0;
}

// out (+)= minus the sum over rows of the logarithm at the row's label; one block
template <typename T>
__global__ void cross_entropy(const T* logs, const T* label, T* out, Index rows, Index classes,
                              int add) {
  double total = 0;
  for (Index r = threadIdx.x; r < rows; r += blockDim.x)
    total -= load(logs, r * classes + nearest_class(load(label, r), classes));
  total = fold_block(total, 0.0, Plus());
  if (threadIdx.x == 0) store(out, 0, static_cast<opmath_t<T>>(total), add);
}

// dx (+)= dy * (softmax - 1 at the label, softmax elsewhere)
template <typename T>
__global__ void cross_entropy_grad(const T* dy, const T* soft, const T* label, T* dx, Index rows,
                                   Index classes, int add) {
  CYNET_FOR(i, rows * classes) {
    const bool here = nearest_class(load(label, i / classes), classes) == i % classes;
    store(dx, i, load(dy, 0) * (load(soft, i) - opmath_t<T>(here ? 1 : 0)), add);
  }
}
