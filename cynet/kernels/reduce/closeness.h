// Whether two arrays are equal within tolerances.
#ifndef CYNET_CLOSENESS_H
#define CYNET_CLOSENESS_H

#include <cmath>

#include "common/by_dtype.h"

namespace cynet {

// |a - b| <= absolute + relative |b| for all elements; infinities must be equal, NaN too if they
// count as equal.
inline bool all_close(int dtype, const void* a_, const void* b_, int64_t n, double relative,
                      double absolute, bool equal_nan) {
  bool close = true;
  by_dtype(dtype, [=, &close](auto zero) {
    typedef decltype(zero) T;
    const T *a = static_cast<const T*>(a_), *b = static_cast<const T*>(b_);
    for (int64_t i = 0; i < n && close; ++i) {
      const double x = convert_one<double>(a[i]), y = convert_one<double>(b[i]);
      if (x == y) continue;
      if (x != x || y != y) close = equal_nan && x != x && y != y;
      else close = std::isfinite(y) && std::fabs(x - y) <= absolute + relative * std::fabs(y);
    }
  });
  return close;
}

}  // namespace cynet

#endif
