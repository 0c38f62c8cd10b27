// Batch normalization, the part without a cuDNN call: the moving statistics, and the gradient with
// given mean and variance. Sums are in double, one block of 32 to 1024 threads each.
#include "common.cuh"

// out (+)= 1 / sqrt(variance + eps)
template <typename T>
__global__ void inverse_deviation(const T* variance, T* out, Index n, double eps, int add) {
  CYNET_FOR(i, n) store(out, i, static_cast<T>(1 / sqrt(variance[i] + eps)), add);
}

// moving = keep * moving + (1 - keep) * the batch's; the variance follows from 1 / sqrt(var + eps)
template <typename T>
__global__ void move_statistics(const T* mean, const T* inv_std, T* moving_mean, T* moving_var,
                                Index n, double keep, double eps) {
  CYNET_FOR(i, n) {
    const double by = inv_std[i];
    moving_mean[i] = static_cast<T>(keep * moving_mean[i] + (1 - keep) * mean[i]);
    moving_var[i] = static_cast<T>(keep * moving_var[i] + (1 - keep) * (1 / (by * by) - eps));
  }
}

// The gradients of gamma and beta: sums over each channel of (batch, channels, inner).
// T is data's type, P that of the parameters and statistics.
template <typename T, typename P>
__global__ void channel_sums(const T* dy, const T* x, const P* mean, const P* variance, P* dgamma,
                             P* dbeta, Index batch, Index channels, Index inner, double eps) {
  for (Index c = blockIdx.x; c < channels; c += gridDim.x) {
    const double middle = mean[c];
    double sum = 0, product = 0;
    for (Index k = threadIdx.x; k < batch * inner; k += blockDim.x) {
      const Index i = (k / inner * channels + c) * inner + k % inner;
      const double g = load(dy, i);
      sum += g;
      product += g * (load(x, i) - middle);
    }
    sum = fold_block(sum, 0.0, Plus());
    product = fold_block(product, 0.0, Plus());
    if (threadIdx.x == 0) {
      dgamma[c] = static_cast<P>(product / sqrt(variance[c] + eps));
      dbeta[c] = static_cast<P>(sum);
    }
  }
}

// dx (+)= dy * gamma / sqrt(variance + eps)
template <typename T, typename P>
__global__ void channel_scale(const T* dy, const P* variance, const P* gamma, T* dx, Index n,
                              Index channels, Index inner, double eps, int add) {
  CYNET_FOR(i, n) {
    const Index c = i / inner % channels;
    const double by = gamma[c] / sqrt(variance[c] + eps);
    store(dx, i, static_cast<opmath_t<T>>(load(dy, i) * by), add);
  }
}
