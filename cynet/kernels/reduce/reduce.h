// Reductions over any set of axes. Sums and products of floats are carried in double, of integers
// in 64 bits; the axes arrive collapsed and split into preserved and reduced ones.
#ifndef CYNET_REDUCE_H
#define CYNET_REDUCE_H

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "elementwise/convert.h"
#include "common/bfloat16.h"
#include "isa/kernel_table.h"
#include "isa/levels.h"
#include "parallel.h"
#include "reduce/reduce_space.h"
#include "common/wrapping.h"

#ifdef CYNET_X86_LEVELS
#include <immintrin.h>
#endif

namespace cynet {

template <typename T>
using wide = typename std::conditional<std::is_integral<T>::value, int64_t, double>::type;
template <typename T>
using compute_value = typename std::conditional<is_narrow<T>, float, T>::type;  // type of terms

// ----- reducers: init, step, merge, finish. An acc is what a result is carried in; part, see sum -
template <typename T>
struct sum {
  typedef wide<T> acc;
  // the type of a partial sum of a few elements: floats add up twice as fast as doubles
  typedef typename std::conditional<sizeof(compute_value<T>) == sizeof(float) &&
                                        std::is_floating_point<compute_value<T>>::value,
                                    float, acc>::type part;
  static CYNET_XINLINE acc init() { return 0; }
  template <typename A>
  static CYNET_XINLINE void step(A& a, compute_value<T> x) {
    a = sum_of(a, static_cast<A>(x));
  }
  static CYNET_XINLINE void merge(acc& a, acc b) { a = sum_of(a, b); }
  static CYNET_XINLINE acc finish(acc a, double divisor) {  // a total or mean
    if constexpr (std::is_integral<acc>::value)
      return integer_quotient(a, static_cast<acc>(divisor));
    else return divisor == 1 ? a : a / divisor;
  }
};
template <typename T>
struct nansum : sum<T> {
  template <typename A>
  static CYNET_XINLINE void step(A& a, compute_value<T> x) {
    a = sum_of(a, x == x ? static_cast<A>(x) : A(0));
  }
};
template <typename T>
struct norm1 : sum<T> {
  template <typename A>
  static CYNET_XINLINE void step(A& a, compute_value<T> x) {
    const A wide = static_cast<A>(x);  // a type wide enough for the magnitude of the lowest integer
    a = sum_of(a, wide < A(0) ? negative_of(wide) : wide);
  }
};
template <typename T>
struct norm2 {
  typedef double acc, part;
  static CYNET_XINLINE acc init() { return 0; }
  static CYNET_XINLINE void step(acc& a, compute_value<T> x) {
    a += static_cast<double>(x) * static_cast<double>(x);
  }
  static CYNET_XINLINE void merge(acc& a, acc b) { a += b; }
  static CYNET_XINLINE double finish(acc a, double) { return std::sqrt(a); }
};
template <typename T>
struct prod {
  typedef wide<T> acc, part;
  static CYNET_XINLINE acc init() { return 1; }
  static CYNET_XINLINE void step(acc& a, compute_value<T> x) {
    a = product_of(a, static_cast<acc>(x));
  }
  static CYNET_XINLINE void merge(acc& a, acc b) { a = product_of(a, b); }
  static CYNET_XINLINE acc finish(acc a, double) { return a; }
};
template <typename T>
struct nanprod : prod<T> {
  static CYNET_XINLINE void step(wide<T>& a, compute_value<T> x) {
    a = product_of(a, x == x ? static_cast<wide<T>>(x) : wide<T>(1));
  }
};
template <typename T>
struct max {
  typedef compute_value<T> acc, part;
  static CYNET_XINLINE acc init() {
    return std::numeric_limits<acc>::has_infinity ? -std::numeric_limits<acc>::infinity()
                                                  : std::numeric_limits<acc>::lowest();
  }
  static CYNET_XINLINE void step(acc& a, acc x) { a = (x > a) | (x != x) ? x : a; }
  static CYNET_XINLINE void merge(acc& a, acc b) { step(a, b); }
  static CYNET_XINLINE acc finish(acc a, double) { return a; }
};
template <typename T>
struct min {
  typedef compute_value<T> acc, part;
  static CYNET_XINLINE acc init() {
    return std::numeric_limits<acc>::has_infinity ? std::numeric_limits<acc>::infinity()
                                                  : std::numeric_limits<acc>::max();
  }
  static CYNET_XINLINE void step(acc& a, acc x) { a = (x < a) | (x != x) ? x : a; }
  static CYNET_XINLINE void merge(acc& a, acc b) { step(a, b); }
  static CYNET_XINLINE acc finish(acc a, double) { return a; }
};

inline int64_t offset_of(int64_t index, int n, const int64_t* shape, const int64_t* stride) {
  int64_t offset = 0;
  for (int i = n - 1; i >= 0; --i) {
    offset += index % shape[i] * stride[i];
    index /= shape[i];
  }
  return offset;
}

}  // namespace cynet

