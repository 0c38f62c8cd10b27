// Finds the clipping threshold of a histogram with the least Kullback-Leibler divergence.
#include "kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "quantization/units.h"

namespace cynet {

#define ENTROPY_FIELDS(field) field(int64_t, bins) field(int64_t, quantized_bins)
CYNET_PARAMS(Entropy, ENTROPY_FIELDS)

// Moves a small probability from nonempty bins to empty ones; returns false if all are empty.
inline bool smooth_zero_bins(std::vector<double>& p) {
  const double little = 1e-4;
  const int64_t n = p.size(), empty = std::count(p.begin(), p.end(), 0.0);
  if (empty == n) return false;
  const double less = little * empty / (n - empty);
  for (double& v : p) v = v == 0 ? little : v - less;
  return less < 1;
}

inline double kl_divergence(const std::vector<double>& p, const std::vector<double>& q) {
  double of_p = 0, of_q = 0, total = 0;
  for (double v : p) of_p += v;
  for (double v : q) of_q += v;
  for (size_t i = 0; i < p.size(); ++i) {
    const double a = p[i] / of_p, b = q[i] / of_q;
    if (a > 0) total += b > 0 ? a * std::log(a / b) : std::numeric_limits<double>::infinity();
  }
  return total;
}

// The divergence if values are clipped to the middle 2 * half + 1 bins.
inline double clipping_divergence(const float* hist, int64_t bins, int64_t quantized_bins,
                                  int64_t half) {
  const int64_t first = bins / 2 - half, n = 2 * half + 1, each = n / quantized_bins;
  std::vector<double> p(hist + first, hist + first + n), q(n, 0.0);
  for (int64_t i = 0; i < first; ++i) p[0] += hist[i];
  for (int64_t i = first + n; i < bins; ++i) p[n - 1] += hist[i];
  for (int64_t j = 0; j < quantized_bins; ++j) {
    const int64_t begin = j * each, end = j + 1 < quantized_bins ? begin + each : n;
    double sum = 0;
    int64_t full = 0;
    for (int64_t i = begin; i < end; ++i) {
      sum += hist[first + i];
      full += p[i] != 0;
    }
    for (int64_t i = begin; i < end; ++i)
      if (p[i] != 0) q[i] = sum / full;
  }
  if (!smooth_zero_bins(p) || !smooth_zero_bins(q)) return std::numeric_limits<double>::infinity();
  return kl_divergence(p, q);
}

// in: hist (bins,), edges (bins + 1,); out: threshold, divergence
template <typename T>
void calibrate_entropy(const Args& args) {
  const Entropy& p = args.as<Entropy>();
  const float *hist = args.input<float>(0), *edges = args.input<float>(1);
  for (int64_t i = 0; i <= p.bins; ++i) {
    if (i < p.bins && std::isnan(hist[i])) return report_nan(args, 0, i, hist[i]);
    if (std::isnan(edges[i])) return report_nan(args, 1, i, edges[i]);
  }
  const int64_t least = p.quantized_bins / 2, maximum = p.bins / 2;
  std::vector<double> found(maximum - least + 1);
  parallel_for(args.threads, found.size(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      found[i] = clipping_divergence(hist, p.bins, p.quantized_bins, least + i);
  });
  const int64_t best = std::min_element(found.begin(), found.end()) - found.begin();
  const int64_t half = least + best;
  *args.output<float>(0) = edges[p.bins / 2 + half + 1];
  *args.output<float>(1) = static_cast<float>(found[best]);
}

}  // namespace cynet

CYNET_PLAIN_KERNEL(calibrate_entropy, Entropy, 1, float)
