// One number of a random distribution, for CPU and CUDA: element by element, from the seed, the
// stream and its index alone.
#ifndef CYNET_RANDOM_DRAW_H
#define CYNET_RANDOM_DRAW_H

#include <cmath>
#include <cstdint>
#include <limits>

#include "half.h"
#include "philox.h"

namespace cynet {

enum Distribution {
  kUniform, kNormal, kExponential, kGamma, kPoisson, kNegativeBinomial, kGeneralizedNegativeBinomial
};

// A stream of one element's own, for distributions that reject: block = element + attempt << 40.
struct ElementStream {
  const Philox& key;
  uint64_t next;

  CYNET_RNG ElementStream(const Philox& k, int64_t element) : key(k), next((uint64_t)element) {}

  CYNET_RNG void words(uint32_t* out) {
    key.block(next, out);
    next += (uint64_t)1 << 40;
  }
  CYNET_RNG double uniform() {  // (0, 1]
    uint32_t w[4];
    words(w);
    return 1.0 - unit_double(w[0], w[1]);
  }
  CYNET_RNG double normal() {
    uint32_t w[4];
    double a, b;
    words(w);
    normal_doubles(w, &a, &b);
    return a;
  }
};

static const int MOST_ATTEMPTS = 10000;  // a sane distribution accepts within a few

// Shape alpha, scale 1 (Marsaglia and Tsang); NaN for what is no parameter.
CYNET_RNG double draw_gamma(ElementStream& s, double alpha) {
  if (!(alpha > 0) || std::isinf(alpha)) return std::numeric_limits<double>::quiet_NaN();
  double factor = 1;
  if (alpha < 1) {  // one of alpha + 1, and a uniform number to the power 1 / alpha
    factor = std::pow(s.uniform(), 1 / alpha);
    alpha += 1;
  }
  const double d = alpha - 1.0 / 3.0, c = 1 / std::sqrt(9 * d);
  for (int i = 0; i < MOST_ATTEMPTS; ++i) {
    const double x = s.normal(), v = 1 + c * x;
    if (v <= 0) continue;
    const double cube = v * v * v;
    if (std::log(s.uniform()) < 0.5 * x * x + d - d * cube + d * std::log(cube))
      return d * cube * factor;
  }
  return d * factor;
}

// Multiplication of uniforms for small lambda, Hormann's transformed rejection (PTRS) for the rest.
CYNET_RNG double draw_poisson(ElementStream& s, double lambda) {
  if (!(lambda >= 0) || std::isinf(lambda)) return std::numeric_limits<double>::quiet_NaN();
  if (lambda < 10) {
    const double limit = std::exp(-lambda);
    double product = s.uniform();
    int k = 0;
    while (product > limit) {
      product *= s.uniform();
      ++k;
    }
    return k;
  }
  const double root = std::sqrt(lambda), log_lambda = std::log(lambda);
  const double b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), bound = 0.9277 - 3.6224 / (b - 2);
  for (int i = 0; i < MOST_ATTEMPTS; ++i) {
    const double u = s.uniform() - 0.5, v = s.uniform(), us = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / us + b) * u + lambda + 0.43);
    if (us >= 0.07 && v <= bound) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b) <=
        k * log_lambda - lambda - std::lgamma(k + 1))
      return k;
  }
  return std::floor(lambda);
}

CYNET_RNG double draw_one(Distribution distribution, ElementStream& s, double a, double b) {
  switch (distribution) {
    case kGamma: return draw_gamma(s, a) * b;
    case kPoisson: return draw_poisson(s, a);
    case kNegativeBinomial:  // k failures at success probability p
      if (a == 0 || b == 1) return 0;
      if (!(b > 0) || b > 1) return std::numeric_limits<double>::quiet_NaN();
      return draw_poisson(s, draw_gamma(s, a) * ((1 - b) / b));
    case kGeneralizedNegativeBinomial:  // mean mu, dispersion alpha
      if (b == 0 || a == 0) return draw_poisson(s, a);
      return draw_poisson(s, draw_gamma(s, 1 / b) * (a * b));
    default: return std::numeric_limits<double>::quiet_NaN();
  }
}

// The largest T below b, as a C: rounding must not reach the open end of [a, b).
template <typename T, typename C>
struct Before {
  CYNET_RNG static C value(C b) { return std::nextafter(b, -std::numeric_limits<C>::infinity()); }
};

template <typename C>
struct Before<half, C> {
  CYNET_RNG static C value(C b) {
    half h(static_cast<float>(b));
    if (static_cast<C>(static_cast<float>(h)) >= b)
      h.bits = static_cast<uint16_t>(
          (h.bits & 0x7fff) == 0 ? 0x8001 : (h.bits & 0x8000) ? h.bits + 1 : h.bits - 1);
    return static_cast<C>(static_cast<float>(h));
  }
};

// Whether standard variates are what parameters a and b ask for; but float16 would round a uniform
// up to 1.
template <typename T, typename C>
CYNET_RNG bool is_standard(int distribution, C a, C b) {
  if (distribution == kExponential || a != 0 || b != 1) return false;
  return distribution == kNormal || sizeof(T) == sizeof(C);
}

template <typename T, typename C>
CYNET_RNG C last_uniform(C a, C b) {
  const C last = Before<T, C>::value(b);
  return a < last ? last : a;
}
template <typename C>
CYNET_RNG C scaled_uniform(C value, C a, C width, C last) {
  const C v = CYNET_ADD(a, CYNET_MUL(value, width));
  return v < last ? v : last;
}

}  // namespace cynet

#endif
