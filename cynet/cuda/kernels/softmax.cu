// Softmax, its logarithm and their gradients along the middle axis of (outer, n, inner), and the
// gradient of SoftmaxOutput. Of a line the first `lengths` entries take part (NULL: all); the
// others give 0. `lanes` threads take one line: 1, so that neighbours read neighbouring lines, or
// all of a block.
#include "common.cuh"

__device__ inline Index length_of(const Index* lengths, Index line, Index n) {  // used entries
  if (lengths == nullptr || lengths[line] >= n) return n;
  return lengths[line] > 0 ? lengths[line] : 0;
}

// `step(a, b)` folds b into a, over all threads of a line; each of them gets the result.
template <typename T, class Step>
__device__ inline T fold_line(T value, T neutral, Step step, Index lanes) {
  return lanes == 1 ? value : fold_block_for_all(value, neutral, step);
}

// The lines of this thread, and its position among the threads that share them.
#define CYNET_LINES(line, lane, lines, lanes)                                        \
  const Index lane = threadIdx.x % static_cast<unsigned>(lanes);                     \
  const Index step_ = blockDim.x / static_cast<unsigned>(lanes);                     \
  for (Index line = blockIdx.x * step_ + threadIdx.x / static_cast<unsigned>(lanes); \
       line < (lines); line += gridDim.x * step_)

__device__ inline Index start_of(Index line, Index n, Index inner) {  // offset of the line
  if (inner == 1) return line * n;
  const Index at = divide_index(&line, inner);
  return line * n * inner + at;
}

// y (+)= softmax(scale x), or its logarithm
template <typename T>
__global__ void softmax(const T* x, T* y, Index outer, Index n, Index inner, Index lanes,
                        double scale_by, int log_of, const Index* lengths, int add) {
  typedef opmath_t<T> C;
  const C scale = static_cast<C>(scale_by);
  CYNET_LINES(line, lane, outer * inner, lanes) {
    const Index start = start_of(line, n, inner), m = length_of(lengths, line, n);
    C top = -INFINITY;
    for (Index i = lane; i < m; i += lanes) Larger()(top, load(x, start + i * inner) * scale);
    top = fold_line(top, static_cast<C>(-INFINITY), Larger(), lanes);
    C sum = 0;
    for (Index i = lane; i < m; i += lanes)
      sum += cynet::math::exp(load(x, start + i * inner) * scale - top);
    sum = fold_line(sum, static_cast<C>(0), Plus(), lanes);
    const C shift = log_of ? top + cynet::math::log(sum) : top, by = static_cast<C>(1) / sum;
    for (Index i = lane; i < n; i += lanes) {
      const Index at = start + i * inner;
      const C z = load(x, at) * scale - shift;
      store(y, at, i >= m ? C(0) : (log_of ? z : cynet::math::exp(z) * by), add);
    }
  }
}

// dx (+)= the gradient, from the output's gradient and the output itself
template <typename T>
__global__ void softmax_grad(const T* dy, const T* y, T* dx, Index outer, Index n, Index inner,
                             Index lanes, double scale_by, int log_of, const Index* lengths,
                             int add) {
  typedef opmath_t<T> C;
  const C scale = static_cast<C>(scale_by);
  CYNET_LINES(line, lane, outer * inner, lanes) {
    const Index start = start_of(line, n, inner), m = length_of(lengths, line, n);
    C sum = 0;
    for (Index i = lane; i < m; i += lanes) {
      const Index at = start + i * inner;
      sum += log_of ? load(dy, at) : load(dy, at) * load(y, at);
    }
    sum = fold_line(sum, static_cast<C>(0), Plus(), lanes);
    for (Index i = lane; i < n; i += lanes) {
      const Index at = start + i * inner;
      const C p = log_of ? cynet::math::exp(load(y, at)) : load(y, at);
      const C d = (log_of ? load(dy, at) - p * sum : p * (load(dy, at) - sum)) * scale;
      store(dx, at, i < m ? d : C(0), add);
    }
  }
}

// The label truncated to an integer; -1 for an invalid one.
template <typename C>
__device__ inline Index class_of(C label) {  // as an integer; -1: invalid
  return label > C(-2147483648.0) && label < C(2147483648.0) ? static_cast<Index>(label) : -1;
}

// counted += the number of labels other than `ignored`
template <typename T>
__global__ void count_labels(const T* label, Index n, Index ignored, unsigned long long* counted) {
  CYNET_FOR(i, n)
  if (class_of(load(label, i)) != ignored) atomicAdd(counted, 1ull);
}

struct Target {  // targets of SoftmaxOutput's classes
  Index outer, n, inner;
  double scale, hit, miss;  // scale of the gradient; targets of the label's class and of the others
  Index ignored;
  int use_ignore;
};

// dx (+)= scale (y - target) (dy, or 1 where it is NULL), divided by `counted` if that is given;
// lines whose label is to be ignored get 0
template <typename T>
__global__ void softmax_output_grad(const T* y, const T* label, const T* dy, T* dx, const Target s,
                                    const unsigned long long* counted, int add) {
  typedef opmath_t<T> C;
  double scale = s.scale;
  if (counted != nullptr) scale /= *counted > 0 ? static_cast<double>(*counted) : 1.0;
  const C by = static_cast<C>(scale), hit = static_cast<C>(s.hit), miss = static_cast<C>(s.miss);
  CYNET_FOR(i, s.outer * s.n * s.inner) {
    const Index line = i / (s.n * s.inner) * s.inner + i % s.inner, k = i / s.inner % s.n;
    const Index which = class_of(load(label, line));
    C value = by * (load(y, i) - (k == which ? hit : miss));
    if (s.use_ignore && which == s.ignored) value = 0;
    if (dy != nullptr) value *= load(dy, i);
    store(dx, i, value, add);
  }
}
