// Normalization of lines, the middle axis of (outer, n, inner): layer, instance and L2; and of
// neighbouring channels. Sums are carried in double. A block of 32 to 1024 threads takes one line
// after another.
#include "common.cuh"

struct Line {  // shape around the normalized axis
  Index outer, n, inner;
  // scale and shift belong to channel line % channels; with 0 channels, to the position in the line
  Index channels;
};

__device__ inline Index start_of(const Line& s, Index line) {  // offset of the line in x
  const Index inner = divide_index(&line, s.inner);
  return line * s.n * s.inner + inner;
}
__device__ inline Index scale_of(const Line& s, Index line, Index i) {  // index of its scale
  return s.channels ? divide_index(&line, s.channels) : i;
}

// mean, and std = sqrt(variance + eps), of each line; stored in the type of T's arithmetic
template <typename T>
__global__ void moments(const T* x, opmath_t<T>* mean, opmath_t<T>* std, const Line s, double eps) {
  for (Index line = blockIdx.x; line < s.outer * s.inner; line += gridDim.x) {
    const T* row = x + start_of(s, line);
    double sum = 0, squares = 0;
    for (Index k = threadIdx.x; k < s.n; k += blockDim.x) sum += load(row, k * s.inner);
    const double middle = fold_block_for_all(sum, 0.0, Plus()) / s.n;
    for (Index k = threadIdx.x; k < s.n; k += blockDim.x) {
      const double d = load(row, k * s.inner) - middle;
      squares += d * d;
    }
    squares = fold_block(squares, 0.0, Plus());
    if (threadIdx.x == 0) {
      store(mean, line, static_cast<opmath_t<T>>(middle), 0);
      store(std, line, static_cast<opmath_t<T>>(sqrt(squares / s.n + eps)), 0);
    }
  }
}

// y (+)= (x - mean) / std * gamma + beta
template <typename T>
__global__ void normalize(const T* x, const opmath_t<T>* mean, const opmath_t<T>* std,
                          const T* gamma, const T* beta, T* y, const Line s, int add) {
  CYNET_FOR(i, s.outer * s.n * s.inner) {
    Index rest = i;
    const Index inner = divide_index(&rest, s.inner), place = divide_index(&rest, s.n);
    const Index line = rest * s.inner + inner, k = scale_of(s, line, place);
    const opmath_t<T> by = opmath_t<T>(1) / load(std, line);
    store(y, i, (load(x, i) - load(mean, line)) * by * load(gamma, k) + load(beta, k), add);
  }
}

// dx (+)= the gradient, which passes through mean and variance
template <typename T>
__global__ void normalize_grad(const T* dy, const T* x, const T* gamma, const opmath_t<T>* mean,
                               const opmath_t<T>* std, T* dx, const Line s, int add) {
  typedef opmath_t<T> C;
  for (Index line = blockIdx.x; line < s.outer * s.inner; line += gridDim.x) {
    const Index start = start_of(s, line);
    const C middle = load(mean, line), by = C(1) / load(std, line);
    double sum = 0, product = 0;
    for (Index k = threadIdx.x; k < s.n; k += blockDim.x) {
      const Index at = start + k * s.inner;
      const C g = load(dy, at) * load(gamma, scale_of(s, line, k));
      sum += g;
      product += g * (load(x, at) - middle) * by;
    }
    const C a = static_cast<C>(fold_block_for_all(sum, 0.0, Plus()) / s.n);
    const C b = static_cast<C>(fold_block_for_all(product, 0.0, Plus()) / s.n);
    for (Index k = threadIdx.x; k < s.n; k += blockDim.x) {
      const Index at = start + k * s.inner;
      const C g = load(dy, at) * load(gamma, scale_of(s, line, k));
      store(dx, at, by * (g - a - b * (load(x, at) - middle) * by), add);
    }
  }
}

