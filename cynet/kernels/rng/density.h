// Probability densities of samples and their derivatives, computed in double.
//
// Each struct has a distribution's parameters; it returns the log density at x, and its derivatives
// by x, a and b. Outside its support the density is 0.
#ifndef CYNET_DENSITY_H
#define CYNET_DENSITY_H

#include <cmath>
#include <limits>
#include <type_traits>

#include "common/exact_math.h"
#include "common/special_math.h"
#include "parallel.h"

namespace cynet {

struct LogDensity {  // log density and its derivatives
  double log, dx, da, db;
};

inline double log_gamma(double x) {
#if defined(__GLIBC__)
  int sign;  // unlike lgamma, writes no global variable
  return ::lgamma_r(x, &sign);
#else
  return std::lgamma(x);
#endif
}
inline LogDensity zero_density() { return {-std::numeric_limits<double>::infinity(), 0, 0, 0}; }
// n log x, 0 where n is
inline double log_power(double n, double x) { return n == 0 ? 0 : n * std::log(x); }

// log(x!), also for x that is not an integer
inline double log_factorial_of_real(double x) {
  return x >= 0 && x < 1e15 && x == std::floor(x) ? log_factorial(x) : log_gamma(x + 1);
}

struct UniformDensity {
  double low, high, share, constant;
  UniformDensity(double low, double high)
      : low(low), high(high), share(1 / (high - low)), constant(-std::log(high - low)) {}
  double log(double x) const { return x < low || x > high ? zero_density().log : constant; }
  LogDensity log_and_derivatives(double x) const {
    if (x < low || x > high) return zero_density();
    return {constant, 0, share, -share};
  }
};
struct NormalDensity {
  static constexpr double log_root = 0.91893853320467274178;  // log sqrt(2 pi)
  double mu, sigma, constant;
  NormalDensity(double mu, double sigma)
      : mu(mu), sigma(sigma), constant(std::log(sigma) + log_root) {}
  double log(double x) const {
    const double z = (x - mu) / sigma;
    return -z * z / 2 - constant;
  }
  LogDensity log_and_derivatives(double x) const {
    const double z = (x - mu) / sigma;
    return {-z * z / 2 - constant, -z / sigma, z / sigma, (z * z - 1) / sigma};
  }
};
struct GammaDensity {  // beta is the rate
  double alpha, beta, constant, dalpha;
  GammaDensity(double alpha, double beta)
      : alpha(alpha),
        beta(beta),
        constant(log_power(alpha, beta) - log_gamma(alpha)),
        dalpha(std::log(beta) - math::digamma(alpha)) {}
  double log(double x) const {
    return x < 0 ? zero_density().log : constant + log_power(alpha - 1, x) - beta * x;
  }
  LogDensity log_and_derivatives(double x) const {
    if (x < 0) return zero_density();
    const double own = std::log(x);
    return {constant + (alpha == 1 ? 0 : (alpha - 1) * own) - beta * x, (alpha - 1) / x - beta,
            dalpha + own, alpha / beta - x};
  }
};
struct ExponentialDensity {
  double lambda, constant;
  ExponentialDensity(double lambda, double) : lambda(lambda), constant(std::log(lambda)) {}
  double log(double x) const { return x < 0 ? zero_density().log : constant - lambda * x; }
  LogDensity log_and_derivatives(double x) const {
    if (x < 0) return zero_density();
    return {constant - lambda * x, -lambda, 1 / lambda - x, 0};
  }
};
// The Poisson density. The derivative by x is taken as 0, since x counts.
struct PoissonDensity {
  double lambda, constant;
  PoissonDensity(double lambda, double) : lambda(lambda), constant(std::log(lambda)) {}
  double log(double x) const {
    return x < 0 ? zero_density().log
                 : (x == 0 ? 0 : x * constant) - lambda - log_factorial_of_real(x);
  }
  LogDensity log_and_derivatives(double x) const {
    if (x < 0) return zero_density();
    return {log(x), 0, x / lambda - 1, 0};
  }
};
struct NegativeBinomialDensity {
  double k, p, constant, failure, dk;
  NegativeBinomialDensity(double k, double p)
      : k(k),
        p(p),
        constant(log_power(k, p) - log_gamma(k)),
        failure(std::log(1 - p)),
        dk(std::log(p) - math::digamma(k)) {}
  double log(double x) const {
    if (x < 0) return zero_density().log;
    return log_gamma(x + k) - log_factorial_of_real(x) + constant + (x == 0 ? 0 : x * failure);
  }
  LogDensity log_and_derivatives(double x) const {
    if (x < 0) return zero_density();
    return {log(x), 0, math::digamma(x + k) + dk, k / p - (x == 0 ? 0 : x / (1 - p))};
  }
};
struct GeneralizedNegativeBinomialDensity {  // k = 1 / alpha, p = 1 / (1 + mu alpha)
  double mu, alpha, k, wide, log_wide, log_part, constant, digamma_k;
  PoissonDensity limit;
  GeneralizedNegativeBinomialDensity(double mu, double alpha)
      : mu(mu),
        alpha(alpha),
        k(1 / alpha),
        wide(1 + mu * alpha),
        log_wide(std::log1p(mu * alpha)),
        log_part(std::log(mu * alpha)),
        constant(log_gamma(k)),
        digamma_k(math::digamma(k)),
        limit(mu, 0) {}
  double log(double x) const {
    if (x < 0) return zero_density().log;
    if (alpha == 0) return limit.log(x);
    const double log_coefficient = log_gamma(x + k) - log_factorial_of_real(x) - constant;
    return log_coefficient + (x == 0 ? 0 : x * log_part) - (x + k) * log_wide;
  }
  LogDensity log_and_derivatives(double x) const {
    if (x < 0) return zero_density();
    if (alpha == 0)
      return {limit.log(x), 0, limit.log_and_derivatives(x).da, ((x - mu) * (x - mu) - x) / 2};
    const double d_coefficient = -k * k * (math::digamma(x + k) - digamma_k);
    return {log(x), 0, (x == 0 ? 0 : x / mu) - (x + k) * alpha / wide,
            d_coefficient + x / alpha + k * k * log_wide - (x + k) * mu / wide};
  }
};

// e^log; a constant for the uniform distribution.
template <typename Law>
inline double density_from_log(const Law&, double log) {
  return std::exp(log);
}
inline double density_from_log(const UniformDensity& law, double log) {
  return log == law.constant ? law.share : std::exp(log);
}

// out (+)= densities of n samples; `each` samples share a pair of parameters
template <typename Law, typename T>
inline void density_forward(int threads, bool log, int64_t n, int64_t each, const T* x, const T* a,
                            const T* b, T* out, bool add) {
  parallel_for(threads, n, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end;) {
      const int64_t k = i / each, stop = end < (k + 1) * each ? end : (k + 1) * each;
      const Law law(a[k], b ? static_cast<double>(b[k]) : 0);
      if constexpr (std::is_same<Law, UniformDensity>::value) {
        const T low = a[k], high = b[k];
        const T inside = static_cast<T>(log ? law.constant : law.share);
        const T outside = static_cast<T>(log ? zero_density().log : 0);
        const auto value = [=](T at) { return (at < low) | (at > high) ? outside : inside; };
        for (int64_t j = i; j < (add ? i : stop); ++j) out[j] = value(x[j]);
        for (int64_t j = i; j < (add ? stop : i); ++j) out[j] += value(x[j]);
        i = stop;
      }
      for (; i < stop; ++i) {
        const double value = law.log(x[i]);
        const T made = static_cast<T>(log ? value : density_from_log(law, value));
        out[i] = add ? out[i] + made : made;
      }
    }
  });
}

