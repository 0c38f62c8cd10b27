// The order of elements along an axis: positions sorted by value, equal ones by position, NaN last.
// Included by sort.pyx alone.
#ifndef CYNET_ORDER_H
#define CYNET_ORDER_H

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "common/emit.h"

namespace cynet {

// ----- keys: unsigned numbers in the order of the elements, equal for elements that are, the
// greatest for NaN
template <typename T>
CYNET_XINLINE uint32_t order_key(T x, bool ascending) {
  if constexpr (std::is_integral<T>::value) {
    const uint32_t key = static_cast<uint32_t>(static_cast<int32_t>(x)) ^ 0x80000000u;
    return ascending ? key : ~key;
  } else {
    const float value = static_cast<float>(x) + 0.0f;  // -0 is 0
    const uint32_t bits = bit_cast<uint32_t>(value), sign = bits & 0x80000000u;
    const uint32_t key = sign ? ~bits : bits | 0x80000000u;
    const uint32_t transposed = ascending ? key : ~key;
    return value == value ? transposed : 0xffffffffu;
  }
}

// Pairs of a key (above) and a position, sorted; `other` is as long. The pairs stand by position:
// passes over eight bits of the keys keep that order where keys are equal.
inline void sort_pairs(uint64_t* pairs, uint64_t* other, int64_t n) {
  enum { RADIX_FROM = 192, BUCKETS = 256, PASSES = 4 };
  if (n < RADIX_FROM) {
    std::sort(pairs, pairs + n);
    return;
  }
  uint32_t count[PASSES][BUCKETS];
  std::memset(count, 0, sizeof count);
  for (int64_t i = 0; i < n; ++i)
    for (int p = 0; p < PASSES; ++p) ++count[p][pairs[i] >> (32 + 8 * p) & 255];
  uint64_t *from = pairs, *to = other;
  for (int p = 0; p < PASSES; ++p) {
    if (count[p][from[0] >> (32 + 8 * p) & 255] == static_cast<uint32_t>(n)) continue;
    uint32_t start[BUCKETS], sum = 0;
    for (int b = 0; b < BUCKETS; ++b) {
      start[b] = sum;
      sum += count[p][b];
    }
    for (int64_t i = 0; i < n; ++i) to[start[from[i] >> (32 + 8 * p) & 255]++] = from[i];
    std::swap(from, to);
  }
  if (from != pairs) std::memcpy(pairs, from, static_cast<size_t>(n) * sizeof(uint64_t));
}

}  // namespace cynet

#define CYNET_LOOPS "movement/sort_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

// Positions of the k first elements of each row along the middle axis (outer, n, inner), to order
// as (outer, k, inner); `scratch` holds 2 n numbers for each of `threads` threads.
struct SortRows {
  template <typename T>
  static void run(int threads, int level, bool ascending, int64_t outer, int64_t n, int64_t inner,
                  int64_t k, const void* x_, int64_t* scratch, int64_t* order) {
    const T* x = static_cast<const T*>(x_);
    const int64_t rows = outer * inner;
    const bool short_keys = sizeof(T) <= 4 && n <= 0xffffffffLL;
    if (threads > rows) threads = static_cast<int>(rows);
    parallel_for(threads, threads, [=](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        int64_t* p = scratch + part * 2 * n;
        for (int64_t r = rows * part / threads; r < rows * (part + 1) / threads; ++r) {
          const T* row = x + r / inner * n * inner + r % inner;
          int64_t* to = order + r / inner * k * inner + r % inner;
          if (short_keys) by_keys(level, row, inner, n, k, ascending, p, to);
          else by_comparing(row, inner, n, k, ascending, p, to);
        }
      }
    });
  }

  template <typename T>
  static void by_keys(int level, const T* row, int64_t step, int64_t n, int64_t k, bool ascending,
                      int64_t* scratch, int64_t* order) {
    if constexpr (sizeof(T) <= 4) {
      typedef void (*Loop)(const T* row, int64_t step, int64_t n, int64_t k, bool ascending,
                           uint64_t* pairs, int64_t* order);
      static const Loop few[] = CYNET_AT_LEVELS(order_few<T>);
      static const Loop all[] = CYNET_AT_LEVELS(order_row<T>);
      (k <= baseline::MOST_FEW && k * 8 < n ? few : all)[level](
          row, step, n, k, ascending, reinterpret_cast<uint64_t*>(scratch), order);
    }
  }

  template <typename T>
  static void by_comparing(const T* row, int64_t step, int64_t n, int64_t k, bool ascending,
                           int64_t* p, int64_t* order) {
    typedef plain<T> P;
    for (int64_t i = 0; i < n; ++i) p[i] = i;
    auto before = [=](int64_t i, int64_t j) {
      const P a = row[i * step], b = row[j * step];
      if (a != a || b != b) return a == a ? true : (b == b ? false : i < j);
      if (a == b) return i < j;
      return ascending ? a < b : b < a;
    };
    if (k < n) std::partial_sort(p, p + k, p + n, before);
    else std::sort(p, p + n, before);
    for (int64_t i = 0; i < k; ++i) order[i * step] = p[i];
  }
};

// Along the middle axis: values (outer, k, inner) (+)= x (outer, n, inner) at `order`; backwards x
// += values.
struct TakeOrder {
  template <typename T>
  static void run(int threads, bool backwards, bool add, int64_t outer, int64_t n, int64_t inner,
                  int64_t k, const int64_t* order, void* x_, void* values_) {
    T* x = static_cast<T*>(x_);
    T* values = static_cast<T*>(values_);
    parallel_for(threads, outer * k * inner, [=](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        T& element = x[(r / (k * inner) * n + order[r]) * inner + r % inner];
        if (backwards) emit(element, static_cast<plain<T>>(values[r]), true);
        else emit(values[r], static_cast<plain<T>>(element), add);
      }
    });
  }
};

// mask (outer, n, inner) += 1 at `order`.
struct MarkOrder {
  template <typename T>
  static void run(int threads, int64_t outer, int64_t n, int64_t inner, int64_t k,
                  const int64_t* order, void* mask_) {
    T* mask = static_cast<T*>(mask_);
    parallel_for(threads, outer * k * inner, [=](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        emit(mask[(r / (k * inner) * n + order[r]) * inner + r % inner], plain<T>(1), true);
    });
  }
};

inline void order_all(int threads, int level, int dtype, bool ascending, int64_t outer, int64_t n,
                      int64_t inner, int64_t k, const void* x, int64_t* scratch, int64_t* order) {
  by_dtype<SortRows>(dtype, threads, level, ascending, outer, n, inner, k, x, scratch, order);
}
inline void take_order_all(int threads, int dtype, bool backwards, bool add, int64_t outer,
                           int64_t n, int64_t inner, int64_t k, const int64_t* order, void* x,
                           void* values) {
  by_dtype<TakeOrder>(dtype, threads, backwards, add, outer, n, inner, k, order, x, values);
}
inline void mark_order_all(int threads, int dtype, int64_t outer, int64_t n, int64_t inner,
                           int64_t k, const int64_t* order, void* mask) {
  by_dtype<MarkOrder>(dtype, threads, outer, n, inner, k, order, mask);
}

}  // namespace cynet

#endif
