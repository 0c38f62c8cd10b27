// The error function, the gamma function's logarithm and their kin: float32 forms as in
// scalar_math.h, and functions that the C library lacks.
#ifndef CYNET_SPECIAL_MATH_H
#define CYNET_SPECIAL_MATH_H

#include "common/scalar_math.h"

namespace cynet {
namespace math {

// ----- the error function and its inverse

// x + x p(x^2) near 0, 1 - e^-q(|x|) elsewhere; tests/fixtures/make_erf.py fits p and q.
CYNET_XINLINE float erf(float x) {
  const float z = x * x, size = std::fabs(x), a = size > 4.0f ? 4.0f : size;
  const float p = horner(z, 7.853854186e-05f, -8.010191377e-04f, 5.188327283e-03f,
                         -2.685381100e-02f, 1.128358543e-01f, -3.761262596e-01f, 1.283791661e-01f);
  const float q =
      horner(a, 2.169772233e-05f, -4.414739378e-04f, 4.205291159e-03f, -2.521035634e-02f,
             1.084221229e-01f, 6.332163811e-01f, 1.129580379e+00f, -1.884704106e-04f);
  return a < 1.0f ? x + x * p : std::copysign(1.0f - math::exp(-q), x);
}
CYNET_XINLINE double erf(double x) { return ::erf(x); }

// Inverse of erf on (-1, 1), of size = |y|: the formulas of M. J. Wichura, "Algorithm AS 241: the
// percentage points of the normal distribution", 1988 (PPND16), then one step of Halley's method
// for the last digits.
CYNET_XFUNCTION double erfinv_first_guess(double size) {
  double p, q, r;
  if (size <= 0.85) {
    r = 0.180625 - 0.25 * size * size;
    p = horner(r, 2.5090809287301226727e+3, 3.3430575583588128105e+4, 6.7265770927008700853e+4,
               4.5921953931549871457e+4, 1.3731693765509461125e+4, 1.9715909503065514427e+3,
               1.3314166789178437745e+2, 3.3871328727963666080);
    q = horner(r, 5.2264952788528545610e+3, 2.8729085735721942674e+4, 3.9307895800092710610e+4,
               2.1213794301586595867e+4, 5.3941960214247511077e+3, 6.8718700749205790830e+2,
               4.2313330701600911252e+1, 1);
    return size * 0.35355339059327376220 * p / q;
  }
  r = ::sqrt(-::log(0.5 * (1 - size)));
  if (r <= 5) {
    r -= 1.6;
    p = horner(r, 7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
               1.27045825245236838258, 3.64784832476320460504, 5.76949722146069140550,
               4.63033784615654529590, 1.42343711074968357734);
    q = horner(r, 1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
               1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940,
               2.05319162663775882187, 1);
  } else {
    r -= 5;
    p = horner(r, 2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
               2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580,
               5.46378491116411436990, 6.65790464350110377720);
    q = horner(r, 2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
               7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1,
               5.99832206555887937690e-1, 1);
  }
  return 0.70710678118654752440 * p / q;
}

CYNET_XFUNCTION double erfinv(double y) {
  if (!(y > -1 && y < 1)) {
    if (y == 1) return std::numeric_limits<double>::infinity();
    if (y == -1) return -std::numeric_limits<double>::infinity();
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double size = y < 0 ? -y : y;
  double x = erfinv_first_guess(size);
  // near 1, 1 - erf(x) by erfc keeps the digits that erf loses
  const double miss = size > 0.5 ? (1 - size) - ::erfc(x) : ::erf(x) - size;
  const double step = miss * 0.88622692545275801365 * ::exp(x * x);  // sqrt(pi) / 2
  x -= step / (1 + x * step);
  return y < 0 ? -x : x;
}

// y p(w) with w = -log(1 - y^2), the form of M. Giles, "Approximating the erfinv function", 2010;
// tests/fixtures/make_erf.py fits the polynomials. At 1 and -1 w is infinity, beyond them NaN.
CYNET_XINLINE float erfinv(float y) {
  const float size = std::fabs(y), w = -math::log((1.0f - size) * (1.0f + size));
  const float near = w - 1.0f, far = std::sqrt(w) - 3.0f;
  const float p = horner(near, -8.791071870e-09f, 1.419121247e-07f, -5.246977821e-07f,
                         -4.401573278e-06f, 3.822899089e-05f, 1.002813078e-04f, -2.376442775e-03f,
                         4.250642844e-03f, 2.478328943e-01f, 1.127374411e+00f);
  const float q = horner(far, 1.157042207e-04f, -3.095731663e-04f, -5.677695299e-05f,
                         1.485092682e-03f, -3.597405273e-03f, 5.686973222e-03f, -7.637288887e-03f,
                         9.445286356e-03f, 1.001675010e+00f, 2.832976818e+00f);
  return size == 1.0f ? y * std::numeric_limits<float>::infinity() : y * (w < 5.0f ? p : q);
}

// ----- gamma functions

// log gamma of x >= 0. From 3 on Stirling's series, with log x - 1 computed as one number; below,
// (x - 1) (x - 2) p(x - 2) with a polynomial p (tests/fixtures/make_gammaln.py); below 1, log gamma
// of x + 1 minus log x.
CYNET_XINLINE bool has_fast_gammaln(float x) { return x >= 0.0f; }
CYNET_XINLINE float fast_gammaln(float x) {
  const bool small = x < 1.0f, large = x >= 3.0f;
  float n;
  const float f = reduce_log_argument(x, &n);
  const float l = f + log1p_minus_f(f, n) + (n * 0.693359375f - (large ? 1.0f : 0.0f));
  const float w = 1.0f / x, z = w * w;
  const float q = horner(z, 8.417508418e-4f, -5.952380952e-4f, 7.936507937e-4f, -2.777777778e-3f,
                         8.333333333e-2f);
  const float far = (x - 0.5f) * l + (q * w + 4.189385332e-1f);
  const float s = small ? x - 1.0f : x - 2.0f;
  const float p = horner(s, -9.682577911e-06f, 1.931384395e-05f, -7.266346074e-06f,
                         2.023413072e-05f, -9.175349260e-05f, 1.958165667e-04f, -4.019715125e-04f,
                         9.104975034e-04f, -2.108944580e-03f, 4.999482539e-03f, -1.238411479e-02f,
                         3.296494484e-02f, -1.003173068e-01f, 4.227843285e-01f);
  const float near = (small ? x : x - 1.0f) * s * p + (small ? -l : 0.0f);
  const float y = large ? far : near;
  return x == 0.0f ? std::numeric_limits<float>::infinity() : y;
}

// The logarithmic derivative of gamma: reflection for x < 0, recurrence to 10, asymptotic series.
CYNET_XFUNCTION double digamma(double x) {
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
      z *
      (1.0 / 12 -
       z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760))))));
  return result + ::log(x) - 0.5 / x - series;
}