#if !defined(__CUDACC__)  // the rest is for the CPU: nvcc has no GCC vectors
#define CYNET_PER_ISA_FILE "isa/simd.h"
#include "isa/for_each_isa.h"
#define CYNET_PER_ISA_FILE "reduce/reduce_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

// ----- the walk ----------------------------------------------------------------------------------
template <typename T, typename V>
inline void store(T* out, int add, V value) {  // *out = value or *out += value
  if constexpr (is_narrow<T>) {
    *out = T((add ? T::to_float(out->bits) : 0.0f) + static_cast<float>(value));
  } else {
    const T own = convert_one<T>(value);
    *out = add ? sum_of(*out, own) : own;
  }
}

enum { MAX_PARTS = 16, COLUMNS = 1024, PART_SIZE = 1 << 15, FEW_ROWS = 128 };

// Prefetches rows of `bytes` bytes in order: for short rows, hardware prefetchers start too late.
struct PrefetchedRows {  // rows to prefetch
  enum { PREFETCH_BYTES = 8192, LINE = 64, LONG = 4096, CACHED = 1 << 25 };
  int64_t bytes;  // bytes of a row; 0: rows are too small to prefetch
  PrefetchedRows(int64_t row, int64_t rows)
      : bytes(row < 2 * LINE || row > LONG || row * rows < CACHED ? 0 : row) {}
  CYNET_XINLINE void prefetch(const void* row) const {
#if defined(__GNUC__)
    const char* from = static_cast<const char*>(row) + PREFETCH_BYTES;
    for (int64_t i = 0; i < bytes; i += LINE) __builtin_prefetch(from + i);
#endif
  }
};

// Functions of each level but AVX-512, which gains nothing here and takes long to compile.
#ifdef CYNET_X86_LEVELS
#define CYNET_UP_TO_AVX2(...) \
  {baseline::__VA_ARGS__, avx2::__VA_ARGS__, avx2::__VA_ARGS__, avx2::__VA_ARGS__}
#else
#define CYNET_UP_TO_AVX2(...) CYNET_AT_LEVELS(__VA_ARGS__)
#endif

// The loop for a level of CPU, of AVX2 at most for integers and narrow floats: their speed is that
// of memory or of conversions.
template <typename T, class R>
auto find_row_loop(int level) {
  typedef typename R::acc (*Loop)(const T* x, int64_t n);
  if constexpr (std::is_floating_point<T>::value) {
    static const Loop loops[] = CYNET_AT_LEVELS(reduce_row<T, R>);
    return loops[level];
  } else {
    static const Loop loops[] = CYNET_UP_TO_AVX2(reduce_row<T, R>);
    return loops[level];
  }
}
template <typename T, class R>
auto find_column_loop(int level) {
  typedef void (*Loop)(const ReduceSpace& s, const T* x, int64_t n, int64_t begin, int64_t end,
                       typename R::acc* total);
  if constexpr (std::is_floating_point<T>::value) {
    static const Loop loops[] = CYNET_AT_LEVELS(reduce_columns<T, R>);
    return loops[level];
  } else {
    static const Loop loops[] = CYNET_UP_TO_AVX2(reduce_columns<T, R>);
    return loops[level];
  }
}

// Reduces flat positions [begin, end) of the reduced axes, which include the input's last axis.
template <typename T, class R>
typename R::acc reduce_rows(int level, const ReduceSpace& s, const T* x, int64_t begin,
                            int64_t end) {
  const int last = s.n_reduced - 1;
  const int64_t n = s.reduced[last];
  const auto loop = find_row_loop<T, R>(level);
  typename R::acc total = R::init();
  while (begin < end) {
    const int64_t row = begin / n, column = begin - row * n;
    const int64_t m = n - column < end - begin ? n - column : end - begin;
    R::merge(total, loop(x + offset_of(row, last, s.reduced, s.reduced_stride) + column, m));
    begin += m;
  }
  return total;
}

