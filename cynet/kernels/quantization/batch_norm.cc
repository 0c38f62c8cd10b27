// BatchNorm of a quantized array, by statistics that are given.
#include "kernel.h"

#include <cmath>
#include <limits>
#include <vector>

#include "quantization/units.h"

namespace cynet {

// data (outer, channels, inner); `fixed`: gamma is 1; low, high: the range of the output
#define QUANTIZED_BATCH_NORM_FIELDS(field)                                                \
  field(int64_t, outer) field(int64_t, channels) field(int64_t, inner) field(double, eps) \
      field(bool, fixed) field(double, low) field(double, high)
CYNET_PARAMS(QuantizedBatchNorm, QUANTIZED_BATCH_NORM_FIELDS)

// in: data, gamma, beta, mean, variance, range of data; out: int8 output and its range
template <typename T>
void quantized_batch_norm(const Args& args) {
  const QuantizedBatchNorm& p = args.as<QuantizedBatchNorm>();
  const T* x = args.input<T>(0);
  const float *gamma = args.input<float>(1), *beta = args.input<float>(2);
  const float *mean = args.input<float>(3), *variance = args.input<float>(4);
  if (!are_ranges_valid(args, 5, 6)) return;
  const double unit = max_magnitude(*args.input<float>(5), *args.input<float>(6)) /
                      steps_for_floats(args.in[0]->dtype);  // steps of an int8 input
  const float low = static_cast<float>(p.low), high = static_cast<float>(p.high);
  const double scale = steps_per_unit(steps_for_floats(I8), max_magnitude(low, high));
  std::vector<float> times(p.channels), plus(p.channels);
  for (int64_t c = 0; c < p.channels; ++c) {
    const double gain = (p.fixed ? 1.0 : gamma[c]) / std::sqrt(variance[c] + p.eps);
    times[c] = static_cast<float>(gain * unit * scale);
    plus[c] = static_cast<float>((beta[c] - mean[c] * gain) * scale);
    if (times[c] * plus[c] == times[c] * plus[c]) continue;
    int i = p.fixed ? 2 : 1;  // find the input with a NaN; if none has, the variance is negative
    while (i < 4 && !std::isnan(args.input<float>(i)[c])) ++i;
    return report_nan(args, i, c, args.input<float>(i)[c]);
  }
  int8_t* y = args.output<int8_t>(0);
  parallel_for(args.threads, p.outer * p.channels, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const float a = times[line % p.channels], b = plus[line % p.channels];
      for (int64_t i = line * p.inner; i < (line + 1) * p.inner; ++i) {
        const float v = x[i] * a + b, floor = v > -128.0f ? v : -128.0f;
        y[i] = static_cast<int8_t>(std::nearbyint(floor < 127.0f ? floor : 127.0f));
      }
    }
  });
  if (float* to = args.output<float>(1)) *to = low;
  if (float* to = args.output<float>(2)) *to = high;
}

}  // namespace cynet

CYNET_PLAIN_KERNEL(quantized_batch_norm, QuantizedBatchNorm, 3, uint8_t, int8_t)