// out (+)= the gradient of each scale, or with `shift` of each shift; one block for each
template <typename T>
__global__ void scale_grad(const T* dy, const T* x, const opmath_t<T>* mean, const opmath_t<T>* std,
                           T* out, const Line s, int shift, int add) {
  const Index lines = s.outer * s.inner, scales = s.channels ? s.channels : s.n;
  const Index count = s.channels ? lines / s.channels * s.n : lines;
  for (Index c = blockIdx.x; c < scales; c += gridDim.x) {
    double total = 0;
    for (Index j = threadIdx.x; j < count; j += blockDim.x) {
      const Index line = s.channels ? j / s.n * s.channels + c : j;
      const Index at = start_of(s, line) + (s.channels ? j % s.n : c) * s.inner;
      const double g = load(dy, at);
      total += shift ? g : g * (load(x, at) - load(mean, line)) / load(std, line);
    }
    total = fold_block(total, 0.0, Plus());
    if (threadIdx.x == 0) store(out, c, static_cast<opmath_t<T>>(total), add);
  }
}

// Partial gradients of scale and shift at each position, of `rows` lines of n neighbours: entry c *
// gridDim.y + part. Neighbouring threads take neighbouring positions.
template <typename T>
__global__ void scale_grad_parts(const T* dy, const T* x, const opmath_t<T>* mean,
                                 const opmath_t<T>* std, double* scales, double* shifts, Index rows,
                                 Index n) {
  typedef opmath_t<T> C;
  const Index each = (rows + gridDim.y - 1) / gridDim.y, begin = blockIdx.y * each;
  const Index end = begin + each < rows ? begin + each : rows;
  CYNET_FOR(c, n) {
    double scale = 0, shift = 0;
#pragma unroll 4
    for (Index row = begin; row < end; ++row) {
      const C g = load(dy, row * n + c), by = C(1) / load(std, row);
      scale += g * ((load(x, row * n + c) - load(mean, row)) * by);
      shift += g;
    }
    scales[c * gridDim.y + blockIdx.y] = scale;
    shifts[c * gridDim.y + blockIdx.y] = shift;
  }
}

// y (+)= x / sqrt(sum x^2 + eps)
template <typename T>
__global__ void l2_norm(const T* x, T* y, const Line s, double eps, int add) {
  for (Index line = blockIdx.x; line < s.outer * s.inner; line += gridDim.x) {
    const Index start = start_of(s, line);
    double squares = 0;
    for (Index k = threadIdx.x; k < s.n; k += blockDim.x) {
      const double v = load(x, start + k * s.inner);
      squares += v * v;
    }
    squares = fold_block_for_all(squares, 0.0, Plus());
    const opmath_t<T> by = static_cast<opmath_t<T>>(1 / sqrt(squares + eps));
    for (Index k = threadIdx.x; k < s.n; k += blockDim.x)
      store(y, start + k * s.inner, load(x, start + k * s.inner) * by, add);
  }
}

template <typename T>
__global__ void l2_norm_grad(const T* dy, const T* x, T* dx, const Line s, double eps, int add) {
  typedef opmath_t<T> C;
  for (Index line = blockIdx.x; line < s.outer * s.inner; line += gridDim.x) {
    const Index start = start_of(s, line);
    double squares = 0, product = 0;
    for (Index k = threadIdx.x; k < s.n; k += blockDim.x) {
      const double v = load(x, start + k * s.inner);
      squares += v * v;
      product += v * load(dy, start + k * s.inner);
    }
    squares = fold_block_for_all(squares, 0.0, Plus());
    product = fold_block_for_all(product, 0.0, Plus());
    const double by = 1 / sqrt(squares + eps);
    const C a = static_cast<C>(by), b = static_cast<C>(by * by * by * product);
    for (Index k = threadIdx.x; k < s.n; k += blockDim.x) {
      const Index at = start + k * s.inner;
      store(dx, at, a * load(dy, at) - b * load(x, at), add);
    }
  }
}

// Local response normalization over `size` channels of (batch, channels, inner).
struct Neighbours {  // channels of a local response
  Index batch, channels, inner, size;
  double alpha, beta, knorm;
};

