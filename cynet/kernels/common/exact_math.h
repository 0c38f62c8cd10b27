// Functions for random numbers whose bits are the same on the CPU and in CUDA kernels: built from
// IEEE sums, products, quotients and square roots, each rounded separately. No C library function
// is called, since libraries differ in the last bit.
//
// Files that include this are compiled without fused multiply-add (setup.py, cuda/families.py).
// Where nvcc decides, CYNET_MUL and CYNET_ADD keep them apart anyway. The polynomials of the double
// functions: tests/fixtures/make_exact_math.py. All but log_factorial and log_ratio are without
// branches, so that loops over them vectorise; they are defined where random numbers need them, and
// are within 1.7 units of the last place there (tests/kernels/common/test_exact_math.py).
#ifndef CYNET_EXACT_MATH_H
#define CYNET_EXACT_MATH_H

#include <math.h>
#include <stdint.h>

#include <limits>

#include "common/half.h"

#if defined(__CUDA_ARCH__)
namespace cynet {
__device__ inline float rounded_product(float a, float b) { return __fmul_rn(a, b); }
__device__ inline double rounded_product(double a, double b) { return __dmul_rn(a, b); }
__device__ inline float rounded_sum(float a, float b) { return __fadd_rn(a, b); }
__device__ inline double rounded_sum(double a, double b) { return __dadd_rn(a, b); }
}  // namespace cynet
#define CYNET_MUL(a, b) cynet::rounded_product(a, b)  // no fused multiply-add
#define CYNET_ADD(a, b) cynet::rounded_sum(a, b)  // no fused multiply-add
#else
#define CYNET_MUL(a, b) ((a) * (b))  // no fused multiply-add
#define CYNET_ADD(a, b) ((a) + (b))  // no fused multiply-add
#endif