// Gradients of samples and parameters; those of parameters are summed over their samples.
template <typename Law, typename T>
inline void density_backward(int threads, bool log, int64_t n, int64_t each, const T* g, const T* x,
                             const T* a, const T* b, T* dx, T* da, T* db, const int* add) {
  parallel_for(threads, n / each, [=](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const Law law(a[k], b ? static_cast<double>(b[k]) : 0);
      double sum_a = 0, sum_b = 0;
      for (int64_t i = k * each; i < (k + 1) * each; ++i) {
        const LogDensity at = law.log_and_derivatives(x[i]);
        const double factor = static_cast<double>(g[i]) * (log ? 1 : density_from_log(law, at.log));
        // the gradient is 0 outside of the support
        if (dx) {
          const T made = static_cast<T>(at.dx == 0 ? 0 : factor * at.dx);
          dx[i] = add[0] ? dx[i] + made : made;
        }
        sum_a += at.da == 0 ? 0 : factor * at.da;
        sum_b += at.db == 0 ? 0 : factor * at.db;
      }
      if (da) da[k] = add[1] ? da[k] + static_cast<T>(sum_a) : static_cast<T>(sum_a);
      if (db) db[k] = add[2] ? db[k] + static_cast<T>(sum_b) : static_cast<T>(sum_b);
    }
  });
}

