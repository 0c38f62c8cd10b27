// The broadcasting families: each functor of functors.h on operands that are stretched to the
// output's shape by strides of 0.
#include "common.cuh"

struct Space {
  Index n;
  int ndim;
  Index shape[8], a[8], b[8], g[8];  // sizes of the output; strides of the operands in elements
};

struct Offsets {
  Index a, b, g;
};

__device__ inline Offsets offsets_of(const Space& s, Index i) {
  Offsets at = {0, 0, 0};
#pragma unroll 1
  for (int k = s.ndim - 1; k >= 0; --k) {
    const Index here = k > 0 ? split(&i, s.shape[k]) : i;
    at.a += here * s.a[k];
    at.b += here * s.b[k];
    at.g += here * s.g[k];
  }
  return at;
}

// out (+)= F(a, b)
template <class F, typename T>
__global__ void broadcast(const T* a, const T* b, T* out, const Space s, int add) {
  CYNET_EACH(i, s.n) {
    const Offsets at = offsets_of(s, i);
    put(out, i, F::template map<computed<T>>(load(a, at.a), load(b, at.b)), add);
  }
}

// out (+)= gradient * F(a, b), in the broadcast shape; `reduce` then sums it to an operand's shape
template <class F, typename T>
__global__ void broadcast_grad(const T* gradient, const T* a, const T* b, T* out, const Space s,
                               int add) {
  CYNET_EACH(i, s.n) {
    const Offsets at = offsets_of(s, i);
    const computed<T> slope = F::template map<computed<T>>(load(a, at.a), load(b, at.b));
    put(out, i, cynet::product_of(load(gradient, at.g), slope), add);
  }
}
