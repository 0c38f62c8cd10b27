// Sums of lines and columns at the level in use. Included by line_reduce.pyx alone.
#ifndef CYNET_SUMS_H
#define CYNET_SUMS_H

#include <cmath>

#include "elementwise/elementwise.h"

#ifdef CYNET_X86_LEVELS
#include <immintrin.h>
#endif

#define CYNET_LOOPS "isa/simd.h"
#include "isa/for_each_isa.h"
#define CYNET_LOOPS "reduce/line_reduce_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

template <typename T>
double sum_at(int level, const T* x, int64_t n, double center, bool squared) {
  typedef double (*Loop)(const T* x, int64_t n, T center);
  static const Loop sums[] = CYNET_AT_LEVELS(line_sum<T>);
  static const Loop squares[] = CYNET_AT_LEVELS(line_squares<T>);
  return (squared ? squares : sums)[level](x, n, static_cast<T>(center));
}

template <typename T>
double product_at(int level, const T* g, const T* x, int64_t n, double center) {
  typedef double (*Loop)(const T* g, const T* x, int64_t n, T center);
  static const Loop products[] = CYNET_AT_LEVELS(line_product<T>);
  return products[level](g, x, n, static_cast<T>(center));
}

template <typename T>
void columns_at(int level, const T* x, int64_t rows, int64_t cols, int64_t begin, int64_t end,
                T* y) {
  typedef void (*Loop)(const T* x, int64_t rows, int64_t cols, int64_t begin, int64_t end, T* y);
  static const Loop loops[] = CYNET_AT_LEVELS(column_sums<T>);
  loops[level](x, rows, cols, begin, end, y);
}

template <typename T>
void normalized_at(int level, const T* x, const T* gamma, const T* beta, T* y, int64_t n,
                   double eps, bool add, double* mean, double* std) {
  typedef void (*Loop)(const T* x, const T* gamma, const T* beta, T* y, int64_t n, double eps,
                       bool add, double* mean, double* std);
  static const Loop loops[] = CYNET_AT_LEVELS(normalized_line<T>);
  loops[level](x, gamma, beta, y, n, eps, add, mean, std);
}

template <typename T>
void normalized_gradient_at(int level, const T* dy, const T* x, const T* gamma, T mean, T std,
                            T* dx, int64_t n, bool add) {
  typedef void (*Loop)(const T* dy, const T* x, const T* gamma, T mean, T std, T* dx, int64_t n,
                       bool add);
  static const Loop loops[] = CYNET_AT_LEVELS(normalized_gradient<T>);
  loops[level](dy, x, gamma, mean, std, dx, n, add);
}

template <typename T>
void gradient_columns_at(int level, const T* dy, const T* x, const T* mean, const T* std,
                         int64_t lines, int64_t n, int64_t width, double* products,
                         double* totals) {
  typedef void (*Loop)(const T* dy, const T* x, const T* mean, const T* std, int64_t lines,
                       int64_t n, int64_t width, double* products, double* totals);
  static const Loop loops[] = CYNET_AT_LEVELS(normalized_gradient_columns<T>);
  loops[level](dy, x, mean, std, lines, n, width, products, totals);
}

}  // namespace cynet

#endif