enum { MAX_POLYGAMMA = 100 };  // the highest order

// The derivative of order n of cot(pi x) / pi^n is a polynomial of cot(pi x): c' = -(1 + c^2).
CYNET_XFUNCTION double cotangent_derivative(int n, double x) {
  const double pi = 3.14159265358979323846;
  const double c = 1 / ::tan(pi * (x - ::floor(x + 0.5)));
  double p[MAX_POLYGAMMA + 2] = {0, 1};
  for (int k = 0; k < n; ++k) {  // p becomes -(1 + c^2) p'
    double next[MAX_POLYGAMMA + 2] = {0};
    for (int i = 1; i <= k + 1; ++i) {
      next[i - 1] -= i * p[i];
      next[i + 1] -= i * p[i];
    }
    for (int i = 0; i <= k + 2; ++i) p[i] = next[i];
  }
  double sum = 0;
  for (int i = n + 1; i >= 0; --i) sum = sum * c + p[i];
  return sum;
}

// The derivative of order n >= 1 of digamma: (-1)^(n + 1) n! times Hurwitz's zeta of n + 1, which
// is a sum up to where the formula of Euler and Maclaurin holds. Reflection below 0; at a pole it
// is infinity, NaN where the sides differ.
CYNET_XFUNCTION double polygamma(int n, double x) {
  if (n == 0) return digamma(x);
  const double pi = 3.14159265358979323846, s = n + 1;
  const double infinity = std::numeric_limits<double>::infinity();
  const double sign = n % 2 ? 1 : -1;
  if (x <= 0) {
    if (x == ::floor(x)) return n % 2 ? infinity : std::numeric_limits<double>::quiet_NaN();
    return -sign * polygamma(n, 1 - x) - ::pow(pi, s) * cotangent_derivative(n, x);
  }
  double sum = 0;
  for (; x < 12 + s; x += 1) sum += ::pow(x, -s);
  // B_2j / (2 j)!
  static constexpr double series[10] = {
      8.3333333333333333e-2,   -1.3888888888888889e-3,  3.3068783068783069e-5,
      -8.2671957671957672e-7,  2.0876756987868099e-8,   -5.2841901386874932e-10,
      1.3382536530684679e-11,  -3.3896802963225829e-13, 8.5860620562778446e-15,
      -2.1748686985580619e-16,
  };
  const double power = ::pow(x, -s), z = 1 / (x * x);
  double term = power * s / x, rest = power * x / n + power / 2;
  for (int j = 0; j < 10; ++j) {
    rest += series[j] * term;
    term *= (s + 2 * j + 1) * (s + 2 * j + 2) * z;
  }
  return sign * ::tgamma(s) * (sum + rest);
}

}  // namespace math
}  // namespace cynet

#endif
