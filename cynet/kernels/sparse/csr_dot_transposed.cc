// out = the transpose of csr x rhs: each element adds a row of `rhs` to one of `out`. Reads data,
// indices, indptr (int32 or int64), rhs. For matrices of few rows: sums of a column are made as T.
#ifndef CYNET_LANES
#include "kernel.h"
#include "sparse/columns.h"
#include "sparse/packs.h"

namespace cynet {
#define CSR_DOT_TRANSPOSED_FIELDS(field) \
  field(int64_t, rows) field(int64_t, columns) field(int64_t, width)
CYNET_PARAMS(CsrDotTransposed, CSR_DOT_TRANSPOSED_FIELDS)
enum { SCATTER_AHEAD = 8 };  // elements to prefetch
}  // namespace cynet

#define CYNET_PER_ISA_FILE "sparse/csr_dot_transposed.cc"
#include "isa/for_each_isa.h"

CYNET_KERNEL(csr_dot_transposed, CsrDotTransposed, 2, CYNET_FLOATS)
#else
namespace {

// Adds elements `begin` to `end` of a matrix row, each times the row `rhs`, to rows of out.
template <typename T, typename Index>
void scatter_row(const T* data, const Index* indices, int64_t begin, int64_t end, const T* rhs,
                 int64_t width, T* out) {
  if (width == 1) {
    const T by = *rhs;
    for (int64_t k = begin; k < end; ++k) out[indices[k]] += data[k] * by;
    return;
  }
  for (int64_t k = begin; k < end; ++k) {
    T* const row = out + indices[k] * width;
    const T value = data[k];
    if (k + SCATTER_AHEAD < end) prefetch<64>(out + indices[k + SCATTER_AHEAD] * width);
    CYNET_IVDEP
    for (int64_t j = 0; j < width; ++j) row[j] += value * rhs[j];
  }
}

template <typename T, typename Index>
void csr_dot_transposed_indexed(const Args& args) {
  const CsrDotTransposed& p = args.as<CsrDotTransposed>();
  const T *data = args.input<T>(0), *rhs = args.input<T>(3);
  const Index *indices = args.input<Index>(1), *indptr = args.input<Index>(2);
  T* out = args.output<T>(0);
  const int64_t count = indptr[p.rows], width = p.width;
  const int threads = args.threads_of((count + p.columns) * (width + 4));
  const std::vector<int64_t> ranges = sample_column_ranges(threads, indices, count, p.columns);
  for_parts(threads, [&](int64_t part) {
    const int64_t low = ranges[part], high = ranges[part + 1];
    if (!args.add[0]) std::fill(out + low * width, out + high * width, T(0));
    for_columns(indices, indptr, p.rows, low, high, p.columns,
                [&](int64_t i, int64_t begin, int64_t end) {
                  scatter_row<T>(data, indices, begin, end, rhs + i * width, width, out);
                });
  });
}

template <typename T>
void csr_dot_transposed(const Args& args) {
  args.in[1]->dtype == I32 ? csr_dot_transposed_indexed<T, int32_t>(args)
                           : csr_dot_transposed_indexed<T, int64_t>(args);
}
}
#endif
