// Moving elements: copies between strided layouts (transpose, slice, join, repeat), and reading and
// writing by index. Indices are int64, brought within bounds by the kernel `bound`.
#include "common.cuh"
#include "elementwise/convert.h"

struct Layout {  // shape and strides of a copy
  Index n, to_start, start;  // number of elements; offsets of the first in dst and src
  int ndim;
  Index shape[16], to[16], from[16];  // sizes; strides in elements, which may be 0 or negative
};

__device__ inline void layout_offsets(const Layout& s, Index i, Index* to, Index* from) {
  *to = s.to_start, *from = s.start;
#pragma unroll 1
  for (int k = s.ndim - 1; k >= 0; --k) {
    const Index at = k > 0 ? divide_index(&i, s.shape[k]) : i;
    *to += at * s.to[k];
    *from += at * s.from[k];
  }
}

// dst (+)= src, element by element of the shape
template <typename T>
__global__ void copy(const T* src, T* dst, const Layout s, int add) {
  CYNET_FOR(i, s.n) {
    Index to, from;
    layout_offsets(s, i, &to, &from);
    store(dst, to, load(src, from), add);
  }
}

// dst -= src
template <typename T>
__global__ void take_grad(const T* src, T* dst, const Layout s) {  // dst -= src
  CYNET_FOR(i, s.n) {
    Index to, from;
    layout_offsets(s, i, &to, &from);
    store(dst, to, cynet::difference_of(load(dst, to), load(src, from)), 0);
  }
}

enum Bound { kClip, kWrap, kRefuse, kFromEnd };  // kFromEnd: -n .. -1 from the end

// Brings each index within [low, low + n). If outside indices are to be refused, wrong[0] is set
// and wrong[1] is the index.
extern "C" __global__ void bound_indices(Index* index, Index count, Index low, Index n, int how,
                                         Index* wrong) {
  CYNET_FOR(i, count) {
    const Index at = index[i] - low;
    if (at >= 0 && at < n) continue;
    if (how == kFromEnd && at < 0 && at >= -n) {
      index[i] += n;
      continue;
    }
    if (how == kRefuse || how == kFromEnd) {
      wrong[1] = index[i];
      wrong[0] = 1;
    }
    if (how == kWrap) index[i] = low + (at % n + n) % n;
    else index[i] = low + (at < 0 ? 0 : n - 1);
  }
}

// flat[j] = row-major position, in an array of `lengths`, of column j of `index` (axes, count)
struct Lengths {  // of an array's axes
  int ndim;
  Index lengths[8];
};
extern "C" __global__ void flatten_index(const Index* index, Index* flat, Index count,
                                         const Lengths s) {
  CYNET_FOR(j, count) {
    Index at = 0;
    for (int a = 0; a < s.ndim; ++a) at = at * s.lengths[a] + index[a * count + j];
    flat[j] = at;
  }
}

// dst[o, j, :] (+)= src[o, index[j], :] of shapes (outer, m, inner) and (outer, n, inner)
template <typename T>
__global__ void gather(const T* src, const Index* index, T* dst, Index outer, Index n, Index inner,
                       Index m, int add) {
  CYNET_FOR(i, outer * m * inner) {
    Index rest = i;
    const Index place = divide_index(&rest, inner), row = divide_index(&rest, m);
    store(dst, i, load(src, (rest * n + index[row]) * inner + place), add);
  }
}

// marks[index[j]] = 1
extern "C" __global__ void mark_rows(const Index* index, unsigned char* marks, Index count) {
  CYNET_FOR(i, count) { marks[index[i]] = 1; }
}

// dst (+)= the marked rows of src (n, inner), 0 in the other rows
template <typename T>
__global__ void retain_rows(const T* src, const unsigned char* marks, T* dst, Index n, Index inner,
                            int add) {
  CYNET_FOR(i, n * inner) {
    if (marks[i / inner]) store(dst, i, load(src, i), add);
    else if (!add) dst[i] = T(0);
  }
}

// dst[o, index[j], :] += src[o, j, :]; indices may repeat
template <typename T>
__global__ void scatter_add(const T* src, const Index* index, T* dst, Index outer, Index n,
                            Index inner, Index m) {
  CYNET_FOR(i, outer * m * inner) {
    Index rest = i;
    const Index place = divide_index(&rest, inner), row = divide_index(&rest, m);
    add_at(dst, (rest * n + index[row]) * inner + place, src[i]);
  }
}