// The Dirichlet distribution: samples (n, size), `each` for each alpha (size).
template <typename T>
inline double dirichlet_log(const T* x, const T* alpha, int64_t size) {
  double log = 0, total = 0;
  for (int64_t j = 0; j < size; ++j) {
    if (x[j] < 0) return -std::numeric_limits<double>::infinity();
    log += log_power(static_cast<double>(alpha[j]) - 1, x[j]) - log_gamma(alpha[j]);
    total += alpha[j];
  }
  return log + log_gamma(total);
}

template <typename T>
inline void dirichlet_forward(int threads, bool log, int64_t n, int64_t each, int64_t size,
                              const T* x, const T* alpha, T* out, bool add) {
  parallel_for(threads, n, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double value = dirichlet_log(x + i * size, alpha + i / each * size, size);
      const T made = static_cast<T>(log ? value : std::exp(value));
      out[i] = add ? out[i] + made : made;
    }
  });
}

template <typename T>
inline void dirichlet_backward(int threads, bool log, int64_t n, int64_t each, int64_t size,
                               const T* g, const T* x, const T* alpha, T* dx, T* dalpha,
                               const int* add) {
  parallel_for(threads, n / each, [=](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const T* a = alpha + k * size;
      double total = 0;
      for (int64_t j = 0; j < size; ++j) total += a[j];
      const double digamma_total = math::digamma(total);
      if (dalpha && !add[1])
        for (int64_t j = 0; j < size; ++j) dalpha[k * size + j] = 0;
      for (int64_t i = k * each; i < (k + 1) * each; ++i) {
        const T* at = x + i * size;
        const double value = dirichlet_log(at, a, size);
        const bool inside = value > -std::numeric_limits<double>::infinity();
        const double factor = static_cast<double>(g[i]) * (log ? 1 : std::exp(value));
        for (int64_t j = 0; j < size; ++j) {
          const double share = static_cast<double>(at[j]);
          if (dx) {
            const T made =
                static_cast<T>(inside ? factor * (static_cast<double>(a[j]) - 1) / share : 0);
            dx[i * size + j] = add[0] ? dx[i * size + j] + made : made;
          }
          if (dalpha && inside)
            dalpha[k * size + j] +=
                static_cast<T>(factor * (std::log(share) - math::digamma(a[j]) + digamma_total));
        }
      }
    }
  });
}

enum DensityLaw {
  DENSITY_UNIFORM,
  DENSITY_NORMAL,
  DENSITY_GAMMA,
  DENSITY_EXPONENTIAL,
  DENSITY_POISSON,
  DENSITY_NEGATIVE_BINOMIAL,
  DENSITY_GENERALIZED_NEGATIVE_BINOMIAL
};

template <typename L>
struct DensityTag {  // selects the law at compile time
  typedef L Law;
};

// Calls body(DensityTag<Law>()) for a DensityLaw code.
template <typename Body>
inline void call_for_law(int law, const Body& body) {
  switch (law) {
    case DENSITY_UNIFORM: return body(DensityTag<UniformDensity>());
    case DENSITY_NORMAL: return body(DensityTag<NormalDensity>());
    case DENSITY_GAMMA: return body(DensityTag<GammaDensity>());
    case DENSITY_EXPONENTIAL: return body(DensityTag<ExponentialDensity>());
    case DENSITY_POISSON: return body(DensityTag<PoissonDensity>());
    case DENSITY_NEGATIVE_BINOMIAL: return body(DensityTag<NegativeBinomialDensity>());
    default: return body(DensityTag<GeneralizedNegativeBinomialDensity>());
  }
}

template <typename T>
inline void density(int law, int threads, bool log, int64_t n, int64_t each, const T* x, const T* a,
                    const T* b, T* out, bool add) {
  call_for_law(law, [=](auto one) {
    typedef typename decltype(one)::Law Law;
    density_forward<Law>(threads, log, n, each, x, a, b, out, add);
  });
}

template <typename T>
inline void density_gradient(int law, int threads, bool log, int64_t n, int64_t each, const T* g,
                             const T* x, const T* a, const T* b, T* dx, T* da, T* db,
                             const int* add) {
  call_for_law(law, [=](auto one) {
    typedef typename decltype(one)::Law Law;
    density_backward<Law>(threads, log, n, each, g, x, a, b, dx, da, db, add);
  });
}

}  // namespace cynet

#endif
