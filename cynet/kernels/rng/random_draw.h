// One number of a random distribution, for CPU and CUDA: element by element, from the seed, the
// stream and its index alone.
#ifndef CYNET_RANDOM_DRAW_H
#define CYNET_RANDOM_DRAW_H

#include <cmath>
#include <cstdint>
#include <limits>

#include "common/bfloat16.h"
#include "rng/philox.h"

namespace cynet {

enum Distribution {
  kUniform,
  kNormal,
  kExponential,
  kGamma,
  kPoisson,
  kNegativeBinomial,
  kGeneralizedNegativeBinomial
};

// Random words of one element, for distributions with rejection: block = element + attempt << 40.
static const uint64_t ATTEMPT_STRIDE = (uint64_t)1 << 40;  // blocks between attempts

struct ElementStream {
  const Philox& key;
  uint64_t next;

  CYNET_XINLINE ElementStream(const Philox& k, uint64_t first) : key(k), next(first) {}

  CYNET_XFUNCTION void next_words(uint32_t* out) {
    key.block(next, out);
    next += ATTEMPT_STRIDE;
  }
  CYNET_XFUNCTION double uniform() {  // (0, 1]
    uint32_t w[4];
    next_words(w);
    return 1.0 - unit_double(w[0], w[1]);
  }
  CYNET_XFUNCTION double normal() {
    uint32_t w[4];
    double a, b;
    next_words(w);
    normal_doubles(unit_double(w[0], w[1]), unit_double(w[2], w[3]), &a, &b);
    return a;
  }
};

static const int MAX_ATTEMPTS = 10000;  // valid parameters need a few attempts

// Constants of Marsaglia and Tsang's method ("A simple method for generating gamma variables",
// 2000) for a shape of at least 1: it proposes d v^3 with v = 1 + c x, x normal.
struct GammaConstants {  // of Marsaglia and Tsang's method
  double d, c;

  CYNET_XINLINE explicit GammaConstants(double alpha) : d(alpha - 1.0 / 3.0) {
    c = 1.0 / sqrt(CYNET_MUL(9.0, d));
  }
  CYNET_XINLINE double cube_root(double x) const { return CYNET_ADD(1.0, CYNET_MUL(c, x)); }
  // True if v^3 is accepted; u is uniform.
  CYNET_XINLINE bool is_accepted(double cube, double x, double u) const {
    const double rest = CYNET_ADD(1.0 + log_double(cube), -cube);
    return log_double(u) < CYNET_ADD(CYNET_MUL(CYNET_MUL(0.5, x), x), CYNET_MUL(d, rest));
  }
};
CYNET_XINLINE double third_power(double v) { return CYNET_MUL(CYNET_MUL(v, v), v); }

// u to the power 1 / alpha: the factor that turns a gamma number of shape alpha + 1 into one of
// shape alpha. Its error is that of u shifted by half the distance of two uniform numbers.
CYNET_XINLINE double gamma_factor(double u, double alpha) {  // from shape alpha + 1 to alpha
  return exact_exp_of_nonpositive(log_double(u) / alpha);
}

CYNET_XINLINE bool is_valid_shape(double alpha) { return (alpha > 0) & !std::isinf(alpha); }

// Shape alpha, scale 1; NaN for an invalid parameter.
CYNET_XFUNCTION double draw_gamma(ElementStream& s, double alpha) {
  if (!is_valid_shape(alpha)) return std::numeric_limits<double>::quiet_NaN();
  double factor = 1;
  if (alpha < 1) {
    factor = gamma_factor(s.uniform(), alpha);
    alpha += 1;
  }
  const GammaConstants form(alpha);
  for (int i = 0; i < MAX_ATTEMPTS; ++i) {
    const double x = s.normal(), v = form.cube_root(x);
    if (v <= 0) continue;
    const double cube = third_power(v);
    if (form.is_accepted(cube, x, s.uniform())) return CYNET_MUL(CYNET_MUL(form.d, cube), factor);
  }
  return CYNET_MUL(form.d, factor);
}

// Hormann's transformed rejection for lambda of at least 10 (PTRS, "The transformed rejection
// method for generating Poisson random variables", 1993): proposes k from a uniform u.
struct PoissonProposal {  // k that transformed rejection accepts or not
  double a, b, bound, us, k;

