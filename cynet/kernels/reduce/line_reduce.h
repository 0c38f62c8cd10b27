// Sums of lines and columns at a CPU level. Included by row_sums.pyx.
#ifndef CYNET_SUMS_H
#define CYNET_SUMS_H

#include <cmath>

#include "elementwise/elementwise.h"

#include "isa/simd_levels.h"

#define CYNET_PER_ISA_FILE "reduce/line_reduce_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

template <typename T>
double sum_at_level(int level, const T* x, int64_t n, double center, bool squared) {
  typedef double (*Loop)(const T* x, int64_t n, T center);
  static const Loop sums[] = CYNET_AT_LEVELS(sum_of_line<T>);
  static const Loop squares[] = CYNET_AT_LEVELS(line_square_sum<T>);
  return (squared ? squares : sums)[level](x, n, static_cast<T>(center));
}

template <typename T>
double product_at_level(int level, const T* g, const T* x, int64_t n, double center) {
  typedef double (*Loop)(const T* g, const T* x, int64_t n, T center);
  static const Loop products[] = CYNET_AT_LEVELS(line_product<T>);
  return products[level](g, x, n, static_cast<T>(center));
}

template <typename T>
void add_columns_at_level(int level, const T* x, int64_t rows, int64_t cols, int64_t begin,
                          int64_t end, T* y) {
  typedef void (*Loop)(const T* x, int64_t rows, int64_t cols, int64_t begin, int64_t end, T* y);
  static const Loop loops[] = CYNET_AT_LEVELS(column_sums<T>);
  loops[level](x, rows, cols, begin, end, y);
}

}  // namespace cynet

#endif
