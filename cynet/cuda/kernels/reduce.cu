// Reductions over any set of axes, with the reducers of the CPU's reduce.h: sums of floats are
// carried in double, of integers in 64 bits.
#include "common.cuh"
#include "reduce/reduce.h"

struct Axes {  // the preserved and the reduced axes
  Index preserved_size, reduced_size;  // elements of the output; elements reduced to each
  int n_preserved, n_reduced;
  Index preserved[8], preserved_stride[8];  // sizes, and strides in the input
  Index reduced[8], reduced_stride[8];
};

__device__ inline Index strided_offset(Index i, int n, const Index* shape, const Index* stride) {
  Index at = 0;
#pragma unroll 1
  for (int k = n - 1; k > 0; --k) at += divide_index(&i, shape[k]) * stride[k];
  return n > 0 ? at + i * stride[0] : at;
}

template <class R, typename Acc>
struct Merge {  // joins two partial results of a reduction
  __device__ void operator()(Acc& a, Acc b) const { R::merge(a, b); }
};

// out (+)= the reduction of x; `divisor` is 1, or the number of elements for a mean. A block of 32
// to 1024 threads folds one output element after another. With parts, gridDim.y of them for each
// output, each result goes to parts[o * gridDim.y + part] instead.
template <template <typename> class Reducer, typename T>
__global__ void reduce(const T* x, T* out, typename Reducer<T>::acc* parts, const Axes s,
                       double divisor, int add) {
  typedef Reducer<T> R;
  typedef typename R::acc Acc;
  const Index each = (s.reduced_size + gridDim.y - 1) / gridDim.y, begin = blockIdx.y * each;
  const Index end = begin + each < s.reduced_size ? begin + each : s.reduced_size;
  for (Index o = blockIdx.x; o < s.preserved_size; o += gridDim.x) {
    const T* from = x + strided_offset(o, s.n_preserved, s.preserved, s.preserved_stride);
    Acc total = R::init();
#pragma unroll 1
    for (Index i = begin + threadIdx.x; i < end; i += blockDim.x)
      R::step(total, load(from, strided_offset(i, s.n_reduced, s.reduced, s.reduced_stride)));
    total = fold_block(total, R::init(), Merge<R, Acc>());
    if (threadIdx.x > 0) continue;
    if (parts != nullptr) parts[o * gridDim.y + blockIdx.y] = total;
    else store(out, o, cynet::convert_one<opmath_t<T>>(R::finish(total, divisor)), add);
  }
}

// The reduction with a thread for each output element: neighbouring threads read neighbouring
// elements where the array's last axis is preserved, and short reductions waste no threads.
template <template <typename> class Reducer, typename T>
__global__ void reduce_columns(const T* x, T* out, typename Reducer<T>::acc* parts, const Axes s,
                               double divisor, int add) {
  typedef Reducer<T> R;
  const Index each = (s.reduced_size + gridDim.y - 1) / gridDim.y, begin = blockIdx.y * each;
  const Index end = begin + each < s.reduced_size ? begin + each : s.reduced_size;
  CYNET_FOR(o, s.preserved_size) {
    const T* from = x + strided_offset(o, s.n_preserved, s.preserved, s.preserved_stride);
    typename R::acc total = R::init();
#pragma unroll 1
    for (Index i = begin; i < end; ++i)
      R::step(total, load(from, strided_offset(i, s.n_reduced, s.reduced, s.reduced_stride)));
    if (parts != nullptr) parts[o * gridDim.y + blockIdx.y] = total;
    else store(out, o, cynet::convert_one<opmath_t<T>>(R::finish(total, divisor)), add);
  }
}

// out (+)= the sum of the parts, `count` for each output; a block of 32 threads for each output
template <template <typename> class Reducer, typename T>
__global__ void merge_parts(const typename Reducer<T>::acc* parts, T* out, Index n, Index count,
                            double divisor, int add) {
  typedef Reducer<T> R;
  typedef typename R::acc Acc;
  for (Index o = blockIdx.x; o < n; o += gridDim.x) {
    Acc total = R::init();
    for (Index i = threadIdx.x; i < count; i += blockDim.x) R::merge(total, parts[o * count + i]);
    total = fold_block(total, R::init(), Merge<R, Acc>());
    if (threadIdx.x > 0) continue;
    store(out, o, cynet::convert_one<opmath_t<T>>(R::finish(total, divisor)), add);
  }
}
