// Arrays made from numbers: constants, progressions, diagonals.
#include "common.cuh"
#include "elementwise/convert.h"

extern "C" __global__ void zero_bytes(unsigned char* out, Index n) { CYNET_FOR(i, n) out[i] = 0; }

// out (+)= start + step * (i / repeat), rounded to out's dtype once
template <typename T>
__global__ void progression(T* out, Index n, double start, double step, Index repeat, int add) {
  CYNET_FOR(i, n) {
    const T value = cynet::convert_one<T>(start + step * static_cast<double>(i / repeat));
    store(out, i, static_cast<opmath_t<T>>(value), add);
  }
}

// out (+)= 1 on diagonal `which` of a matrix of `columns` columns, 0 elsewhere
template <typename T>
__global__ void eye(T* out, Index n, Index columns, Index which, int add) {
  CYNET_FOR(i, n) store(out, i, opmath_t<T>(i % columns - i / columns == which ? 1 : 0), add);
}
