// The order of elements along an axis: positions sorted by value, equal ones by position, NaN last.
// Included by order.pyx alone.
#ifndef CYNET_ORDER_H
#define CYNET_ORDER_H

#include <algorithm>
#include <cstdint>

#include "select.h"

namespace cynet {

// Positions of the k first elements of each row along the middle axis (outer, n, inner), to order
// as (outer, k, inner); `scratch` holds n positions for each of `threads` threads.
struct Order {
  template <typename T>
  static void run(int threads, bool ascending, int64_t outer, int64_t n, int64_t inner, int64_t k,
                  const void* x_, int64_t* scratch, int64_t* order) {
    typedef plain<T> P;
    const T* x = static_cast<const T*>(x_);
    const int64_t rows = outer * inner;
    if (threads > rows) threads = static_cast<int>(rows);
    parallel_for(threads, threads, [=](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        int64_t* p = scratch + part * n;
        for (int64_t r = rows * part / threads; r < rows * (part + 1) / threads; ++r) {
          const T* row = x + r / inner * n * inner + r % inner;
          for (int64_t i = 0; i < n; ++i) p[i] = i;
          auto before = [=](int64_t i, int64_t j) {
            const P a = row[i * inner], b = row[j * inner];
            if (a != a || b != b) return a == a ? true : (b == b ? false : i < j);
            if (a == b) return i < j;
            return ascending ? a < b : b < a;
          };
          if (k < n) std::partial_sort(p, p + k, p + n, before);
          else std::sort(p, p + n, before);
          for (int64_t i = 0; i < k; ++i) order[(r / inner * k + i) * inner + r % inner] = p[i];
        }
      }
    });
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

inline void order_all(int threads, int dtype, bool ascending, int64_t outer, int64_t n,
                      int64_t inner, int64_t k, const void* x, int64_t* scratch, int64_t* order) {
  by_dtype<Order>(dtype, threads, ascending, outer, n, inner, k, x, scratch, order);
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
