// Divides the columns of a csr matrix among threads, so that each writes separate rows of a
// transposed result. Indices are sorted in each row.
#ifndef CYNET_SPARSE_COLUMNS_H
#define CYNET_SPARSE_COLUMNS_H

#include <algorithm>
#include <cstdint>
#include <vector>

#include "parallel.h"

namespace cynet {

enum { COLUMN_SAMPLES = 1024 };

// The bounds (threads + 1) of column ranges with about equal numbers of elements, from a sample.
template <typename Index>
std::vector<int64_t> sample_column_ranges(int threads, const Index* indices, int64_t count,
                                          int64_t columns) {
  std::vector<int64_t> begin(threads + 1, 0), sample;
  begin[threads] = columns;
  if (threads < 2 || !count) return begin;
  const int64_t step = count / COLUMN_SAMPLES + 1;
  // a prime step, so that the sample does not follow rows of equal length
  for (int64_t k = 0, at = 0; k < count; k += step) {
    sample.push_back(indices[at]);
    at = (at + 7919 * step) % count;
  }
  std::sort(sample.begin(), sample.end());
  for (int part = 1; part < threads; ++part) begin[part] = sample[sample.size() * part / threads];
  return begin;
}

// Calls body(row, begin, end) for the elements of each row with columns in [low, high).
template <typename Index, typename Body>
void for_columns(const Index* indices, const Index* indptr, int64_t rows, int64_t low, int64_t high,
                 int64_t columns, const Body& body) {
  for (int64_t i = 0; i < rows; ++i) {
    const Index *begin = indices + indptr[i], *end = indices + indptr[i + 1];
    if (low > 0) begin = std::lower_bound(begin, end, low);
    if (high < columns) end = std::lower_bound(begin, end, high);
    body(i, begin - indices, end - indices);
  }
}

}  // namespace cynet

#endif
