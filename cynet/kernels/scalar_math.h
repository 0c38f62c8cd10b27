// Scalar mathematics behind the functors: float32 exp, log and tanh without calls or branches, so
// that loops over them vectorise; special functions the C library lacks.
#ifndef CYNET_SCALAR_MATH_H
#define CYNET_SCALAR_MATH_H

#include <cmath>
#include <cstdint>
#include <limits>

#include "half.h"

namespace cynet {
namespace math {

// e^x, at most 2 ulp: x = n ln 2 + r, a polynomial in r, and 2^n in two factors so that subnormal
// results and overflow come out as they should.
CYNET_XINLINE float exp(float x) {
  const float shift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  float c = x > 89.0f ? 89.0f : x;
  c = c < -104.0f ? -104.0f : c;
  const float t = c * 1.44269504088896341f + shift;
  const float n = t - shift;
  const float r = (c - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = (p * r) * r + r + 1.0f;
  const int32_t i = bit_cast<int32_t>(t) - bit_cast<int32_t>(shift);
  const int32_t first = i >> 1, second = i - first;
  return p * bit_cast<float>((first + 127) << 23) * bit_cast<float>((second + 127) << 23);
}
CYNET_XINLINE double exp(double x) { return ::exp(x); }

// Natural logarithm, at most 2 ulp: mantissa in [sqrt(1/2), sqrt(2)), polynomial, exponent times
// ln 2.
CYNET_XINLINE float log(float x) {
  const bool tiny = x < 1.17549435e-38f;
  const float scaled = tiny ? x * 8388608.0f : x;
  const uint32_t bits = bit_cast<uint32_t>(scaled) - 0x3f3504f3u;  // sqrt(1/2) becomes 0
  const int32_t e = bit_cast<int32_t>(bits) >> 23;
  const float m = bit_cast<float>((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  const float n = static_cast<float>(e) - (tiny ? 23.0f : 0.0f);
  const float z = m * m;
  float p = 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  p = p * m * z;
  p = p - n * 2.12194440e-4f - 0.5f * z;
  float y = m + p + n * 0.693359375f;
  y = x < 3.402823466e38f ? y : x;  // infinity and NaN
  y = x == 0.0f ? -std::numeric_limits<float>::infinity() : y;
  return x < 0.0f ? std::numeric_limits<float>::quiet_NaN() : y;
}
CYNET_XINLINE double log(double x) { return ::log(x); }

CYNET_XINLINE float tanh(float x) {
  const float z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  p = p * z * x + x;
  const float a = x < 0.0f ? -x : x;
  const float q = 1.0f - 2.0f / (math::exp(a + a) + 1.0f);
  const float big = x < 0.0f ? -q : q;
  return a < 0.625f ? p : big;
}
CYNET_XINLINE double tanh(double x) { return ::tanh(x); }

template <typename T>
CYNET_XINLINE T sigmoid(T x) {
  return T(1) / (T(1) + math::exp(-x));
}

// The logarithmic derivative of gamma: reflection for negative x, recurrence up to 10, asymptotic
// series.
CYNET_XINLINE double digamma(double x) {
  const double pi = 3.14159265358979323846;
  double result = 0;
  if (x <= 0) {
    if (x == ::floor(x)) return std::numeric_limits<double>::quiet_NaN();
    result = -pi / ::tan(pi * x);
    x = 1 - x;
  }
  for (; x < 10; x += 1) result -= 1 / x;
  const double z = 1 / (x * x);
  const double series =
      z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132)))));
  return result + ::log(x) - 0.5 / x - series;
}

// Inverse of erf on (-1, 1): Winitzki's closed form, then Newton steps against erf itself.
CYNET_XINLINE double erfinv(double y) {
  if (!(y > -1 && y < 1)) {
    if (y == 1) return std::numeric_limits<double>::infinity();
    if (y == -1) return -std::numeric_limits<double>::infinity();
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double a = 0.147, pi = 3.14159265358979323846;
  const double size = y < 0 ? -y : y;
  const double l = ::log1p(-size * size), t = 2 / (pi * a) + l / 2;
  double x = ::sqrt(::sqrt(t * t - l / a) - t);
  const double slope = 1.12837916709551257390;  // 2 / sqrt(pi)
  for (int i = 0; i < 4; ++i) {
    // near 1 the complement keeps the digits that erf loses
    const double miss = size > 0.5 ? (1 - size) - ::erfc(x) : ::erf(x) - size;
    const double step = miss / (slope * ::exp(-x * x));
    x -= step / (1 + x * step);
  }
  return y < 0 ? -x : x;
}

}  // namespace math
}  // namespace cynet

#endif
