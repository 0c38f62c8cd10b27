// Probability densities of samples and their derivatives, computed in double.
//
// A distribution gives the logarithm of its density at x, and the logarithm's derivatives by x and
// by its parameters a and b. Outside its support the density is 0.
#ifndef CYNET_DENSITY_H
#define CYNET_DENSITY_H

#include <cmath>
#include <limits>

#include "common/scalar_math.h"
#include "parallel.h"

namespace cynet {

struct LogDensity {
  double log, dx, da, db;
};

inline double log_gamma(double x) {
#if defined(__GLIBC__)
  int sign;  // lgamma writes a global variable
  return ::lgamma_r(x, &sign);
#else
  return std::lgamma(x);
#endif
}
inline LogDensity nowhere() { return {-std::numeric_limits<double>::infinity(), 0, 0, 0}; }
// n log x, 0 where n is
inline double log_power(double n, double x) { return n == 0 ? 0 : n * std::log(x); }

struct UniformDensity {
  static LogDensity at(double x, double low, double high) {
    if (x < low || x > high) return nowhere();
    return {-std::log(high - low), 0, 1 / (high - low), -1 / (high - low)};
  }
};
struct NormalDensity {
  static LogDensity at(double x, double mu, double sigma) {
    const double z = (x - mu) / sigma, log_root = 0.91893853320467274178;  // log sqrt(2 pi)
    return {-z * z / 2 - std::log(sigma) - log_root, -z / sigma, z / sigma, (z * z - 1) / sigma};
  }
};
struct GammaDensity {  // beta is the rate
  static LogDensity at(double x, double alpha, double beta) {
    if (x < 0) return nowhere();
    return {log_power(alpha, beta) + log_power(alpha - 1, x) - beta * x - log_gamma(alpha),
            (alpha - 1) / x - beta, std::log(beta) + std::log(x) - math::digamma(alpha),
            alpha / beta - x};
  }
};
struct ExponentialDensity {
  static LogDensity at(double x, double lambda, double) {
    if (x < 0) return nowhere();
    return {std::log(lambda) - lambda * x, -lambda, 1 / lambda - x, 0};
  }
};
// Of counts the derivative by x is taken for 0.
struct PoissonDensity {
  static LogDensity at(double x, double lambda, double) {
    if (x < 0) return nowhere();
    return {log_power(x, lambda) - lambda - log_gamma(x + 1), 0, x / lambda - 1, 0};
  }
};
struct NegativeBinomialDensity {
  static LogDensity at(double x, double k, double p) {
    if (x < 0) return nowhere();
    const double ways = log_gamma(x + k) - log_gamma(x + 1) - log_gamma(k);
    return {ways + log_power(k, p) + log_power(x, 1 - p), 0,
            math::digamma(x + k) - math::digamma(k) + std::log(p),
            k / p - (x == 0 ? 0 : x / (1 - p))};
  }
};
struct GeneralizedNegativeBinomialDensity {  // k = 1 / alpha, p = 1 / (1 + mu alpha)
  static LogDensity at(double x, double mu, double alpha) {
    if (x < 0) return nowhere();
    if (alpha == 0) {  // Poisson
      const LogDensity limit = PoissonDensity::at(x, mu, 0);
      return {limit.log, 0, limit.da, ((x - mu) * (x - mu) - x) / 2};
    }
    const double k = 1 / alpha, wide = 1 + mu * alpha, log_wide = std::log1p(mu * alpha);
    const double ways = log_gamma(x + k) - log_gamma(x + 1) - log_gamma(k);
    const double dways = -k * k * (math::digamma(x + k) - math::digamma(k));
    return {ways + log_power(x, mu * alpha) - (x + k) * log_wide, 0,
            (x == 0 ? 0 : x / mu) - (x + k) * alpha / wide,
            dways + x / alpha + k * k * log_wide - (x + k) * mu / wide};
  }
};

// out (+)= densities of n samples, `each` for each pair of parameters
template <typename Law, typename T>
inline void density_forward(int threads, bool log, int64_t n, int64_t each, const T* x, const T* a,
                            const T* b, T* out, bool add) {
  parallel_for(threads, n, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double second = b ? static_cast<double>(b[i / each]) : 0;
      const double value = Law::at(x[i], a[i / each], second).log;
      const T made = static_cast<T>(log ? value : std::exp(value));
      out[i] = add ? out[i] + made : made;
    }
  });
}

// Gradients of samples and parameters; those of parameters are summed over their samples.
template <typename Law, typename T>
inline void density_backward(int threads, bool log, int64_t n, int64_t each, const T* g, const T* x,
                             const T* a, const T* b, T* dx, T* da, T* db, const int* add) {
  parallel_for(threads, n / each, [=](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      double sum_a = 0, sum_b = 0;
      for (int64_t i = k * each; i < (k + 1) * each; ++i) {
        const LogDensity at = Law::at(x[i], a[k], b ? static_cast<double>(b[k]) : 0);
        const double factor = static_cast<double>(g[i]) * (log ? 1 : std::exp(at.log));
        // a sample outside has a gradient of 0, whatever infinity its logarithm is
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
            const T made = static_cast<T>(
                inside ? factor * (static_cast<double>(a[j]) - 1) / share : 0);
            dx[i * size + j] = add[0] ? dx[i * size + j] + made : made;
          }
          if (dalpha && inside)
            dalpha[k * size + j] += static_cast<T>(
                factor * (std::log(share) - math::digamma(a[j]) + digamma_total));
        }
      }
    }
  });
}

enum DensityLaw {
  DENSITY_UNIFORM, DENSITY_NORMAL, DENSITY_GAMMA, DENSITY_EXPONENTIAL, DENSITY_POISSON,
  DENSITY_NEGATIVE_BINOMIAL, DENSITY_GENERALIZED_NEGATIVE_BINOMIAL
};

// body(Law()) of a DensityLaw
template <typename Body>
inline void by_law(int law, const Body& body) {
  switch (law) {
    case DENSITY_UNIFORM: return body(UniformDensity());
    case DENSITY_NORMAL: return body(NormalDensity());
    case DENSITY_GAMMA: return body(GammaDensity());
    case DENSITY_EXPONENTIAL: return body(ExponentialDensity());
    case DENSITY_POISSON: return body(PoissonDensity());
    case DENSITY_NEGATIVE_BINOMIAL: return body(NegativeBinomialDensity());
    default: return body(GeneralizedNegativeBinomialDensity());
  }
}

template <typename T>
inline void density(int law, int threads, bool log, int64_t n, int64_t each, const T* x, const T* a,
                    const T* b, T* out, bool add) {
  by_law(law, [=](auto one) {
    density_forward<decltype(one)>(threads, log, n, each, x, a, b, out, add);
  });
}

template <typename T>
inline void density_gradient(int law, int threads, bool log, int64_t n, int64_t each, const T* g,
                             const T* x, const T* a, const T* b, T* dx, T* da, T* db,
                             const int* add) {
  by_law(law, [=](auto one) {
    density_backward<decltype(one)>(threads, log, n, each, g, x, a, b, dx, da, db, add);
  });
}

}  // namespace cynet

#endif