// winner[row] = the largest j with index[j] == row
extern "C" __global__ void claim_rows(const Index* index, Index* winner, Index m) {
  CYNET_FOR(j, m) atomicMax(&winner[index[j]], j);
}

// dst[index[j], :] (+)= src[j, :] where winner[index[j]] == j (winner NULL: for all j)
template <typename T>
__global__ void scatter(const T* src, const Index* index, const Index* winner, T* dst, Index inner,
                        Index m, int add) {
  CYNET_FOR(i, m * inner) {
    const Index j = i / inner, row = index[j];
    if (winner == nullptr || winner[row] == j)
      store(dst, row * inner + i % inner, load(src, i), add);
  }
}

// picked (+)= one element of each line of src (outer, n, inner): the one at the line's index
template <typename T>
__global__ void pick(const T* src, const Index* index, T* picked, Index outer, Index n, Index inner,
                     int add) {
  CYNET_FOR(i, outer * inner)
  store(picked, i, load(src, (i / inner * n + index[i]) * inner + i % inner), add);
}

// src_grad += picked_grad at the index of each line
template <typename T>
__global__ void pick_grad(const T* picked, const Index* index, T* src, Index outer, Index n,
                          Index inner) {
  CYNET_FOR(i, outer * inner)
  store(src, (i / inner * n + index[i]) * inner + i % inner, load(picked, i), 1);
}

// out[k, :] (+)= `on` at index[k], `off` elsewhere
template <typename T>
__global__ void one_hot(const Index* index, T* out, Index count, Index depth, double on, double off,
                        int add) {
  typedef opmath_t<T> C;
  CYNET_FOR(i, count * depth)
  store(out, i, cynet::convert_one<C>(index[i / depth] == i % depth ? on : off), add);
}

struct Borders {  // of a padded array
  Index n;
  int ndim, reflect;
  Index dst[8], src[8], before[8];  // shapes, and the width of the border before each axis
};

// The position in src of position i of dst.
__device__ inline Index source_index(const Borders& s, Index i) {  // position in src of dst[i]
  Index at = 0, stride = 1;
#pragma unroll 1
  for (int k = s.ndim - 1; k >= 0; --k) {
    const Index last = s.src[k] - 1;
    Index own = divide_index(&i, s.dst[k]) - s.before[k];
    if (own < 0) own = s.reflect ? -own : 0;
    if (own > last) own = s.reflect ? 2 * last - own : last;
    at += own * stride;
    stride *= s.src[k];
  }
  return at;
}

// dst (+)= src with borders
template <typename T>
__global__ void pad(const T* src, T* dst, const Borders s, int add) {
  CYNET_FOR(i, s.n) store(dst, i, load(src, source_index(s, i)), add);
}

// src_grad += dst_grad
template <typename T>
__global__ void pad_grad(const T* dst, T* src, const Borders s) {
  CYNET_FOR(i, s.n) add_at(src, source_index(s, i), dst[i]);
}

// The length of sequence b; `length` NULL: all are full. Rows: (time, batch), or by `batch_first`.
__device__ inline Index length_of(const Index* length, Index b, Index time) {  // of sequence b
  return length == nullptr ? time : length[b];
}

// rows[r] = the row of data that is row r of SequenceReverse, or with `last` of SequenceLast
extern "C" __global__ void sequence_rows(const Index* length, Index* rows, Index time, Index batch,
                                         int batch_first, int last) {
  CYNET_FOR(i, last ? batch : time * batch) {
    const Index b = i % batch, t = i / batch, n = length_of(length, b, time);
    if (last) rows[i] = batch_first ? b * time + n - 1 : (n - 1) * batch + b;
    else rows[i] = t < n ? (n - 1 - t) * batch + b : i;
  }
}

// out (+)= x within its sequence, `value` behind its end
template <typename T>
__global__ void sequence_mask(const T* x, const Index* length, T* out, Index time, Index batch,
                              Index inner, int batch_first, double value, int add) {
  CYNET_FOR(i, time * batch * inner) {
    const Index r = i / inner;
    const Index t = batch_first ? r % time : r / batch, b = batch_first ? r / time : r % batch;
    const bool inside = t < length_of(length, b, time);
    store(out, i, inside ? load(x, i) : cynet::convert_one<opmath_t<T>>(value), add);
  }
}
