// Assignments of arrays: copies with strides on both sides and a change of dtype, fills, rows by
// index. Memory of the two sides does not overlap.
#include "common.cuh"
#include "elementwise/convert.h"

// The fields of transfer.pxd's Strides; strides in elements, which may be 0 (source) or negative.
struct Strides {  // shape and strides of a copy
  Index n;
  int ndim;
  Index shape[16], to[16], from[16];
};

__device__ inline void offsets_of(const Strides& s, Index i, Index* to, Index* from) {
  *to = *from = 0;
#pragma unroll 1
  for (int k = s.ndim - 1; k >= 0; --k) {
    const Index at = k > 0 ? divide_index(&i, s.shape[k]) : i;
    *to += at * s.to[k];
    *from += at * s.from[k];
  }
}

// dst = src, converted
template <typename D, typename S>
__global__ void assign(D* dst, const S* src, const Strides s) {  // dst = src
  CYNET_FOR(i, s.n) {
    Index to, from;
    offsets_of(s, i, &to, &from);
    dst[to] = cynet::convert_one<D>(src[from]);
  }
}

// dst = value; an instance for each width of elements
template <typename W>
__global__ void fill(W* dst, W value, const Strides s) {
  CYNET_FOR(i, s.n) {
    Index to, from;
    offsets_of(s, i, &to, &from);
    dst[to] = value;
  }
}

// Copies rows of `width` bytes: row i of `rows` is row index[i] of `array`; scatter_rows copies
// back, with each index once.
extern "C" __global__ void gather_rows(unsigned char* rows, const unsigned char* array,
                                       const long long* index, Index n, Index width) {
  CYNET_FOR(i, n * width) rows[i] = array[index[i / width] * width + i % width];
}
extern "C" __global__ void scatter_rows(const unsigned char* rows, unsigned char* array,
                                        const long long* index, Index n, Index width) {
  CYNET_FOR(i, n * width) array[index[i / width] * width + i % width] = rows[i];
}
