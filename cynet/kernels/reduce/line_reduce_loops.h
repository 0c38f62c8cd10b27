// Sums over rows of memory, compiled for each CPU level (levels.h). Included by line_reduce.h.
//
// SUM_LANES partial sums let the compiler vectorise; after each block they are added in double. The
// loops over SUM_FEW terms must stay loops: if GCC unrolls them first, it does not vectorise.

enum { SUM_LANES = 64, SUM_FEW = 16, SUM_BLOCK = 4096 };

// The sum of term(i) over [0, n).
template <typename T, class F>
CYNET_XINLINE double sum_of_terms(int64_t n, F&& term) {
  double total = 0;
  for (int64_t start = 0; start < n; start += SUM_BLOCK) {
    const int64_t stop = start + SUM_BLOCK < n ? start + SUM_BLOCK : n;
    T lanes[SUM_LANES];
    for (int l = 0; l < SUM_LANES; ++l) lanes[l] = 0;
    int64_t i = start;
    for (; i + SUM_LANES <= stop; i += SUM_LANES)
      for (int l = 0; l < SUM_LANES; ++l) lanes[l] += term(i + l);
    for (; i + SUM_FEW <= stop; i += SUM_FEW)
#pragma GCC unroll 1
      for (int l = 0; l < SUM_FEW; ++l) lanes[l] += term(i + l);
    if (stop - start < SUM_FEW) {
      for (int l = 0; i + l < stop; ++l) lanes[l] += term(i + l);
    } else if (i < stop) {  // the last SUM_FEW terms; terms already added count as 0
      const int64_t last = stop - SUM_FEW;
#pragma GCC unroll 1
      for (int l = 0; l < SUM_FEW; ++l) {
        const T value = term(last + l);
        lanes[l] += last + l >= i ? value : T(0);
      }
    }
    double few[SUM_FEW];
    for (int l = 0; l < SUM_FEW; ++l) {
      few[l] = 0;
      for (int k = l; k < SUM_LANES; k += SUM_FEW) few[l] += lanes[k];
    }
    for (int l = 0; l < 8; ++l) few[l] += few[l + 8];
    for (int l = 0; l < 4; ++l) few[l] += few[l + 4];
    total += (few[0] + few[2]) + (few[1] + few[3]);
  }
  return total;
}

template <typename T>
double sum_of_line(const T* x, int64_t n, T center) {
  return sum_of_terms<T>(n, [=](int64_t i) { return x[i] - center; });
}

template <typename T>
double line_square_sum(const T* x, int64_t n, T center) {
  return sum_of_terms<T>(n, [=](int64_t i) { return (x[i] - center) * (x[i] - center); });
}

template <typename T>
double line_product(const T* g, const T* x, int64_t n, T center) {
  return sum_of_terms<T>(n, [=](int64_t i) { return g[i] * (x[i] - center); });
}

// y[j] += the sum over rows of x[row, j], for the columns [begin, end).
template <typename T>
void column_sums(const T* x, int64_t rows, int64_t cols, int64_t begin, int64_t end, T* y) {
  int64_t j = begin;
  for (; j + SUM_LANES <= end; j += SUM_LANES) {  // sums in registers
    T sum[SUM_LANES];
    for (int l = 0; l < SUM_LANES; ++l) sum[l] = y[j + l];
    for (int64_t i = 0; i < rows; ++i)
      for (int l = 0; l < SUM_LANES; ++l) sum[l] += x[i * cols + j + l];
    for (int l = 0; l < SUM_LANES; ++l) y[j + l] = sum[l];
  }
  for (int64_t i = 0; i < rows; ++i) {
    const T* row = x + i * cols;
    CYNET_IVDEP
    for (int64_t k = j; k < end; ++k) y[k] += row[k];
  }
}
