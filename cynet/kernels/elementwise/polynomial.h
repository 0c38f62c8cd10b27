// y (+)= g * (a x^2 + b x + c) of every dtype; g may be missing. Integers by double, truncated.
#ifndef CYNET_POLYNOMIAL_H
#define CYNET_POLYNOMIAL_H

#include "common/by_dtype.h"
#include "parallel.h"

namespace cynet {

inline void polynomial(int dtype, int threads, double a_, double b_, double c_, const void* g_,
                       const void* x_, void* y_, int64_t n, bool add) {
  by_dtype(dtype, [=](auto zero) {
    typedef decltype(zero) T;
    typedef typename std::conditional<std::is_same<T, half>::value || std::is_same<T, float>::value,
                                      float, double>::type C;
    const C a = static_cast<C>(a_), b = static_cast<C>(b_), c = static_cast<C>(c_);
    const T *g = static_cast<const T*>(g_), *x = static_cast<const T*>(x_);
    T* y = static_cast<T*>(y_);
    parallel_for(threads, n, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        C value = c;
        if (a != 0 || b != 0) {  // else x is not given
          const C v = convert_one<C>(x[i]);
          value += (a * v + b) * v;
        }
        if (g) value *= convert_one<C>(g[i]);
        const T made = convert_one<T>(value);
        if (add) add_element(y + i, made);
        else y[i] = made;
      }
    });
  });
}

}  // namespace cynet

#endif
