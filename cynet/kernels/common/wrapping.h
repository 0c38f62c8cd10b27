// Integer arithmetic that has no undefined case: sums, differences and products wrap, as NumPy's
// do; for floats the same names are the plain operations. For CPU and CUDA.
#ifndef CYNET_WHOLE_H
#define CYNET_WHOLE_H

#include <cstdint>
#include <limits>
#include <type_traits>

#include "common/half.h"

namespace cynet {

// The unsigned type in which T is computed: unsigned arithmetic may wrap, signed may not.
template <typename T>
using unsigned_for =
    typename std::conditional<std::is_integral<T>::value,
                              typename std::conditional<sizeof(T) <= 4, uint32_t, uint64_t>::type,
                              T>::type;

// The sum of a and b; integers wrap; bool: `or`.
template <typename T>
CYNET_XINLINE T sum_of(T a, T b) {
  return static_cast<T>(static_cast<unsigned_for<T>>(a) + static_cast<unsigned_for<T>>(b));
}
template <typename T>
CYNET_XINLINE T difference_of(T a, T b) {
  return static_cast<T>(static_cast<unsigned_for<T>>(a) - static_cast<unsigned_for<T>>(b));
}
template <typename T>
CYNET_XINLINE T product_of(T a, T b) {
  return static_cast<T>(static_cast<unsigned_for<T>>(a) * static_cast<unsigned_for<T>>(b));
}
template <typename T>
CYNET_XINLINE T negative_of(T x) {
  if constexpr (std::is_integral<T>::value) return difference_of(T(0), x);
  else return -x;
}

// The quotient rounded towards zero; 0 if b is 0; the lowest number divided by -1 is itself.
template <typename T>
CYNET_XINLINE T integer_quotient(T a, T b) {
  if (b == T(0)) return T(0);
  if constexpr (std::is_signed<T>::value) {
    if (b == T(-1)) return negative_of(a);
  }
  return static_cast<T>(a / b);
}

// The remainder with the sign of the divisor; 0 if the divisor is 0.
template <typename T>
CYNET_XINLINE T integer_remainder(T a, T b) {
  if (b == T(0)) return T(0);
  if constexpr (std::is_signed<T>::value) {
    if (b == T(-1)) return T(0);
  }
  const T r = static_cast<T>(a % b);
  return r != 0 && ((r < 0) != (b < 0)) ? static_cast<T>(r + b) : r;
}

// The quotient rounded towards minus infinity; 0 if the divisor is 0.
template <typename T>
CYNET_XINLINE T integer_floor_quotient(T a, T b) {
  const T q = integer_quotient(a, b);
  if constexpr (std::is_signed<T>::value) {
    if (b != T(0) && b != T(-1) && a % b != 0 && ((a < 0) != (b < 0))) return static_cast<T>(q - 1);
  }
  return q;
}

// Shifts by the type's width or more give 0, and a right shift of a negative number -1. So does a
// shift by a negative count.
template <typename T>
CYNET_XINLINE T shift_left(T a, T b) {
  const bool inside = b >= T(0) && b < T(8 * sizeof(T));
  return inside ? static_cast<T>(static_cast<unsigned_for<T>>(a) << b) : T(0);
}
template <typename T>
CYNET_XINLINE T shift_right(T a, T b) {
  const bool inside = b >= T(0) && b < T(8 * sizeof(T));
  return inside ? static_cast<T>(a >> b) : static_cast<T>(a < T(0) ? -1 : 0);
}

// The greatest common divisor of the numbers' magnitudes; gcd(0, 0) is 0.
template <typename T>
CYNET_XINLINE T integer_gcd(T a, T b) {
  while (b != T(0)) {
    const T rest = b == static_cast<T>(-1) ? T(0) : static_cast<T>(a % b);
    a = b;
    b = rest;
  }
  return a < T(0) ? negative_of(a) : a;
}

template <typename T>
CYNET_XINLINE T integer_lcm(T a, T b) {
  if (a == T(0) || b == T(0)) return T(0);
  const T product = product_of(integer_quotient(a, integer_gcd(a, b)), b);
  return product < T(0) ? negative_of(product) : product;
}

// a^b modulo 2^bits, as wrapping multiplication gives it. A negative b gives the truncated
// fraction: 0, except for 1 and -1.
template <typename T>
CYNET_XINLINE T integer_power(T a, T b) {
  if constexpr (std::is_signed<T>::value) {
    if (b < 0) return a == T(1) || (a == T(-1) && (b & 1) == 0) ? T(1) : (a == T(-1) ? a : T(0));
  }
  unsigned_for<T> result = 1, factor = static_cast<unsigned_for<T>>(a);
  for (unsigned_for<T> left = static_cast<unsigned_for<T>>(b); left; left >>= 1) {
    if (left & 1) result *= factor;
    factor *= factor;
  }
  return static_cast<T>(result);
}

}  // namespace cynet

#endif