namespace cynet {

// Natural logarithm of a normal float, by log m = 2 atanh((m - 1) / (m + 1)) with m in [0.7, 1.42).
CYNET_XINLINE float log_float(float x) {
  uint32_t bits = bit_cast<uint32_t>(x);
  const int32_t exponent = (int32_t)(bits - 0x3F3504F3u) >> 23;  // x = m 2^k, 0.71 <= m < 1.42
  bits -= (uint32_t)exponent << 23;
  const float m = bit_cast<float>(bits);
  const float s = (m - 1.0f) / (m + 1.0f), q = CYNET_MUL(s, s);
  float p = 0.22222222f;
  p = CYNET_ADD(CYNET_MUL(p, q), 0.28571430f);
  p = CYNET_ADD(CYNET_MUL(p, q), 0.4f);
  p = CYNET_ADD(CYNET_MUL(p, q), 0.66666667f);
  p = CYNET_ADD(CYNET_MUL(p, q), 2.0f);
  return CYNET_ADD(CYNET_MUL((float)exponent, 0.69314718f), CYNET_MUL(p, s));
}

// Cosine and sine of a whole turn times word / 2**32.
CYNET_XINLINE void cos_sin_of_word(uint32_t word, float* cosine, float* sine) {  // 2^32 is a turn
  const uint32_t quarter = (word + 0x20000000u) >> 30;
  const float angle = CYNET_MUL((float)(int32_t)(word - (quarter << 30)), 1.4629180792671596e-9f);
  const float q = CYNET_MUL(angle, angle);
  float s = 2.7557319e-6f;
  s = CYNET_ADD(CYNET_MUL(s, q), -1.9841270e-4f);
  s = CYNET_ADD(CYNET_MUL(s, q), 8.3333333e-3f);
  s = CYNET_ADD(CYNET_MUL(s, q), -1.6666667e-1f);
  s = CYNET_ADD(CYNET_MUL(CYNET_MUL(s, q), angle), angle);
  float c = 2.4801587e-5f;
  c = CYNET_ADD(CYNET_MUL(c, q), -1.3888889e-3f);
  c = CYNET_ADD(CYNET_MUL(c, q), 4.1666667e-2f);
  c = CYNET_ADD(CYNET_MUL(c, q), -0.5f);
  c = CYNET_ADD(CYNET_MUL(c, q), 1.0f);
  const float a = (quarter & 1) ? s : c, b = (quarter & 1) ? c : s;
  *cosine = ((quarter + 1) & 2) ? -a : a;
  *sine = (quarter & 2) ? -b : b;
}

const double double_shift = 4503599627370496.0;  // 2^52: x + 2^52 has integer x in its last bits

// Converts an integer below 2^52 to a double. (Before AVX-512 no vector instruction does it.)
CYNET_XINLINE double small_int_to_double(uint64_t n) {
  return bit_cast<double>(n | 0x4330000000000000u) - double_shift;
}

// Natural logarithm of a positive normal number: x = m 2^k with m in [sqrt(1/2), sqrt(2)), and with
// f = m - 1, s = f / (2 + f), q = s^2: log m = 2 atanh(s) = f - s (f - q p(q)), where the
// polynomial p has the terms of 2 atanh(s) / s above the first (2 s = f - s f).
CYNET_XINLINE double log_double(double x) {
  const uint64_t bits = bit_cast<uint64_t>(x);
  // sqrt(1/2) becomes a power of two, so that the exponent that is left is k + 1023
  const uint64_t exponent = (bits + (0x3FF0000000000000u - 0x3FE6A09E667F3BCDu)) >> 52;
  const double k = small_int_to_double(exponent) - 1023.0;
  const double m = bit_cast<double>(bits - (exponent << 52) + 0x3FF0000000000000u);
  const double f = m - 1.0, s = f / (2.0 + f), q = CYNET_MUL(s, s);
  double p = 0.14616449685043406;
  p = CYNET_ADD(CYNET_MUL(p, q), 0.15331721600556042);
  p = CYNET_ADD(CYNET_MUL(p, q), 0.18182889125261723);
  p = CYNET_ADD(CYNET_MUL(p, q), 0.2222221113479508);
  p = CYNET_ADD(CYNET_MUL(p, q), 0.28571428625975487);
  p = CYNET_ADD(CYNET_MUL(p, q), 0.39999999999899505);
  p = CYNET_ADD(CYNET_MUL(p, q), 0.666666666666667);
  const double bend = CYNET_MUL(s, CYNET_ADD(f, -CYNET_MUL(q, p)));
  // ln 2 in two parts; k times the first, of 41 bits, is exact
  const double low = CYNET_ADD(bend, CYNET_MUL(k, 1.7239444525614835e-13));
  return CYNET_ADD(CYNET_MUL(k, 0.6931471805601177), CYNET_ADD(f, -low));
}

// e^x for x <= 0; less than the smallest subnormal number becomes 0. x = n ln 2 + r with |r| <=
// ln(2) / 2, and e^r = 1 + r + r^2 p(r).
CYNET_XINLINE double exact_exp_of_nonpositive(double x) {
  const double c = x < -746.0 ? -746.0 : x;
  const double shifted = CYNET_ADD(CYNET_MUL(c, 1.4426950408889634), 1.5 * double_shift);
  const double n = shifted - 1.5 * double_shift;  // the nearest integer
  const double r = CYNET_ADD(CYNET_ADD(c, -CYNET_MUL(n, 0.6931471805601177)),
                             CYNET_MUL(n, 1.7239444525614835e-13));
  double p = 2.0914679376583935e-09;
  p = CYNET_ADD(CYNET_MUL(p, r), 2.510520637395701e-08);
  p = CYNET_ADD(CYNET_MUL(p, r), 2.7557273661348637e-07);
  p = CYNET_ADD(CYNET_MUL(p, r), 2.7557255425746435e-06);
  p = CYNET_ADD(CYNET_MUL(p, r), 2.4801587325533363e-05);
  p = CYNET_ADD(CYNET_MUL(p, r), 0.00019841269874800493);
  p = CYNET_ADD(CYNET_MUL(p, r), 0.0013888888888883752);
  p = CYNET_ADD(CYNET_MUL(p, r), 0.008333333333326141);
  p = CYNET_ADD(CYNET_MUL(p, r), 0.04166666666666667);
  p = CYNET_ADD(CYNET_MUL(p, r), 0.1666666666666667);
  p = CYNET_ADD(CYNET_MUL(p, r), 0.5);
  p = CYNET_ADD(CYNET_ADD(r, CYNET_MUL(CYNET_MUL(r, r), p)), 1.0);
  // 2^n as two factors: the first keeps the number normal, so a subnormal result is rounded once
  const uint64_t i = bit_cast<uint64_t>(shifted) - bit_cast<uint64_t>(1.5 * double_shift) + 2046;
  const uint64_t first = i >> 1;
  const double scaled = CYNET_MUL(p, bit_cast<double>(first << 52));
  return CYNET_MUL(scaled, bit_cast<double>((i - first) << 52));
}

// cos(2 pi u) and sin(2 pi u) of u in [0, 1), a multiple of 2^-53. t is 4 u less the nearest
// integer, exactly; sin(t pi / 2) = t (pi / 2 + q p(q)), q = t^2.
CYNET_XINLINE void cos_sin_of_turn(double u, double* cosine, double* sine) {  // of 2 pi u
  const double shifted = 4.0 * u + double_shift;  // one unit of the last bit is a quarter of a turn
  const uint64_t quarter = bit_cast<uint64_t>(shifted);
  const double t = 4.0 * u - (shifted - double_shift), q = CYNET_MUL(t, t);
  double s = 5.642225369163528e-08;
  s = CYNET_ADD(CYNET_MUL(s, q), -3.5987029509735105e-06);
  s = CYNET_ADD(CYNET_MUL(s, q), 0.00016044116661409423);
  s = CYNET_ADD(CYNET_MUL(s, q), -0.004681754134254207);
  s = CYNET_ADD(CYNET_MUL(s, q), 0.07969262624614423);
  s = CYNET_ADD(CYNET_MUL(s, q), -0.6459640975062462);
  s = CYNET_ADD(CYNET_MUL(s, q), 6.123233995736766e-17);  // the low part of pi / 2, beyond a double
  s = CYNET_ADD(CYNET_MUL(t, 1.5707963267948966), CYNET_MUL(t, s));
  double c = -6.329396344967424e-09;
  c = CYNET_ADD(CYNET_MUL(c, q), 4.710678405505227e-07);
  c = CYNET_ADD(CYNET_MUL(c, q), -2.5202039028029178e-05);
  c = CYNET_ADD(CYNET_MUL(c, q), 0.0009192602745468447);
  c = CYNET_ADD(CYNET_MUL(c, q), -0.020863480763340773);
  c = CYNET_ADD(CYNET_MUL(c, q), 0.2536695079010478);
  c = CYNET_ADD(CYNET_MUL(c, q), -1.2337005501361697);
  c = CYNET_ADD(CYNET_MUL(c, q), 1.0);
  const double a = (quarter & 1) ? s : c, b = (quarter & 1) ? c : s;
  *cosine = bit_cast<double>(bit_cast<uint64_t>(a) ^ ((quarter + 1) & 2) << 62);
  *sine = bit_cast<double>(bit_cast<uint64_t>(b) ^ (quarter & 2) << 62);
}

// log(k!) for a whole k >= 15 by Stirling's series (Abramowitz and Stegun, 6.1.41), whose next term
// is below 1e-16 there.
CYNET_XINLINE double log_factorial_from_15(double k) {  // for k >= 15
  const double x = k + 1.0, w = 1.0 / x, z = CYNET_MUL(w, w);
  double p = 1.0 / 1188;
  p = CYNET_ADD(CYNET_MUL(p, z), -1.0 / 1680);
  p = CYNET_ADD(CYNET_MUL(p, z), 1.0 / 1260);
  p = CYNET_ADD(CYNET_MUL(p, z), -1.0 / 360);
  p = CYNET_ADD(CYNET_MUL(p, z), 1.0 / 12);
  p = CYNET_ADD(CYNET_MUL(p, w), 0.4189385332046727);  // log(2 pi) / 2 - 1 / 2
  return CYNET_ADD(CYNET_MUL(x - 0.5, log_double(x) - 1.0), p);
}

// log(k!) for a whole k >= 0.
CYNET_XFUNCTION double log_factorial(double k) {
  static constexpr double small[15] = {
      0.0,
      0.0,
      0.6931471805599453,
      1.791759469228055,
      3.1780538303479458,
      4.787491742782046,
      6.579251212010101,
      8.525161361065415,
      10.60460290274525,
      12.801827480081469,
      15.104412573075516,
      17.502307845873887,
      19.987214495661885,
      22.552163853123425,
      25.19122118273868,
  };
  return k < 15 ? small[static_cast<int>(k)] : log_factorial_from_15(k);
}

// The logarithm of part / whole; -infinity if part is 0.
CYNET_XFUNCTION double log_ratio(double part, double whole) {
  const double share = part / whole;
  if (share >= 2.2250738585072014e-308) return log_double(share);
  if (share == 0) return -std::numeric_limits<double>::infinity();
  return log_double(CYNET_MUL(share, 18014398509481984.0)) - 37.42994775023705;  // 2^54, 54 ln 2
}

}  // namespace cynet

#endif