__device__ inline Index first_of(const Neighbours& s, Index c) {  // first neighbour of c
  return c > s.size / 2 ? c - s.size / 2 : 0;
}
__device__ inline Index last_of(const Neighbours& s, Index c) {  // last neighbour of c
  return c + s.size / 2 < s.channels ? c + s.size / 2 : s.channels - 1;
}

// knorm + alpha / size * the sum of squares around element i
template <typename T>
__device__ inline opmath_t<T> response(const T* x, const Neighbours& s, Index i) {
  typedef opmath_t<T> C;
  const Index c = i / s.inner % s.channels;
  const T* from = x + (i - c * s.inner);
  C sum = 0;
  for (Index k = first_of(s, c); k <= last_of(s, c); ++k)
    sum += load(from, k * s.inner) * load(from, k * s.inner);
  return static_cast<C>(s.knorm) + static_cast<C>(s.alpha / static_cast<double>(s.size)) * sum;
}

// y (+)= x response^-beta
template <typename T>
__global__ void local_response(const T* x, T* y, const Neighbours s, int add) {
  typedef opmath_t<T> C;
  CYNET_FOR(i, s.batch * s.channels * s.inner)
  store(y, i, load(x, i) * cynet::math::power(response(x, s, i), static_cast<C>(-s.beta)), add);
}

// power = response^-beta, ratio = dy x response^(-beta - 1): the factors of the gradient
template <typename T>
__global__ void local_response_parts(const T* dy, const T* x, T* power, T* ratio,
                                     const Neighbours s) {
  typedef opmath_t<T> C;
  CYNET_FOR(i, s.batch * s.channels * s.inner) {
    const C r = response(x, s, i), p = cynet::math::power(r, static_cast<C>(-s.beta));
    store(power, i, p, 0);
    store(ratio, i, load(dy, i) * load(x, i) * p / r, 0);
  }
}

// dx (+)= dy power - 2 alpha beta / size x (the sum of the ratios around)
template <typename T>
__global__ void local_response_grad(const T* dy, const T* x, const T* power, const T* ratio, T* dx,
                                    const Neighbours s, int add) {
  typedef opmath_t<T> C;
  const C factor = static_cast<C>(2 * s.alpha * s.beta / static_cast<double>(s.size));
  CYNET_FOR(i, s.batch * s.channels * s.inner) {
    const Index c = i / s.inner % s.channels;
    const T* from = ratio + (i - c * s.inner);
    C total = 0;
    for (Index k = first_of(s, c); k <= last_of(s, c); ++k) total += load(from, k * s.inner);
    store(dx, i, load(dy, i) * load(power, i) - factor * load(x, i) * total, add);
  }
}

// Rectifiers with learned slopes, one for each of `channels` lines of `inner` elements: y (+)= x >
// 0 ? x : slope x. In the gradient, dy takes the place of the x behind the colon.
template <typename T>
__global__ void prelu(const T* x, const T* slopes, const T* of, T* y, Index n, Index channels,
                      Index inner, int add) {
  CYNET_FOR(i, n) {
    const opmath_t<T> v = load(of, i);
    store(y, i, load(x, i) > 0 ? v : load(slopes, i / inner % channels) * v, add);
  }
}

// out (+)= the sum of dy x over the elements of a channel where x is not positive
template <typename T>
__global__ void prelu_slopes_grad(const T* dy, const T* x, T* out, Index n, Index channels,
                                  Index inner, int add) {
  for (Index c = blockIdx.x; c < channels; c += gridDim.x) {
    double total = 0;
    for (Index j = threadIdx.x; j < n / channels; j += blockDim.x) {
      const Index at = (j / inner * channels + c) * inner + j % inner;
      const opmath_t<T> v = load(x, at);
      total += v > 0 ? opmath_t<T>(0) : load(dy, at) * v;
    }
    total = fold_block(total, 0.0, Plus());
    if (threadIdx.x == 0) store(out, c, static_cast<opmath_t<T>>(total), add);
  }
}
