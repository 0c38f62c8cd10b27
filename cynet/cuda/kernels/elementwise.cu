// The elementwise families: each functor of functors.h as a kernel over n elements. An operand of
// stride 0 is one element for all.
#include "common.cuh"

// out (+)= F(x)
template <class F, typename T>
__global__ void unary(const T* x, T* out, Index n, int add) {
  CYNET_EACH(i, n) put(out, i, F::template map<computed<T>>(load(x, i)), add);
}

// out (+)= gradient * F(known), where `known` is the function's input or output
template <class F, typename T>
__global__ void unary_grad(const T* gradient, const T* known, T* out, Index n, int add) {
  CYNET_EACH(i, n)
  put(out, i, load(gradient, i) * F::template map<computed<T>>(load(known, i)), add);
}

// out (+)= F(a, b)
template <class F, typename T>
__global__ void binary(const T* a, int sa, const T* b, int sb, T* out, Index n, int add) {
  CYNET_EACH(i, n)
  put(out, i, F::template map<computed<T>>(load(a, i * sa), load(b, i * sb)), add);
}

// out (+)= gradient * F(a, b)
template <class F, typename T>
__global__ void binary_grad(const T* gradient, const T* a, int sa, const T* b, int sb, T* out,
                            Index n, int add) {
  CYNET_EACH(i, n)
  put(out, i,
      load(gradient, i) * F::template map<computed<T>>(load(a, i * sa), load(b, i * sb)), add);
}
