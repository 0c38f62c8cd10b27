// Calls a function with the C++ type of a dtype code (kernel_table.h).
#ifndef CYNET_BY_DTYPE_H
#define CYNET_BY_DTYPE_H

#include "elementwise/convert.h"

namespace cynet {

// Calls body(T()), where T is the C++ type of `dtype`.
template <typename Body>
inline void call_for_dtype(int dtype, const Body& body) {
  switch (dtype) {
    case 0: return body(float());
    case 1: return body(double());
    case 2: return body(half());
    case 3: return body(uint8_t());
    case 4: return body(int32_t());
    case 5: return body(int8_t());
    case 6: return body(int64_t());
    case 7: return body(bool());
    default: return body(bfloat16());  // 12
  }
}

// Adds `from` to `to`; integers wrap.
template <typename T>
inline void add_element(T* to, T from) {
  if constexpr (is_narrow<T>) *to = T(static_cast<float>(*to) + static_cast<float>(from));
  else if constexpr (std::is_integral<T>::value && !std::is_same<T, bool>::value)
    *to = static_cast<T>(static_cast<uint64_t>(*to) + static_cast<uint64_t>(from));
  else *to += from;
}

// to[i] += from[i]
inline void add_elements(int dtype, const void* from, void* to, int64_t n) {
  call_for_dtype(dtype, [=](auto zero) {
    typedef decltype(zero) T;
    const T* x = static_cast<const T*>(from);
    T* y = static_cast<T*>(to);
    for (int64_t i = 0; i < n; ++i) add_element(y + i, x[i]);
  });
}

}  // namespace cynet

#endif