  CYNET_XINLINE PoissonProposal(double lambda, double u) {
    b = CYNET_ADD(0.931, CYNET_MUL(2.53, sqrt(lambda)));
    a = CYNET_ADD(-0.059, CYNET_MUL(0.02483, b));
    bound = CYNET_ADD(0.9277, -(3.6224 / (b - 2.0)));
    us = 0.5 - fabs(u);
    const double slope = CYNET_MUL(2.0, a) / us + b;
    k = floor(CYNET_ADD(CYNET_ADD(CYNET_MUL(slope, u), lambda), 0.43));
  }
  // The quick test: true if k is accepted without computing its probability; v is uniform.
  CYNET_XINLINE bool is_accepted(double v) const { return (us >= 0.07) & (v <= bound); }
  // The exact test: true if k >= 0 is accepted.
  CYNET_XINLINE bool is_accepted_exactly(double v, double lambda, double log_factorial_k) const {
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    const double hat = CYNET_ADD(a / CYNET_MUL(us, us), b);
    const double law = CYNET_ADD(CYNET_MUL(k, log_double(lambda)), -lambda) - log_factorial_k;
    return ((us >= 0.013) | (v <= us)) & (log_double(CYNET_MUL(v, inverse_alpha) / hat) <= law);
  }
};

static const double MIN_PROPOSAL_LAMBDA = 10;  // for smaller lambda, products of uniforms are used

// Counts from k on the uniforms that bring `product` to at most `limit` by multiplication.
CYNET_XFUNCTION double count_uniforms(ElementStream& s, double product, double limit, double k) {
  for (; product > limit; ++k) product = CYNET_MUL(product, s.uniform());
  return k;
}

CYNET_XFUNCTION double draw_poisson(ElementStream& s, double lambda) {
  if (!(lambda >= 0) || std::isinf(lambda)) return std::numeric_limits<double>::quiet_NaN();
  if (lambda < MIN_PROPOSAL_LAMBDA)
    return count_uniforms(s, s.uniform(), exact_exp_of_nonpositive(-lambda), 0);
  for (int i = 0; i < MAX_ATTEMPTS; ++i) {
    const PoissonProposal form(lambda, s.uniform() - 0.5);
    const double v = s.uniform();
    if (form.is_accepted(v)) return form.k;
    if (form.k >= 0 && form.is_accepted_exactly(v, lambda, log_factorial(form.k))) return form.k;
  }
  return floor(lambda);
}

CYNET_XFUNCTION double draw_one(Distribution distribution, ElementStream& s, double a, double b) {
  switch (distribution) {
    case kGamma: return CYNET_MUL(draw_gamma(s, a), b);
    case kPoisson: return draw_poisson(s, a);
    case kNegativeBinomial:  // k failures at success probability p
      if (a == 0 || b == 1) return 0;
      if (!(b > 0) || b > 1) return std::numeric_limits<double>::quiet_NaN();
      return draw_poisson(s, CYNET_MUL(draw_gamma(s, a), (1 - b) / b));
    case kGeneralizedNegativeBinomial:  // mean mu, dispersion alpha
      if (b == 0 || a == 0) return draw_poisson(s, a);
      return draw_poisson(s, CYNET_MUL(draw_gamma(s, 1 / b), CYNET_MUL(a, b)));
    default: return std::numeric_limits<double>::quiet_NaN();
  }
}

// The largest T below b, as a C: rounding must not reach the open end of [a, b).
template <typename T, typename C>
struct LargestBelow {  // bound for [a, b)
  CYNET_XINLINE static C value(C b) {  // the largest T below b
    if constexpr (is_narrow<T>) {
      T h(static_cast<float>(b));
      if (static_cast<C>(static_cast<float>(h)) >= b)
        h.bits = static_cast<uint16_t>((h.bits & 0x7fff) == 0 ? 0x8001
                                       : (h.bits & 0x8000)    ? h.bits + 1
                                                              : h.bits - 1);
      return static_cast<C>(static_cast<float>(h));
    } else {
      return std::nextafter(b, -std::numeric_limits<C>::infinity());
    }
  }
};

// True if a and b are the parameters of standard variates; false for narrow uniforms: they could be
// 1.
template <typename T, typename C>
CYNET_XINLINE bool is_standard(int distribution, C a, C b) {  // U(0, 1) or N(0, 1)
  if (distribution == kExponential || a != 0 || b != 1) return false;
  return distribution == kNormal || sizeof(T) == sizeof(C);
}

template <typename T, typename C>
CYNET_XINLINE C last_uniform(C a, C b) {  // the largest uniform number of [a, b)
  const C last = LargestBelow<T, C>::value(b);
  return a < last ? last : a;
}
template <typename C>
CYNET_XINLINE C scaled_uniform(C value, C a, C width, C last) {
  const C v = CYNET_ADD(a, CYNET_MUL(value, width));
  return v < last ? v : last;
}

}  // namespace cynet

#endif
