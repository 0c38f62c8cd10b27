// The broadcasting families: each functor of functors.h on operands that are stretched to the
// output's shape by strides of 0.
#include "common.cuh"

struct Space {
  Index n;
  int ndim;
  Index shape[8], a[8], b[8];  // sizes of the output; strides of the operands in elements
};

__device__ inline void places(const Space& s, Index i, Index* a, Index* b) {
  *a = *b = 0;
  for (int k = s.ndim - 1; k >= 0; --k) {
    const Index at = i % s.shape[k];
    i /= s.shape[k];
    *a += at * s.a[k];
    *b += at * s.b[k];
  }
}

// out (+)= F(a, b)
template <class F, typename T>
__global__ void broadcast(const T* a, const T* b, T* out, const Space s, int add) {
  CYNET_EACH(i, s.n) {
    Index at_a, at_b;
    places(s, i, &at_a, &at_b);
    put(out, i, F::template map<computed<T>>(load(a, at_a), load(b, at_b)), add);
  }
}

// out = gradient * F(a, b), of the output's shape: what `reduce` then sums to an operand's
template <class F, typename T>
__global__ void broadcast_grad(const T* gradient, const T* a, const T* b, T* out, const Space s) {
  CYNET_EACH(i, s.n) {
    Index at_a, at_b;
    places(s, i, &at_a, &at_b);
    put(out, i, load(gradient, i) * F::template map<computed<T>>(load(a, at_a), load(b, at_b)), 0);
  }
}
