// out = csr x rhs: each row of `out` is a sum of rows of `rhs`. Reads data, indices, indptr
// (int32 or int64), rhs.
#ifndef CYNET_LANES
#include "kernel.h"
#include "sparse/packs.h"

namespace cynet {
#define CSR_DOT_FIELDS(field) field(int64_t, rows) field(int64_t, width)
CYNET_PARAMS(CsrDot, CSR_DOT_FIELDS)
enum { CSR_TERMS = 64, CSR_AHEAD = 12 };  // terms that are summed as T; elements to prefetch
}  // namespace cynet

#define CYNET_PER_ISA_FILE "sparse/csr_dot.cc"
#include "isa/for_each_isa.h"

CYNET_KERNEL(csr_dot, CsrDot, 2, CYNET_FLOATS)
#else
namespace {

template <typename T, typename Index>
struct CsrSource {  // operands of a CSR product
  const T *data, *rhs;
  const Index* indices;
  int64_t width, end;  // columns of rhs; number of elements of the matrix
};

// Forces `x` into a register of its own. GCC would combine the four chains below into a vector, and
// their reads into a gather, which waits for the slowest: 2 to 6 times slower.
template <typename T>
CYNET_XINLINE void keep_in_register(T& x) {
#if defined(__GNUC__) && defined(__x86_64__)
  asm("" : "+x"(x));
#else
  (void)x;
#endif
}

// A sum of products in four independent partial sums, to hide the latency of additions.
template <typename T, typename Source>
CYNET_XINLINE T csr_dot_one_column(const Source& from, int64_t begin, int64_t end, const T* rhs,
                                   int64_t width) {
  T sums[4] = {};
  int64_t k = begin;
  for (; k + 4 <= end; k += 4)
    for (int i = 0; i < 4; ++i) {
      sums[i] += from.data[k + i] * rhs[from.indices[k + i] * width];
      keep_in_register(sums[i]);
    }
  for (; k < end; ++k) sums[0] += from.data[k] * rhs[from.indices[k] * width];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Computes N columns of a sum of up to CSR_TERMS rows of rhs.
template <typename T, int N, typename Source>
CYNET_XINLINE void sum_csr_terms(const Source& from, int64_t begin, int64_t end, const T* rhs,
                                 T* out) {
  if constexpr (N == 1) {
    *out = from.width == 1 ? csr_dot_one_column<T>(from, begin, end, rhs, 1)
                           : csr_dot_one_column<T>(from, begin, end, rhs, from.width);
  } else {
    RegisterSums<T, N, CYNET_LANES * 4> sum;
    for (int64_t k = begin; k < end; ++k) {
      if (N >= 8 && k + CSR_AHEAD < from.end)
        prefetch<N * sizeof(T)>(rhs + from.indices[k + CSR_AHEAD] * from.width);
      sum.add_product(from.data[k], rhs + from.indices[k] * from.width);
    }
    sum.store(out);
  }
}

template <typename T, int N, typename Source>
CYNET_NOINLINE void csr_dot_long(const Source& from, int64_t begin, int64_t end, const T* rhs,
                                 T* out, bool add) {
  double total[N] = {};
  T part[N];
  for (int64_t at = begin; at < end; at += CSR_TERMS) {
    sum_csr_terms<T, N>(from, at, end - at < CSR_TERMS ? end : at + CSR_TERMS, rhs, part);
    for (int64_t n = 0; n < N; ++n) total[n] += part[n];
  }
  for (int64_t n = 0; n < N; ++n) out[n] = T(add ? out[n] + total[n] : total[n]);
}

// Computes columns j to j + N of an output row from elements `begin` to `end` of a CSR row.
template <typename T, int N, typename Source>
CYNET_XINLINE void csr_dot_columns(const Source& from, int64_t begin, int64_t end, int64_t j,
                                   T* out, bool add) {
  if (end - begin > CSR_TERMS || add) csr_dot_long<T, N>(from, begin, end, from.rhs + j, out, add);
  else sum_csr_terms<T, N>(from, begin, end, from.rhs + j, out);
}

// Multiplies all columns of a row, 64 at a time, the rest in pieces of 2^k columns.
template <typename T, typename Source>
void csr_dot_row(const Source& from, int64_t begin, int64_t end, T* out, bool add) {
  int64_t j = 0;
  for (; j + 64 <= from.width; j += 64) csr_dot_columns<T, 64>(from, begin, end, j, out + j, add);
  const int64_t left = from.width - j;
#define CSR_DOT_COLUMNS(n) \
  if (left & n) csr_dot_columns<T, n>(from, begin, end, j, out + j, add), j += n;
  CSR_DOT_COLUMNS(32)
  CSR_DOT_COLUMNS(16)
  CSR_DOT_COLUMNS(8)
  CSR_DOT_COLUMNS(4)
  CSR_DOT_COLUMNS(2)
  CSR_DOT_COLUMNS(1)
#undef CSR_DOT_COLUMNS
}

// The row at a position in the sequence of rows and elements; row i ends at indptr[i + 1] + i + 1.
template <typename Index>
int64_t find_csr_row(const Index* indptr, int64_t rows, int64_t place) {
  int64_t low = 0, high = rows;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (indptr[middle] + middle < place) low = middle + 1;
    else high = middle;
  }
  return low;
}

template <typename T, typename Index>
void csr_dot_indexed(const Args& args) {
  const CsrDot& p = args.as<CsrDot>();
  const Index* indptr = args.input<Index>(2);
  const CsrSource<T, Index> from = {args.input<T>(0), args.input<T>(3), args.input<Index>(1),
                                    p.width, indptr[p.rows]};
  T* out = args.output<T>(0);
  const int threads = args.threads_of((from.end + p.rows) * (p.width + 4));
  parallel_for(threads, from.end + p.rows, [&](int64_t begin, int64_t end) {
    const int64_t last = find_csr_row(indptr, p.rows, end);
    for (int64_t i = find_csr_row(indptr, p.rows, begin); i < last; ++i)
      csr_dot_row<T>(from, indptr[i], indptr[i + 1], out + i * p.width, args.add[0]);
  });
}

template <typename T>
void csr_dot(const Args& args) {
  args.in[1]->dtype == I32 ? csr_dot_indexed<T, int32_t>(args) : csr_dot_indexed<T, int64_t>(args);
}
}
#endif
