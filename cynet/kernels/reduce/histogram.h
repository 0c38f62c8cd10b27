// How many numbers lie between edges; the last interval holds its upper edge, too.
#ifndef CYNET_HISTOGRAM_H
#define CYNET_HISTOGRAM_H

#include <algorithm>

#include "common/by_dtype.h"

namespace cynet {

// edges[i] of `bins` intervals of one width from low to high: NumPy's linspace, bit for bit
inline void even_edges(int dtype, int64_t bins, double low, double high, void* edges_) {
  by_dtype(dtype, [=](auto zero) {
    typedef decltype(zero) T;
    T* edges = static_cast<T*>(edges_);
    const double width = high - low, parts = static_cast<double>(bins), step = width / parts;
    for (int64_t i = 0; i <= bins; ++i) {
      const double at = static_cast<double>(i);
      const volatile double way = step != 0 ? at * step : at / parts * width;  // rounded by itself
      edges[i] = convert_one<T>(i == bins ? high : low + way);
    }
  });
}

// The first edge that is below the one before it (or NaN), or -1.
inline int64_t falling_edge(int dtype, const void* edges_, int64_t n) {
  int64_t found = -1;
  by_dtype(dtype, [=, &found](auto zero) {
    typedef decltype(zero) T;
    const T* edges = static_cast<const T*>(edges_);
    for (int64_t i = n - 1; i > 0; --i)
      if (!(convert_one<double>(edges[i]) >= convert_one<double>(edges[i - 1]))) found = i;
  });
  return found;
}

template <typename T, typename E>
void count_between(const T* x, int64_t n, bool even, const E* edges, int64_t bins,
                   int64_t* counts) {
  auto edge = [=](int64_t i) { return convert_one<double>(edges[i]); };
  const double low = edge(0), high = edge(bins), scale = static_cast<double>(bins) / (high - low);
  for (int64_t k = 0; k < n; ++k) {
    const double value = convert_one<double>(x[k]);
    if (!(value >= low && value <= high)) continue;
    int64_t i;
    if (even && high > low) {  // then to the edges as they are
      i = std::min(static_cast<int64_t>((value - low) * scale), bins - 1);
      while (i > 0 && value < edge(i)) --i;
      while (i < bins - 1 && value >= edge(i + 1)) ++i;
    } else {  // the last edge that is not above the value
      int64_t first = 0, last = bins;
      while (first < last) {
        const int64_t middle = (first + last + 1) / 2;
        if (edge(middle) <= value) first = middle;
        else last = middle - 1;
      }
      i = std::min(first, bins - 1);
    }
    ++counts[i];
  }
}

// counts[i] += numbers in interval i of `bins`; `even`: all are of one width. The edges are of the
// numbers' dtype or float64.
inline void count_into_bins(int dtype, const void* x, int64_t n, bool even, int edges_dtype,
                            const void* edges, int64_t bins, int64_t* counts) {
  by_dtype(dtype, [=](auto zero) {
    typedef decltype(zero) T;
    const T* numbers = static_cast<const T*>(x);
    if (edges_dtype == dtype)
      count_between(numbers, n, even, static_cast<const T*>(edges), bins, counts);
    else
      count_between(numbers, n, even, static_cast<const double*>(edges), bins, counts);
  });
}

}  // namespace cynet

#endif
