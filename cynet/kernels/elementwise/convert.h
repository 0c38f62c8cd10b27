// Conversion of one value to another dtype, for CPU and CUDA: real to integer truncates; out of
// range and NaN become the lowest 32 or 64 bit integer (then the low bits); nonzero is true.
#ifndef CYNET_CONVERT_H
#define CYNET_CONVERT_H

#include <cstdint>
#include <limits>
#include <type_traits>

#include "common/bfloat16.h"

namespace cynet {

// x as a float, rounded to odd if it is not exact: rounding that once more, to fewer bits, gives
// the same as rounding x itself.
CYNET_XINLINE float float_for_rounding(double x) {  // rounded to odd if it is not exact
  const float near = static_cast<float>(x);
  const double back = near;
  const bool exact = back == x || x != x, beyond = x < 0 ? back < x : back > x;
  const uint32_t bits = bit_cast<uint32_t>(near);
  return exact ? near : bit_cast<float>((beyond ? bits - 1 : bits) | 1u);
}

// An integer as a float that later rounds to the right narrow float (a float has 24 bits).
template <typename From>
CYNET_XINLINE float integer_for_rounding(From x) {  // a float that later rounds to fewer bits
  if constexpr (sizeof(From) < 4) {
    return static_cast<float>(x);
  } else if constexpr (sizeof(From) == 4) {
    return float_for_rounding(static_cast<double>(x));
  } else {  // a double has 53 bits: below 2^11, one bit says whether lower bits are set
    const bool large = x > (From(1) << 53) || x < -(From(1) << 53);
    const From rest = x & 0x7ff, sticky = (x ^ rest) | (rest ? 0x800 : 0);
    return float_for_rounding(static_cast<double>(large ? sticky : x));
  }
}

template <typename To, typename From>
CYNET_XINLINE To convert_one(From x) {
  if constexpr (is_narrow<From>) {
    if constexpr (std::is_same<To, From>::value) return x;
    else return convert_one<To>(From::to_float(x.bits));
  } else if constexpr (is_narrow<To>) {
    if constexpr (std::is_same<From, double>::value) return To(float_for_rounding(x));
    else if constexpr (std::is_integral<From>::value && !std::is_same<From, bool>::value)
      return To(integer_for_rounding(x));
    else return To(static_cast<float>(x));
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

// x clamped to the range of T, truncated for integers; `nan` for NaN if T has none. T is as wide as
// an integer x.
template <typename T, typename From>
CYNET_XINLINE T saturate(From x, T nan) {  // clamps x to the range of T
  if constexpr (std::is_integral<From>::value) {
    static_assert(sizeof(From) <= sizeof(T), "an integer that may not fit");
    return static_cast<T>(x);
  } else if constexpr (std::is_integral<T>::value && !std::is_same<T, bool>::value) {
    typedef std::numeric_limits<T> limits;
    if (x != x) return nan;
    if (x >= static_cast<From>(limits::max())) return limits::max();
    return x <= static_cast<From>(limits::min()) ? limits::min() : static_cast<T>(x);
  } else {
    return convert_one<T>(x);
  }
}

// Limits of values of type T; a NaN, or a limit beyond the type, limits nothing.
template <typename T>
CYNET_XINLINE T lower_limit(double x) {  // x clamped to T: a limit of its values
  return saturate<T>(x, std::numeric_limits<T>::lowest());
}
template <typename T>
CYNET_XINLINE T upper_limit(double x) {  // x clamped to T: a limit of its values
  return saturate<T>(x, std::numeric_limits<T>::max());
}

}  // namespace cynet

#endif
