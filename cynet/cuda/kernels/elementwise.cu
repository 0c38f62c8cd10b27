// The elementwise families: each functor of functors.h as a kernel over n elements. An operand of
// stride 0 is one element for all. Where all arrays begin at a multiple of a pack, a thread takes
// packs, else elements.
#include "common.cuh"

// out (+)= F(x)
template <class F, typename T>
__global__ void unary(const T* x, T* out, Index n, int add) {  // out (+)= F(x)
  const Index packs = is_aligned(x) && is_aligned(out) ? n / Pack<T>::N : 0;
  CYNET_NO_UNROLL CYNET_FOR(p, packs) {
    const Pack<T> a = load_pack(x, p);
    Pack<T> y = add ? load_pack(out, p) : a;
    for (int k = 0; k < Pack<T>::N; ++k)
      store(y.at, k, F::template map<opmath_t<T>>(load(a.at, k)), add);
    pack_of(out, p) = y;
  }
  CYNET_NO_UNROLL CYNET_FOR_FROM(i, packs * Pack<T>::N, n)
      store(out, i, F::template map<opmath_t<T>>(load(x, i)), add);
}

// gradient[i] * slope
template <typename T>
__device__ inline opmath_t<T> scale(const T* gradient, Index i, opmath_t<T> slope) {
  return cynet::product_of(load(gradient, i), slope);
}
template <typename T>
__device__ inline opmath_t<T> scale(const Pack<T>& gradient, int k, opmath_t<T> slope) {
  return scale(gradient.at, k, slope);
}

// out (+)= gradient * F(known), where `known` is the function's input or output
template <class F, typename T>
__global__ void unary_grad(const T* gradient, const T* known, T* out, Index n, int add) {
  const bool packed = is_aligned(gradient) && is_aligned(known) && is_aligned(out);
  const Index packs = packed ? n / Pack<T>::N : 0;
  CYNET_NO_UNROLL CYNET_FOR(p, packs) {
    const Pack<T> g = load_pack(gradient, p), a = load_pack(known, p);
    Pack<T> y = add ? load_pack(out, p) : a;
    for (int k = 0; k < Pack<T>::N; ++k)
      store(y.at, k, scale(g, k, F::template map<opmath_t<T>>(load(a.at, k))), add);
    pack_of(out, p) = y;
  }
  CYNET_NO_UNROLL CYNET_FOR_FROM(i, packs * Pack<T>::N, n)
      store(out, i, scale(gradient, i, F::template map<opmath_t<T>>(load(known, i))), add);
}

// out (+)= F(a, b)
template <class F, typename T>
__global__ void binary(const T* a, int sa, const T* b, int sb, T* out, Index n, int add) {
  const bool packed = (!sa || is_aligned(a)) && (!sb || is_aligned(b)) && is_aligned(out);
  const Index packs = packed ? n / Pack<T>::N : 0;
  CYNET_NO_UNROLL CYNET_FOR(p, packs) {
    const Pack<T> l = load_pack(a, p, sa), r = load_pack(b, p, sb);
    Pack<T> y = add ? load_pack(out, p) : l;
    for (int k = 0; k < Pack<T>::N; ++k)
      store(y.at, k, F::template map<opmath_t<T>>(load(l.at, k), load(r.at, k)), add);
    pack_of(out, p) = y;
  }
  CYNET_NO_UNROLL CYNET_FOR_FROM(i, packs * Pack<T>::N, n)
      store(out, i, F::template map<opmath_t<T>>(load(a, i * sa), load(b, i * sb)), add);
}

// out (+)= gradient * F(a, b)
template <class F, typename T>
__global__ void binary_grad(const T* gradient, const T* a, int sa, const T* b, int sb, T* out,
                            Index n, int add) {
  const bool packed =
      (!sa || is_aligned(a)) && (!sb || is_aligned(b)) && is_aligned(gradient) && is_aligned(out);
  const Index packs = packed ? n / Pack<T>::N : 0;
  CYNET_NO_UNROLL CYNET_FOR(p, packs) {
    const Pack<T> g = load_pack(gradient, p), l = load_pack(a, p, sa), r = load_pack(b, p, sb);
    Pack<T> y = add ? load_pack(out, p) : g;
    for (int k = 0; k < Pack<T>::N; ++k)
      store(y.at, k, scale(g, k, F::template map<opmath_t<T>>(load(l.at, k), load(r.at, k))), add);
    pack_of(out, p) = y;
  }
  CYNET_NO_UNROLL CYNET_FOR_FROM(i, packs * Pack<T>::N, n) store(
      out, i, scale(gradient, i, F::template map<opmath_t<T>>(load(a, i * sa), load(b, i * sb))),
      add);
}
