// The broadcasting families: each functor of functors.h on operands that are stretched to the
// output's shape by strides of 0.
#include "common.cuh"

struct IndexSpace {  // shape of the output, strides of the operands
  Index n;
  int ndim;
  Index shape[8], a[8], b[8], g[8];  // sizes of the output; strides of the operands in elements
};

struct Offsets {  // positions of one element in both operands and the gradient
  Index a, b, g;
};

__device__ inline Offsets offsets_of(const IndexSpace& s, Index i) {  // of i in a, b, g
  Offsets at = {0, 0, 0};
#pragma unroll 1
  for (int k = s.ndim - 1; k >= 0; --k) {
    const Index here = k > 0 ? divide_index(&i, s.shape[k]) : i;
    at.a += here * s.a[k];
    at.b += here * s.b[k];
    at.g += here * s.g[k];
  }
  return at;
}

// out (+)= F(a, b)
template <class F, typename T>
__global__ void broadcast(const T* a, const T* b, T* out, const IndexSpace s, int add) {
  CYNET_FOR(i, s.n) {
    const Offsets at = offsets_of(s, i);
    store(out, i, F::template map<opmath_t<T>>(load(a, at.a), load(b, at.b)), add);
  }
}

// out (+)= gradient * F(a, b), in the broadcast shape; `reduce` then sums it to an operand's shape
template <class F, typename T>
__global__ void broadcast_grad(const T* gradient, const T* a, const T* b, T* out,
                               const IndexSpace s, int add) {
  CYNET_FOR(i, s.n) {
    const Offsets at = offsets_of(s, i);
    const opmath_t<T> slope = F::template map<opmath_t<T>>(load(a, at.a), load(b, at.b));
    store(out, i, cynet::product_of(load(gradient, at.g), slope), add);
  }
}
