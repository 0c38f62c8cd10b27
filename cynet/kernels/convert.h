// One value of one dtype as another, for CPU and CUDA: real to integer truncates, out of range and
// NaN become the lowest value of the 32 or 64 bit integer (then the low bits), anything but 0 is
// true.
#ifndef CYNET_CONVERT_H
#define CYNET_CONVERT_H

#include <cstdint>
#include <limits>
#include <type_traits>

#include "half.h"

namespace cynet {

template <typename To, typename From>
CYNET_XINLINE To convert_one(From x) {
  if constexpr (std::is_same<From, half>::value) {
    if constexpr (std::is_same<To, half>::value) return x;
    else return convert_one<To>(half::to_float(x.bits));
  } else if constexpr (std::is_same<To, half>::value) {
    return half(static_cast<float>(x));
  } else if constexpr (std::is_same<To, bool>::value) {
    return x != From(0);
  } else if constexpr (std::is_floating_point<From>::value && std::is_integral<To>::value) {
    if constexpr (sizeof(To) == 8) {
      return x >= From(-9223372036854775808.0) && x < From(9223372036854775808.0)
                 ? static_cast<To>(x)
                 : std::numeric_limits<To>::min();
    } else {
      const bool fits = x > From(-2147483649.0) && x < From(2147483648.0);
      return static_cast<To>(fits ? static_cast<int32_t>(x) : std::numeric_limits<int32_t>::min());
    }
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace cynet

#endif
