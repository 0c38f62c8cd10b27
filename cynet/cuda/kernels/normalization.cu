// Batch normalization. Sums are carried in double. A block of 32 to 1024 threads takes one channel
// after another.
#include "common.cuh"

// Mean and biased variance of each channel of (batch, channels, inner).
template <typename T>
__global__ void channel_moments(const T* x, computed<T>* mean, computed<T>* variance, Index batch,
                                Index channels, Index inner) {
  const Index n = batch * inner;
  for (Index c = blockIdx.x; c < channels; c += gridDim.x) {
    double sum = 0;
    for (Index k = threadIdx.x; k < n; k += blockDim.x)
      sum += load(x, (k / inner * channels + c) * inner + k % inner);
    const double middle = fold_block_for_all(sum, 0.0, Plus()) / n;
    double squares = 0;
    for (Index k = threadIdx.x; k < n; k += blockDim.x) {
      const double d = load(x, (k / inner * channels + c) * inner + k % inner) - middle;
      squares += d * d;
    }
    squares = fold_block(squares, 0.0, Plus());
    if (threadIdx.x == 0) {
      mean[c] = static_cast<computed<T>>(middle);
      variance[c] = static_cast<computed<T>>(squares / n);
    }
  }
}

// y (+)= (x - mean) / sqrt(variance + eps) * gamma + beta
template <typename T>
__global__ void channel_normalize(const T* x, const computed<T>* mean,
                                  const computed<T>* variance, const computed<T>* gamma,
                                  const computed<T>* beta, T* y, Index n, Index channels,
                                  Index inner, double eps, int add) {
  CYNET_EACH(i, n) {
    const Index c = i / inner % channels;
    const computed<T> scale = gamma[c] / sqrt(variance[c] + static_cast<computed<T>>(eps));
    put(y, i, (load(x, i) - mean[c]) * scale + beta[c], add);
  }
}

// Gradients of batch normalization in training: of gamma and beta, and of x through both moments.
template <typename T>
__global__ void channel_normalize_grad(const T* dy, const T* x, const computed<T>* mean,
                                       const computed<T>* variance, const computed<T>* gamma,
                                       T* dx, computed<T>* dgamma, computed<T>* dbeta, Index batch,
                                       Index channels, Index inner, double eps, int add) {
  const Index n = batch * inner;
  for (Index c = blockIdx.x; c < channels; c += gridDim.x) {
    const double middle = mean[c], by = 1 / sqrt(static_cast<double>(variance[c]) + eps);
    double sum = 0, product = 0;
    for (Index k = threadIdx.x; k < n; k += blockDim.x) {
      const Index i = (k / inner * channels + c) * inner + k % inner;
      const double g = load(dy, i);
      sum += g;
      product += g * (load(x, i) - middle) * by;
    }
    sum = fold_block_for_all(sum, 0.0, Plus());
    product = fold_block_for_all(product, 0.0, Plus());
    if (threadIdx.x == 0) {
      dgamma[c] = static_cast<computed<T>>(product);
      dbeta[c] = static_cast<computed<T>>(sum);
    }
    for (Index k = threadIdx.x; k < n; k += blockDim.x) {
      const Index i = (k / inner * channels + c) * inner + k % inner;
      const double normal = (load(x, i) - middle) * by;
      const double d = gamma[c] * by * (load(dy, i) - sum / n - normal * product / n);
      put(dx, i, static_cast<computed<T>>(d), add);
    }
  }
}
