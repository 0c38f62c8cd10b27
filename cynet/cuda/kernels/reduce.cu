// Reductions over any set of axes, with the reducers of the CPU's reduce.h: sums of floats are
// carried in double, of integers in 64 bits. A block of 32 to 1024 threads folds one output element
// after another.
#include "common.cuh"
#include "reduce.h"

struct Axes {
  Index kept_size, reduced_size;  // elements of the output; elements that fold into each
  int n_kept, n_reduced;
  Index kept[8], kept_stride[8];  // sizes, and strides in the input
  Index reduced[8], reduced_stride[8];
};

__device__ inline Index place(Index i, int n, const Index* shape, const Index* stride) {
  Index at = 0;
  for (int k = n - 1; k >= 0; --k) {
    at += i % shape[k] * stride[k];
    i /= shape[k];
  }
  return at;
}

template <class R, typename Acc>
struct Merge {
  __device__ void operator()(Acc& a, Acc b) const { R::merge(a, b); }
};

// out (+)= the reduction of x; `divisor` is 1, or the number of elements for a mean
template <template <typename> class Reducer, typename T>
__global__ void reduce(const T* x, T* out, const Axes s, double divisor, int add) {
  typedef Reducer<T> R;
  typedef typename R::acc Acc;
  for (Index o = blockIdx.x; o < s.kept_size; o += gridDim.x) {
    const T* from = x + place(o, s.n_kept, s.kept, s.kept_stride);
    Acc total = R::init();
    for (Index i = threadIdx.x; i < s.reduced_size; i += blockDim.x)
      R::step(total, load(from, place(i, s.n_reduced, s.reduced, s.reduced_stride)));
    total = fold_block(total, R::init(), Merge<R, Acc>());
    if (threadIdx.x == 0) put(out, o, static_cast<computed<T>>(R::finish(total, divisor)), add);
  }
}
