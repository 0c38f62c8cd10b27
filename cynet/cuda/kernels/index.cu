// Moving elements: copies between strided layouts (transpose, slice, join, repeat), rows taken by
// index with their gradient, one-hot rows.
#include "common.cuh"

struct Layout {
  Index n, to_start, start;  // elements; where in dst and in src to begin
  int ndim;
  Index shape[16], to[16], from[16];  // sizes; strides in elements, which may be 0 or negative
};

// dst (+)= src, element by element of the shape
template <typename T>
__global__ void copy(const T* src, T* dst, const Layout s, int add) {
  CYNET_EACH(i, s.n) {
    Index rest = i, to = s.to_start, from = s.start;
    for (int k = s.ndim - 1; k >= 0; --k) {
      const Index at = rest % s.shape[k];
      rest /= s.shape[k];
      to += at * s.to[k];
      from += at * s.from[k];
    }
    put(dst, to, load(src, from), add);
  }
}

// Index `at` within [0, rows): clipped, or wrapped around.
template <typename I>
__device__ inline Index row_of(I index, Index rows, int wrap) {
  Index at = static_cast<Index>(index);
  if (wrap) return ((at % rows) + rows) % rows;
  return at < 0 ? 0 : (at >= rows ? rows - 1 : at);
}

// out[k, :] (+)= table[index[k], :]
template <typename T, typename I>
__global__ void take(const T* table, const I* index, T* out, Index rows, Index width, Index count,
                     int wrap, int add) {
  CYNET_EACH(i, count * width)
  put(out, i, load(table, row_of(index[i / width], rows, wrap) * width + i % width), add);
}

// table_grad[index[k], :] += out_grad[k, :]; several k may name one row
template <typename T, typename I>
__global__ void take_grad(const T* out_grad, const I* index, T* table_grad, Index rows,
                          Index width, Index count, int wrap) {
  CYNET_EACH(i, count * width)
  atomicAdd(&table_grad[row_of(index[i / width], rows, wrap) * width + i % width], out_grad[i]);
}

// out[k, :] (+)= off everywhere, on at index[k]
template <typename T, typename I>
__global__ void one_hot(const I* index, T* out, Index depth, Index count, double on, double off,
                        int add) {
  CYNET_EACH(i, count * depth) {
    const bool here = static_cast<Index>(index[i / depth]) == i % depth;
    put(out, i, static_cast<computed<T>>(here ? on : off), add);
  }
}
