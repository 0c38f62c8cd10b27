// out = csr x rhs: each row of `out` is a sum of rows of `rhs`. Reads data, indices, indptr, rhs.
#ifndef CYNET_LANES
#include <algorithm>

#include "kernel.h"

namespace cynet {
#define CSR_DOT(field) field(int64_t, rows) field(int64_t, width)
CYNET_PARAMS(CsrDot, CSR_DOT)
enum { CSR_BLOCK = 64, CSR_TERMS = 64 };  // columns at a time; terms that are summed as T
}  // namespace cynet

#define CYNET_LOOPS "sparse/csr_dot.cc"
#include "isa/for_each_isa.h"

CYNET_KERNEL(csr_dot, CsrDot, 2, CYNET_FLOATS)
#else
namespace {

// Columns [0, n) of a row: `count` elements of the matrix times rows of rhs.
template <typename T>
void csr_dot_row(const T* data, const int64_t* indices, int64_t count, const T* rhs, int64_t width,
                 int64_t n, T* out, bool add) {
  double total[CSR_BLOCK] = {};
  for (int64_t at = 0; at < count; at += CSR_TERMS) {
    const int64_t end = count - at < CSR_TERMS ? count : at + CSR_TERMS;
    T sum[CSR_BLOCK] = {};
    for (int64_t k = at; k < end; ++k) {
      const T value = data[k];
      const T* row = rhs + indices[k] * width;
      CYNET_IVDEP
      for (int64_t j = 0; j < n; ++j) sum[j] += value * row[j];
    }
    for (int64_t j = 0; j < n; ++j) total[j] += sum[j];
  }
  for (int64_t j = 0; j < n; ++j) out[j] = T(add ? out[j] + total[j] : total[j]);
}

// Threads share out rows and elements alike: row i ends at indptr[i + 1] + i + 1.
inline int64_t csr_row_at(const int64_t* indptr, int64_t rows, int64_t place) {
  int64_t low = 0, high = rows;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (indptr[middle] + middle < place) low = middle + 1;
    else high = middle;
  }
  return low;
}

template <typename T>
void csr_dot(const Args& args) {
  const CsrDot& p = args.as<CsrDot>();
  const T *data = args.input<T>(0), *rhs = args.input<T>(3);
  const int64_t *indices = args.input<int64_t>(1), *indptr = args.input<int64_t>(2);
  T* out = args.output<T>(0);
  parallel_for(args.threads, indptr[p.rows] + p.rows, [&](int64_t begin, int64_t end) {
    const int64_t last = csr_row_at(indptr, p.rows, end);
    for (int64_t i = csr_row_at(indptr, p.rows, begin); i < last; ++i) {
      const int64_t from = indptr[i], count = indptr[i + 1] - from;
      for (int64_t j = 0; j < p.width; j += CSR_BLOCK) {
        const int64_t left = p.width - j;
        csr_dot_row<T>(data + from, indices + from, count, rhs + j, p.width,
                       left < CSR_BLOCK ? left : int64_t(CSR_BLOCK), out + i * p.width + j,
                       args.add[0]);
      }
    }
  });
}
}
#endif
