// The structure of a csr matrix's transpose: reads indices, sorted in each row, and indptr; writes
// those of the transpose, and the position of each of its elements in the matrix.
#include "kernel.h"
#include "sparse/columns.h"

namespace cynet {
#define CSR_TRANSPOSE_FIELDS(field) field(int64_t, rows) field(int64_t, columns)
CYNET_PARAMS(CsrTranspose, CSR_TRANSPOSE_FIELDS)

namespace {
template <typename T>
void csr_transpose(const Args& args) {
  const CsrTranspose& p = args.as<CsrTranspose>();
  const T *indices = args.input<T>(0), *indptr = args.input<T>(1);
  T *to_indices = args.output<T>(0), *to_indptr = args.output<T>(1), *order = args.output<T>(2);
  const int threads = args.threads_of(2 * indptr[p.rows] + p.columns);
  const std::vector<int64_t> ranges =
      sample_column_ranges(threads, indices, indptr[p.rows], p.columns);
  std::vector<int64_t> before(threads + 1, 0);  // number of elements before each column range
  // to_indptr[j + 1]: count of column j, then its start, and after filling its end
  for_parts(threads, [&](int64_t part) {
    const int64_t low = ranges[part], high = ranges[part + 1];
    std::fill(to_indptr + low + 1, to_indptr + high + 1, T(0));
    int64_t count = 0;
    for_columns(indices, indptr, p.rows, low, high, p.columns,
                [&](int64_t, int64_t begin, int64_t end) {
                  for (int64_t k = begin; k < end; ++k) ++to_indptr[indices[k] + 1];
                  count += end - begin;
                });
    before[part + 1] = count;
  });
  for (int part = 0; part < threads; ++part) before[part + 1] += before[part];
  to_indptr[0] = 0;
  for_parts(threads, [&](int64_t part) {
    const int64_t low = ranges[part], high = ranges[part + 1];
    int64_t at = before[part];
    for (int64_t j = low; j < high; ++j) {
      const T count = to_indptr[j + 1];
      to_indptr[j + 1] = T(at);
      at += count;
    }
    for_columns(indices, indptr, p.rows, low, high, p.columns,
                [&](int64_t i, int64_t begin, int64_t end) {
                  for (int64_t k = begin; k < end; ++k) {
                    const T to = to_indptr[indices[k] + 1]++;
                    to_indices[to] = T(i);
                    order[to] = T(k);
                  }
                });
  });
}
}  // namespace
}  // namespace cynet

CYNET_PLAIN_KERNEL(csr_transpose, CsrTranspose, 4, int32_t, int64_t)