// The number of parts per result: a few results are divided, so that all threads have work. How
// many these are depends on the shape alone: where a part ends changes a sum.
inline int64_t parts_per_result(int64_t results, int64_t rows, int64_t row) {
  if (results >= MAX_PARTS) return 1;
  const int64_t maximum = std::min<int64_t>(MAX_PARTS, row > 1 ? rows / FEW_ROWS : rows);
  return std::max<int64_t>(std::min(rows * row / PART_SIZE, maximum), 1);
}

template <typename T, class R, typename O>
void reduce_last_axes(int threads, int level, const ReduceSpace& s, const T* x, O* out, int add,
                      double divisor) {
  const int64_t parts = parts_per_result(s.preserved_size, s.reduced_size, 1);
  if (parts > 1) {
    typename R::acc found[MAX_PARTS * MAX_PARTS];
    const int64_t each = (s.reduced_size + parts - 1) / parts;
    parallel_for(threads, s.preserved_size * parts, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* from = x + offset_of(i / parts, s.n_preserved, s.preserved, s.preserved_stride);
        const int64_t start = i % parts * each, stop = std::min(start + each, s.reduced_size);
        found[i] = reduce_rows<T, R>(level, s, from, start, stop);
      }
    });
    for (int64_t o = 0; o < s.preserved_size; ++o) {
      typename R::acc total = R::init();
      for (int64_t p = 0; p < parts; ++p) R::merge(total, found[o * parts + p]);
      store(out + o, add, R::finish(total, divisor));
    }
    return;
  }
  if (s.n_preserved == 1 && s.n_reduced == 1) {  // contiguous rows
    const auto loop = find_row_loop<T, R>(level);
    const int64_t n = s.reduced_size, stride = s.preserved_stride[0];
    const PrefetchedRows rows(n * sizeof(T), s.preserved_size);
    parallel_for(threads, s.preserved_size, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        rows.prefetch(x + o * stride);
        store(out + o, add, R::finish(loop(x + o * stride, n), divisor));
      }
    });
    return;
  }
  parallel_for(threads, s.preserved_size, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      const T* from = x + offset_of(o, s.n_preserved, s.preserved, s.preserved_stride);
      store(out + o, add, R::finish(reduce_rows<T, R>(level, s, from, 0, s.reduced_size), divisor));
    }
  });
}

template <typename T, class R, typename O>
void reduce_outer_axes(int threads, int level, const ReduceSpace& s, const T* x, O* out, int add,
                       double divisor) {
  typedef typename R::acc acc;
  const auto loop = find_column_loop<T, R>(level);
  const int last = s.n_preserved - 1;
  const int64_t width = s.preserved[last], strips = (width + COLUMNS - 1) / COLUMNS;
  const int64_t tasks = s.preserved_size / width * strips;
  const int64_t parts = parts_per_result(tasks, s.reduced_size, std::min<int64_t>(width, COLUMNS));
  const int64_t each = (s.reduced_size + parts - 1) / parts;
  const auto task = [&](int64_t t) {
    const int64_t row = t / strips, column = t % strips * COLUMNS;
    const int64_t n = width - column < COLUMNS ? width - column : static_cast<int64_t>(COLUMNS);
    const T* from = x + offset_of(row, last, s.preserved, s.preserved_stride) + column;
    acc total[COLUMNS];
    if (parts == 1) {
      loop(s, from, n, 0, s.reduced_size, total);
    } else {
      acc found[MAX_PARTS][COLUMNS];
      parallel_for(threads, parts, [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) {
          const int64_t start = std::min(p * each, s.reduced_size);
          loop(s, from, n, start, std::min(start + each, s.reduced_size), found[p]);
        }
      });
      std::fill(total, total + n, R::init());
      for (int64_t p = 0; p < parts; ++p)
        for (int64_t c = 0; c < n; ++c) R::merge(total[c], found[p][c]);
    }
    for (int64_t c = 0; c < n; ++c)
      store(out + row * width + column + c, add, R::finish(total[c], divisor));
  };
  parallel_for(parts == 1 ? threads : 1, tasks, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) task(t);
  });
}

template <typename T, class R, typename O = T>
void reduce_loop(int threads, int level, const ReduceSpace& s, const void* x_, void* out_, int add,
                 double divisor) {
  const T* x = static_cast<const T*>(x_);
  O* out = static_cast<O*>(out_);
  if (s.last_is_preserved) reduce_outer_axes<T, R>(threads, level, s, x, out, add, divisor);
  else reduce_last_axes<T, R>(threads, level, s, x, out, add, divisor);
}

}  // namespace cynet

#endif  // CPU

#endif
