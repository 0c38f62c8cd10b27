// Softmax, its logarithm and their gradients along the middle axis of (outer, n, inner), and the
// gradient of SoftmaxOutput. A block of 32 to 1024 threads takes one line after another.
#include "common.cuh"

// y (+)= softmax(x / temperature), or its logarithm
template <typename T>
__global__ void softmax(const T* x, T* y, Index outer, Index n, Index inner, double temperature,
                        int log_of, int add) {
  typedef computed<T> C;
  const C scale = static_cast<C>(1 / temperature);
  for (Index line = blockIdx.x; line < outer * inner; line += gridDim.x) {
    const Index start = line / inner * n * inner + line % inner;
    C top = -INFINITY;
    for (Index i = threadIdx.x; i < n; i += blockDim.x)
      Larger()(top, load(x, start + i * inner) * scale);
    top = fold_block_for_all(top, static_cast<C>(-INFINITY), Larger());
    C sum = 0;
    for (Index i = threadIdx.x; i < n; i += blockDim.x)
      sum += cynet::math::exp(load(x, start + i * inner) * scale - top);
    sum = fold_block_for_all(sum, static_cast<C>(0), Plus());
    const C shift = log_of ? top + cynet::math::log(sum) : top, by = static_cast<C>(1) / sum;
    for (Index i = threadIdx.x; i < n; i += blockDim.x) {
      const C z = load(x, start + i * inner) * scale - shift;
      put(y, start + i * inner, log_of ? z : cynet::math::exp(z) * by, add);
    }
  }
}

// dx (+)= the gradient, from that of the output and the output itself
template <typename T>
__global__ void softmax_grad(const T* dy, const T* y, T* dx, Index outer, Index n, Index inner,
                             double temperature, int log_of, int add) {
  typedef computed<T> C;
  const C scale = static_cast<C>(1 / temperature);
  for (Index line = blockIdx.x; line < outer * inner; line += gridDim.x) {
    const Index start = line / inner * n * inner + line % inner;
    C sum = 0;
    for (Index i = threadIdx.x; i < n; i += blockDim.x) {
      const Index at = start + i * inner;
      sum += log_of ? load(dy, at) : load(dy, at) * load(y, at);
    }
    sum = fold_block_for_all(sum, static_cast<C>(0), Plus());
    for (Index i = threadIdx.x; i < n; i += blockDim.x) {
      const Index at = start + i * inner;
      const C p = log_of ? cynet::math::exp(load(y, at)) : load(y, at);
      put(dx, at, (log_of ? load(dy, at) - p * sum : p * (load(dy, at) - sum)) * scale, add);
    }
  }
}

// dx (+)= scale * (y - 1 where the label says so); rows whose label is to be ignored get 0
template <typename T>
__global__ void softmax_output_grad(const T* y, const T* label, T* dx, Index rows, Index n,
                                    double scale, int use_ignore, double ignore_label, int add) {
  typedef computed<T> C;
  CYNET_EACH(i, rows * n) {
    const C which = load(label, i / n);
    C value = load(y, i) - (i % n == static_cast<Index>(which) ? C(1) : C(0));
    if (use_ignore && which == static_cast<C>(ignore_label)) value = 0;
    put(dx, i, value * static_cast<C>(scale), add);
  }
}
