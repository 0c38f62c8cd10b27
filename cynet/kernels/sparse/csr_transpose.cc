// The structure of a csr matrix's transpose: reads indices, indptr; writes those of the transpose,
// and the place that each of its elements has in the matrix.
#include "kernel.h"

namespace cynet {
#define CSR_TRANSPOSE(field) field(int64_t, rows) field(int64_t, columns)
CYNET_PARAMS(CsrTranspose, CSR_TRANSPOSE)

namespace {
template <typename T>
void csr_transpose(const Args& args) {
  const CsrTranspose& p = args.as<CsrTranspose>();
  const T *indices = args.input<T>(0), *indptr = args.input<T>(1);
  T *to_indices = args.output<T>(0), *to_indptr = args.output<T>(1), *order = args.output<T>(2);
  for (int64_t j = 0; j <= p.columns; ++j) to_indptr[j] = 0;
  for (int64_t k = 0; k < indptr[p.rows]; ++k) ++to_indptr[indices[k]];
  T before = 0;  // to_indptr[j] becomes where column j begins; filling it makes that its end
  for (int64_t j = 0; j < p.columns; ++j) {
    const T count = to_indptr[j];
    to_indptr[j] = before;
    before += count;
  }
  for (int64_t i = 0; i < p.rows; ++i)
    for (int64_t k = indptr[i]; k < indptr[i + 1]; ++k) {
      const T at = to_indptr[indices[k]]++;
      to_indices[at] = i;
      order[at] = k;
    }
  for (int64_t j = p.columns; j > 0; --j) to_indptr[j] = to_indptr[j - 1];
  to_indptr[0] = 0;
}
}  // namespace
}  // namespace cynet

CYNET_PLAIN_KERNEL(csr_transpose, CsrTranspose, 4, int64_t)
