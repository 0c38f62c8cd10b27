// Converts between floats and 8-bit integers by a scale and a zero point.
#ifndef CYNET_LANES
#include "kernel.h"

#include <atomic>
#include <cmath>
#include <limits>

#include "quantization/units.h"

namespace cynet {
#define LINEAR_FIELDS(field) field(double, scale) field(int64_t, zero_point)
CYNET_PARAMS(Linear, LINEAR_FIELDS)
}  // namespace cynet

#define CYNET_PER_ISA_FILE "quantization/linear.cc"
#include "isa/for_each_isa.h"

CYNET_KERNEL(quantize_linear, Linear, 2, float)
CYNET_KERNEL(dequantize_linear, Linear, 1, uint8_t, int8_t)
#else
namespace {

#include "quantization/bytes_loops.h"

template <typename T>
void quantize_linear(const Args& args) {
  const Linear& p = args.as<Linear>();
  const float step = static_cast<float>(p.scale), zero = static_cast<float>(p.zero_point);
  const T* x = args.input<T>(0);
  char* y = static_cast<char*>(args.out[0]->data);
  const bool is_signed = args.out[0]->dtype == I8;
  std::atomic<bool> wrong{false};
  parallel_for(args.threads, args.in[0]->size, [=, &wrong](int64_t begin, int64_t end) {
    if ((is_signed ? quantize_loop<int8_t> : quantize_loop<uint8_t>)(x + begin, step, zero,
                                                                     y + begin, end - begin))
      wrong = true;
  });
  if (!wrong) return;
  int64_t place = 0;
  while (!std::isnan(x[place] / step)) ++place;
  report_nan(args, 0, place, x[place]);
}

template <typename T>
void dequantize_linear(const Args& args) {
  const Linear& p = args.as<Linear>();
  const float step = static_cast<float>(p.scale), zero = static_cast<float>(p.zero_point);
  const T* x = args.input<T>(0);
  float* y = args.output<float>(0);
  const bool add = args.add[0];
  parallel_for(args.threads, args.in[0]->size, [=](int64_t begin, int64_t end) {
    if (!add) return dequantize_loop<T>(x + begin, step, zero, y + begin, end - begin);
    for (int64_t i = begin; i < end; ++i) y[i] += (static_cast<float>(x[i]) - zero) * step;
  });
}

}
#endif
