// Scalar mathematics behind the functors: float32 exp, log and tanh without calls or branches, so
// that loops over them vectorise. The error and gamma functions: special_math.h.
#ifndef CYNET_SCALAR_MATH_H
#define CYNET_SCALAR_MATH_H

#include <cmath>
#include <cstdint>
#include <limits>

#include "common/half.h"

namespace cynet {
namespace math {

// Each float function below is one expression without branches, calls or tables: compilers turn a
// loop over it into vector instructions. Selections are comparisons that are false for NaN, which
// so passes through. The double functions are the C library's.

// A polynomial of x by Horner's scheme; the coefficient of the highest power comes first.
template <typename T, typename... Others>
CYNET_XINLINE T horner(T x, T first, Others... others) {
  ((first = first * x + others), ...);
  return first;
}

// ----- exponentials
// Polynomials: Moshier's Cephes library, expf.c.

const float exp_shift = 12582912.0f;  // 1.5 * 2^23: adding it rounds a float to an integer

// V is float, or a vector of floats if the compiler has vector types.

// e^r - 1 for |r| <= ln(2) / 2
template <typename V>
CYNET_XINLINE V expm1_near_zero(V r) {
  V p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return (p * r) * r + r;
}

// x - n ln 2, where n = t - exp_shift is the integer nearest to x / ln 2
template <typename V>
CYNET_XINLINE V reduce_exp_argument(V x, V* t) {  // x - n ln 2; *t holds n
  *t = x * 1.44269504088896341f + exp_shift;
  const V n = *t - exp_shift;
  return (x - n * 0.693359375f) + n * 2.12194440e-4f;
}

CYNET_XINLINE float power_of_two(int32_t n) { return bit_cast<float>((n + 127) << 23); }

// e^x * 2^extra: the power of two is two factors, so subnormal results and overflow are right. For
// results of 0 the last factor is 0: a product that underflows costs over a hundred cycles.
CYNET_XINLINE float exp_scaled(float x, int32_t extra) {  // e^x * 2^extra
  float t, c = x > 91.0f ? 91.0f : x;
  c = c < -105.0f ? -105.0f : c;
  const float p = expm1_near_zero(reduce_exp_argument(c, &t)) + 1.0f;
  const int32_t i = bit_cast<int32_t>(t) - bit_cast<int32_t>(exp_shift) + extra;
  const int32_t first = i >> 1;
  return p * power_of_two(first) * (x < -105.0f ? 0.0f : power_of_two(i - first));
}

CYNET_XINLINE float exp(float x) { return exp_scaled(x, 0); }
CYNET_XINLINE double exp(double x) { return ::exp(x); }

// e^x for x <= 0 or NaN: the power of two is scaled by 2^64, so that it is a normal number. I:
// integers of 32 bits, as many as V has floats.
template <typename I, typename V>
CYNET_XINLINE V exp_of_nonpositive(V x) {
  V t;
  const auto gone = x < -105.0f;
  const V c = gone ? V{} - 105.0f : x;
  const V p = expm1_near_zero(reduce_exp_argument(c, &t)) + 1.0f;
  const I n = bit_cast<I>(t) - 0x4b400000;  // the bits of exp_shift
  return p * bit_cast<V>((n + (127 + 64)) << 23) * (gone ? V{} : V{} + 5.42101086e-20f);
}
CYNET_XINLINE float exp_of_nonpositive(float x) { return exp_of_nonpositive<int32_t>(x); }
CYNET_XINLINE double exp_of_nonpositive(double x) { return ::exp(x); }

// 2^n (e^r - 1) + (2^n - 1), halved while the power of two might overflow
CYNET_XINLINE float expm1(float x) {
  float t, c = x > 89.0f ? 89.0f : x;  // e^89 is infinity
  c = c < -30.0f ? -30.0f : c;
  const float p = expm1_near_zero(reduce_exp_argument(c, &t));
  const float half = power_of_two(bit_cast<int32_t>(t) - bit_cast<int32_t>(exp_shift) - 1);
  const float y = 2.0f * (half * p + (half - 0.5f));
  return p == x ? x : y;  // x is small, or -0
}
CYNET_XINLINE double expm1(double x) { return ::expm1(x); }

// e^-|x| is used, so nothing overflows and small results keep their digits.
template <typename T>
CYNET_XINLINE T sigmoid(T x) {
  const T e = math::exp_of_nonpositive(-std::fabs(x));
  return (x < T(0) ? e : T(1)) / (T(1) + e);
}

// e / (e + 2) with e = e^2|x| - 1 = 2^n (e^r - 1) + (2^n - 1), which keeps the digits near 0.
CYNET_XINLINE float tanh(float x) {
  float t;
  const float a = std::fabs(x), c = a > 10.0f ? 10.0f : a;
  const float p = expm1_near_zero(reduce_exp_argument(c + c, &t));
  const float power = power_of_two(bit_cast<int32_t>(t) - bit_cast<int32_t>(exp_shift));
  const float e = power * p + (power - 1.0f);
  return std::copysign(e / (e + 2.0f), x);
}
CYNET_XINLINE double tanh(double x) { return ::tanh(x); }

CYNET_XINLINE float cosh(float x) {
  const float e = exp_scaled(std::fabs(x), -1);
  return e + 0.25f / e;
}
CYNET_XINLINE double cosh(double x) { return ::cosh(x); }

// Cephes sinhf.c near 0.
CYNET_XINLINE float sinh(float x) {
  const float a = std::fabs(x), z = x * x;
  float p = horner(z, 2.03721912945e-4f, 8.33028376239e-3f, 1.66667160211e-1f);
  p = p * z * x + x;
  const float e = exp_scaled(a, -1);
  return std::copysign(a < 1.0f ? std::fabs(p) : e - 0.25f / e, x);
}
CYNET_XINLINE double sinh(double x) { return ::sinh(x); }

// ----- logarithms

const int32_t root_half_bits = 0x3f3504f3;  // sqrt(1/2)

// log(1 + f) - f for f within [sqrt(1/2) - 1, sqrt(2) - 1], plus the low part of n ln 2, of which
// 0.693359375 n is the high part. Cephes logf.c.
CYNET_XINLINE float log1p_minus_f(float f, float n) {  // log(1 + f) - f, and the low part of n ln 2
  const float z = f * f;
  float p = horner(f, 7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f,
                   1.4249322787e-1f, -1.6668057665e-1f, 2.0000714765e-1f, -2.4999993993e-1f,
                   3.3333331174e-1f);
  p = p * f * z;
  return p - n * 2.12194440e-4f - 0.5f * z;
}

// log(1 + f) + n ln 2
CYNET_XINLINE float log_near_one(float f, float n) {  // log(1 + f) + n ln 2
  return f + log1p_minus_f(f, n) + n * 0.693359375f;
}

// x = (1 + f) 2^n with 1 + f within [sqrt(1/2), sqrt(2)), for positive finite x
CYNET_XINLINE float reduce_log_argument(float x, float* n) {  // x = (1 + f) 2^n
  const bool tiny = x < 1.17549435e-38f;
  const float scaled = tiny ? x * 8388608.0f : x;
  const int32_t bits = bit_cast<int32_t>(scaled) - root_half_bits;
  *n = static_cast<float>(bits >> 23) - (tiny ? 23.0f : 0.0f);
  return bit_cast<float>((bits & 0x007fffff) + root_half_bits) - 1.0f;
}

// y, or for x that is not positive and finite its logarithm: an infinity or NaN
CYNET_XINLINE float log_special_case(float x, float y) {  // y, or infinity or NaN
  y = x <= 3.402823466e38f ? y : x;  // infinity and NaN
  y = x == 0.0f ? -std::numeric_limits<float>::infinity() : y;
  return x < 0.0f ? std::numeric_limits<float>::quiet_NaN() : y;
}

CYNET_XINLINE float log(float x) {
  float n;
  const float f = reduce_log_argument(x, &n);
  return log_special_case(x, log_near_one(f, n));
}
CYNET_XINLINE double log(double x) { return ::log(x); }

CYNET_XINLINE float log2(float x) {
  float n;
  const float f = reduce_log_argument(x, &n);
  return log_special_case(x, log_near_one(f, 0.0f) * 1.44269504088896341f + n);
}
CYNET_XINLINE double log2(double x) { return ::log2(x); }

CYNET_XINLINE float log10(float x) {
  float n;
  const float f = reduce_log_argument(x, &n);
  const float y = log_near_one(f, 0.0f) * 0.43429448190325183f + n * 4.6050389811952137e-6f;
  return log_special_case(x, y + n * 0.301025390625f);
}
CYNET_XINLINE double log10(double x) { return ::log10(x); }

// 1 + x = (1 + f) 2^n, where f = x 2^-n + (2^-n - 1) avoids the rounding error of 1 + x
CYNET_XINLINE float log1p(float x) {
  const float u = 1.0f + x;
  const int32_t n = (bit_cast<int32_t>(u) - root_half_bits) >> 23;
  const float scale = power_of_two(2 - n);  // 4 * 2^-n: 2^-n alone may be subnormal
  const float f = x * scale * 0.25f + (scale * 0.25f - 1.0f);
  const float y = log_near_one(f, static_cast<float>(n));
  return x == 0.0f ? x : log_special_case(u, y);
}
CYNET_XINLINE double log1p(double x) { return ::log1p(x); }

// ----- powers

// log2 |x|, at most 4e-13 from it, for finite x other than 0: of a mantissa m within [sqrt(1/2),
// sqrt(2)) by the series of log((1 + s) / (1 - s)), s = (m - 1) / (m + 1).
CYNET_XINLINE double log2_in_double(float x) {
  float n;
  const double f = reduce_log_argument(x, &n), s = f / (f + 2.0), z = s * s;
  const double p = horner(z, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3);
  return (p * z * s + s) * 2.8853900817779268 + n;
}

// 2^x for |x| below 1000: Taylor's series of e^(r ln 2) for |r| <= 1/2, at most 1e-10 of it.
CYNET_XINLINE double exp2_in_double(double x) {
  const double shift = 6755399441055744.0, t = x + shift;  // 1.5 * 2^52
  const double r = (x - (t - shift)) * 0.69314718055994531;
  const double p =
      horner(r, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0);
  return p * bit_cast<double>((bit_cast<int64_t>(t) << 52) + 0x3ff0000000000000LL);
}

// a^b as C's pow defines it, computed as 2^(b log2 a) in double. An odd integer b keeps the sign of
// a; of a negative a other powers than integers are NaN. Conditions are joined without branches.
CYNET_XINLINE float power(float a, float b) {
  const float size = std::fabs(a), inf = std::numeric_limits<float>::infinity();
  const float to = std::fabs(b), half = 0.5f * to, unit = 8388608.0f;  // 2^23 and above: integers
  const bool whole = (to >= unit) | ((to + unit) - unit == to);
  const bool odd = whole & (half < unit) & ((half + unit) - unit != half);
  const bool finite = (size < inf) & (size > 0.0f);
  const double far = size > 0.0f ? 1e300 : -1e300;  // log2 of infinity and of 0
  double y = static_cast<double>(b) * (finite ? log2_in_double(finite ? size : 1.0f) : far);
  y = y > 300.0 ? 300.0 : y;
  y = y < -300.0 ? -300.0 : y;
  const float r = static_cast<float>(exp2_in_double(y));
  float result = odd ? std::copysign(r, a) : r;
  const bool nowhere = (a < 0.0f) & !whole & (size < inf);
  result = nowhere ? std::numeric_limits<float>::quiet_NaN() : result;
  result = a != a ? a : result;
  const bool one = (a == 1.0f) | (b == 0.0f) | ((size == 1.0f) & (to == inf));
  return one ? 1.0f : result;
}
CYNET_XINLINE double power(double a, double b) { return ::pow(a, b); }

// ----- circular functions
// Polynomials: Cephes, sinf.c and tanf.c, on an argument reduced in double. `can_use_fast_trig`
// tells where that holds: the multiple of pi / 2 then has at most 20 bits, so that its product with
// the first 33 bits of pi / 2 is exact. Elsewhere the C library reduces.

CYNET_XINLINE bool can_use_fast_trig(float x) { return std::fabs(x) < 1048576.0f; }

// x - n pi / 2 for the integer n nearest to 2 x / pi; `quarter` is n
CYNET_XINLINE float reduce_angle(float x, int32_t* quarter) {
  const double wide = x, shift = 6755399441055744.0;  // 1.5 * 2^52
  const double n = (wide * 0.63661977236758134 + shift) - shift;
  *quarter = static_cast<int32_t>(n);
  return static_cast<float>((wide - n * 1.5707963267341256) - n * 6.0771005065061922e-11);
}

CYNET_XINLINE float sin_near_zero(float r) {
  const float z = r * r;
  const float p = horner(z, -1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f);
  return p * z * r + r;
}

CYNET_XINLINE float cos_near_zero(float r) {
  const float z = r * r;
  const float p = horner(z, 2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f);
  return (p * z - 0.5f) * z + 1.0f;
}

// The sine of r plus `quarter` quarter turns
CYNET_XINLINE float sin_of_quadrant(float r, int32_t quarter) {
  const float y = quarter & 1 ? cos_near_zero(r) : sin_near_zero(r);
  return bit_cast<float>(bit_cast<uint32_t>(y) ^ (static_cast<uint32_t>(quarter & 2) << 30));
}

CYNET_XINLINE float fast_sin(float x) {
  int32_t quarter;
  const float r = reduce_angle(x, &quarter);
  return x == 0.0f ? x : sin_of_quadrant(r, quarter);
}

CYNET_XINLINE float fast_cos(float x) {
  int32_t quarter;
  const float r = reduce_angle(x, &quarter);
  return sin_of_quadrant(r, quarter + 1);
}

CYNET_XINLINE float fast_tan(float x) {
  int32_t quarter;
  const float r = reduce_angle(x, &quarter), z = r * r;
  const float p = horner(z, 9.38540185543e-3f, 3.11992232697e-3f, 2.44301354525e-2f,
                         5.34112807005e-2f, 1.33387994085e-1f, 3.33331568548e-1f);
  const float t = p * z * r + r;
  return x == 0.0f ? x : (quarter & 1 ? -1.0f / t : t);
}

// The remainder of a / b with the sign of b, exact: the quotient has at most 28 bits, so that its
// product with b is exact in double, and at most one too many or too few.
CYNET_XINLINE bool has_fast_mod(float a, float b) {
  const float size = std::fabs(b);
  return (size > 1e-30f) & (size < 3e38f) & (std::fabs(a) <= size * 134217728.0f);
}
CYNET_XINLINE float fast_mod(float a, float b) {
  const double n = std::fabs(static_cast<double>(a)), d = std::fabs(static_cast<double>(b));
  const double shift = 6755399441055744.0;
  const double q = (n / d + shift) - shift;
  double r = n - q * d;  // within [-d, d]: q is the nearest integer
  r = r < 0.0 ? r + d : r;
  const float rest = std::copysign(static_cast<float>(r), a);
  return (rest != 0.0f) & ((rest < 0.0f) != (b < 0.0f)) ? rest + b : rest;
}

// ----- the hypotenuse: sqrt(x^2 + y^2)
// Its legs, which the unit is taken out of, its length in that unit, and the unit: no square of
// them overflows, nor vanishes beside the other one.
template <typename T>
struct Hypotenuse;
template <>
struct Hypotenuse<float> {  // sqrt(x^2 + y^2) without overflow
  double a, b, root;
  static constexpr double unit = 1.0;
  CYNET_XINLINE Hypotenuse(float x, float y) : a(x), b(y), root(std::sqrt(a * a + b * b)) {}
};
template <>
struct Hypotenuse<double> {  // sqrt(x^2 + y^2) without overflow
  double a, b, root, unit;
  CYNET_XINLINE Hypotenuse(double x, double y) {
    const double u = std::fabs(x), v = std::fabs(y);
    int64_t exponent = bit_cast<int64_t>(u > v ? u : v) >> 52;  // biased exponent of 2
    exponent = exponent < 1 ? 1 : exponent;
    exponent = exponent > 2045 ? 2045 : exponent;
    unit = bit_cast<double>(exponent << 52);
    const double scale = bit_cast<double>((2046 - exponent) << 52);
    a = x * scale;
    b = y * scale;
    root = std::sqrt(a * a + b * b);
  }
};

// ----- inverse hyperbolic and trigonometric functions

CYNET_XINLINE float arctanh(float x) {
  const float a = std::fabs(x);
  const float y = 0.5f * math::log1p((a + a) / (1.0f - a));
  return std::copysign(y, x);
}
CYNET_XINLINE double arctanh(double x) { return ::atanh(x); }

// log(a + sqrt(a^2 + 1)); from 1e9 on the root is a
CYNET_XINLINE float arcsinh(float x) {
  const float a = std::fabs(x), z = a * a;
  const float y = math::log1p(a < 1e9f ? a + z / (1.0f + std::sqrt(1.0f + z)) : a) +
                  (a < 1e9f ? 0.0f : 0.693147180559945f);
  return std::copysign(y, x);
}
CYNET_XINLINE double arcsinh(double x) { return ::asinh(x); }

CYNET_XINLINE float arccosh(float x) {
  const float t = x - 1.0f;
  const float y = math::log1p(x < 1e9f ? t + std::sqrt(t + t + t * t) : x) +
                  (x < 1e9f ? 0.0f : 0.693147180559945f);
  return x < 1.0f ? std::numeric_limits<float>::quiet_NaN() : y;
}
CYNET_XINLINE double arccosh(double x) { return ::acosh(x); }

// Cephes atanf.c: three ranges around 0, 1 and infinity.
CYNET_XINLINE float arctan(float x) {
  const float a = std::fabs(x);
  const bool far = a > 2.414213562373095f, middle = a > 0.4142135623730950f;
  const float top = far ? -1.0f : (middle ? a - 1.0f : a);
  const float bottom = far ? a : (middle ? a + 1.0f : 1.0f);
  const float r = top / bottom, z = r * r;
  const float p =
      horner(z, 8.05374449538e-2f, -1.38776856032e-1f, 1.99777106478e-1f, -3.33329491539e-1f);
  const float start = far ? 1.5707963267948966f : (middle ? 0.7853981633974483f : 0.0f);
  const float y = start + (p * z * r + r);
  return std::copysign(y, x);
}
CYNET_XINLINE double arctan(double x) { return ::atan(x); }

// Arc sine of a within [0, 1/2]: Cephes asinf.c.
CYNET_XINLINE float arcsin_near_zero(float a, float z) {
  const float p = horner(z, 4.2163199048e-2f, 2.4181311049e-2f, 4.5470025998e-2f, 7.4953002686e-2f,
                         1.6666752422e-1f);
  return p * z * a + a;
}

CYNET_XINLINE float arcsin(float x) {
  const float a = std::fabs(x);
  const float z = a > 0.5f ? 0.5f * (1.0f - a) : a * a;
  const float p = arcsin_near_zero(a > 0.5f ? std::sqrt(z) : a, z);
  const float y = a > 0.5f ? 1.5707963267948966f - (p + p) : p;
  return std::copysign(y, x);
}
CYNET_XINLINE double arcsin(double x) { return ::asin(x); }

CYNET_XINLINE float arccos(float x) {
  const float a = std::fabs(x);
  const float z = a > 0.5f ? 0.5f * (1.0f - a) : a * a;
  const float p = arcsin_near_zero(a > 0.5f ? std::sqrt(z) : a, z);
  const float middle = 1.5707963267948966f - (x < 0.0f ? -p : p);
  const float side = x < 0.0f ? 3.1415926535897932f - (p + p) : p + p;
  return a > 0.5f ? side : middle;
}
CYNET_XINLINE double arccos(double x) { return ::acos(x); }

// ----- rounding and the cube root

// Nearest integer, ties away from zero.
template <typename T>
CYNET_XINLINE T round(T x) {
  const T whole = std::trunc(x), rest = std::fabs(x - whole);
  return whole + std::copysign(rest >= T(0.5) ? T(1) : T(0), x);
}

// A third of the bits is a start within 4 % of the root; two of Halley's steps follow.
CYNET_XINLINE float cbrt(float x) {
  const float size = std::fabs(x);
  const bool tiny = size < 1.17549435e-38f;
  const float a = tiny ? size * 16777216.0f : size;
  const float third = static_cast<float>(bit_cast<int32_t>(a)) * 0.33333333f + 709921077.0f;
  float t = bit_cast<float>(static_cast<int32_t>(third));
  for (int i = 0; i < 2; ++i) {
    const float r = a / (t * t);
    t += t * ((r - t) / (t + t + r));
  }
  t = std::copysign(tiny ? t * 0.00390625f : t, x);
  return size > 0.0f && size <= 3.402823466e38f ? t : x;
}
CYNET_XINLINE double cbrt(double x) { return ::cbrt(x); }

}  // namespace math
}  // namespace cynet

#endif
