// Floats to integers of 8 bits and back, and integers of 32 bits to 8 bits; each array with its
// range, two arrays of one float.
#ifndef CYNET_LANES
#include "kernel.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "quantization/units.h"

namespace cynet {

enum RangeFrom { RANGE_OF_INPUTS, RANGE_GIVEN, RANGE_OF_DATA };

// `finer`: use steps_for_floats; `given`: uint8 outputs keep the range found instead of one from 0.
#define QUANTIZE_FIELDS(field)                                                         \
  field(int64_t, range_from) field(double, low) field(double, high) field(bool, finer) \
      field(bool, given)
CYNET_PARAMS(Quantize, QUANTIZE_FIELDS)

struct FloatRange {  // least and largest number
  float low, high;
};

inline void write_range(const Args& args, int i, float low, float high) {
  if (float* to = args.output<float>(i)) *to = low;
  if (float* to = args.output<float>(i + 1)) *to = high;
}

// `least`: the value that replaces lower ones.
#define AT_LEAST_FIELDS(field) field(double, least)  // of quantized_at_least, a lower bound
CYNET_PARAMS(AtLeast, AT_LEAST_FIELDS)

}  // namespace cynet

#define CYNET_PER_ISA_FILE "quantization/quantize.cc"
#include "isa/for_each_isa.h"

CYNET_KERNEL(quantize, Quantize, 3, float, int32_t)
CYNET_KERNEL(quantize_asym, Quantize, 3, float)
CYNET_KERNEL(quantized_copy, Quantize, 1, uint8_t, int8_t)
CYNET_KERNEL(dequantize, NoParams, 1, uint8_t, int8_t)
CYNET_KERNEL(quantized_at_least, AtLeast, 1, uint8_t, int8_t)
#else
namespace {

#include "quantization/scaled_loops.h"

// The least and the largest element; NaN is ignored.
template <typename T>
FloatRange find_range(const T* x, int64_t n, int threads) {
  const int64_t parts = std::max<int64_t>(1, std::min<int64_t>(threads, n / 4096));
  std::vector<FloatRange> found(parts);
  for_parts(parts, [&](int64_t part) {
    enum { SIDE = 32 };  // lanes with separate minima and maxima
    T low[SIDE], high[SIDE];
    std::fill(low, low + SIDE, std::numeric_limits<T>::max());
    std::fill(high, high + SIDE, std::numeric_limits<T>::lowest());
    const T* v = x + n * part / parts;
    const T* end = x + n * (part + 1) / parts;
    for (; end - v >= SIDE; v += SIDE)
      for (int k = 0; k < SIDE; ++k) {
        low[k] = v[k] < low[k] ? v[k] : low[k];
        high[k] = v[k] > high[k] ? v[k] : high[k];
      }
    for (; v < end; ++v) {
      low[0] = *v < low[0] ? *v : low[0];
      high[0] = *v > high[0] ? *v : high[0];
    }
    found[part] = {static_cast<float>(*std::min_element(low, low + SIDE)),
                   static_cast<float>(*std::max_element(high, high + SIDE))};
  });
  FloatRange all = found[0];
  for (const FloatRange& r : found) all = {std::min(all.low, r.low), std::max(all.high, r.high)};
  return all.low > all.high ? FloatRange{0, 0} : all;
}

// Converts x * scale; reports a NaN.
template <typename T, typename O>
void convert_scaled(const Args& args, float scale) {
  const T* x = args.input<T>(0);
  O* y = args.output<O>(0);
  std::atomic<bool> wrong{false};
  parallel_for(args.threads, args.in[0]->size, [=, &wrong](int64_t begin, int64_t end) {
    if (scale_to_bytes<T, O>(x + begin, y + begin, end - begin, scale)) wrong = true;
  });
  if (!wrong) return;
  int64_t place = 0;
  while (!std::isnan(static_cast<float>(x[place]) * scale)) ++place;
  report_nan(args, 0, place, static_cast<double>(x[place]));
}

// in: data, [its range or, for int32, the values of its limits]; out: output and its range
template <typename T>
void quantize(const Args& args) {
  const Quantize& p = args.as<Quantize>();
  const T* x = args.input<T>(0);
  const int64_t n = args.in[0]->size;
  const int type = args.out[0]->dtype;
  const bool whole = row_of_type<T> == I32;
  if ((whole || p.range_from == RANGE_OF_INPUTS) && !are_ranges_valid(args, 1, 2)) return;
  float unit = 1;
  if (whole)
    unit = max_magnitude(*args.input<float>(1), *args.input<float>(2)) /
           static_cast<float>(std::numeric_limits<int32_t>::max());
  FloatRange range = {static_cast<float>(p.low), static_cast<float>(p.high)};
  if (p.range_from == RANGE_OF_INPUTS) range = {*args.input<float>(1), *args.input<float>(2)};
  if (p.range_from == RANGE_OF_DATA) {
    range = find_range(x, n, args.threads);
    range = {range.low * unit, range.high * unit};
  }
  const float r = max_magnitude(range.low, range.high);
  const float steps = p.finer ? steps_for_floats(type) : steps_between_integers(type);
  const float scale = unit * steps_per_unit(steps, r);
  (type == U8 ? convert_scaled<T, uint8_t> : convert_scaled<T, int8_t>)(args, scale);
  if (type != U8) write_range(args, 1, -r, r);
  else write_range(args, 1, p.given ? range.low : 0, p.given ? range.high : r);
}

// in: data; out: uint8 data * scale + shift, scale, shift, which map the range to 0 .. 255
template <typename T>
void quantize_asym(const Args& args) {
  const Quantize& p = args.as<Quantize>();
  const T* x = args.input<T>(0);
  const int64_t n = args.in[0]->size;
  FloatRange range = {static_cast<float>(p.low), static_cast<float>(p.high)};
  if (p.range_from == RANGE_OF_DATA) range = find_range(x, n, args.threads);
  const float wide = range.high - range.low, scale = wide > 0 ? 255.0f / wide : 1.0f;
  const float shift = 255.0f - range.high * scale;
  uint8_t* y = args.output<uint8_t>(0);
  parallel_for(args.threads, n, [=, &args](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float v = x[i] * scale + shift + 0.5f, low = v > 0 ? v : 0;
      if (v != v) return report_nan(args, 0, i, x[i]);
      y[i] = static_cast<uint8_t>(low < 255.0f ? low : 255.0f);
    }
  });
  write_range(args, 1, scale, shift);
}

// Copies data that are already quantized.
template <typename T>
void quantized_copy(const Args& args) {
  const Quantize& p = args.as<Quantize>();
  std::memcpy(args.output<T>(0), args.input<T>(0), args.in[0]->size * sizeof(T));
  write_range(args, 1, static_cast<float>(p.low), static_cast<float>(p.high));
}

template <bool add, typename T>
void dequantize_part(const T* x, float* y, int64_t n, float unit) {
  CYNET_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    const float v = static_cast<float>(x[i]) * unit;
    y[i] = add ? y[i] + v : v;
  }
}

template <typename T>
void dequantize(const Args& args) {
  const T* x = args.input<T>(0);
  float* y = args.output<float>(0);
  const float unit = max_magnitude(*args.input<float>(1), *args.input<float>(2)) /
                     steps_for_floats(args.in[0]->dtype);
  const bool add = args.add[0];
  parallel_for(args.threads, args.in[0]->size, [=](int64_t begin, int64_t end) {
    (add ? dequantize_part<true, T> : dequantize_part<false, T>)(x + begin, y + begin, end - begin,
                                                                 unit);
  });
}

template <typename T>
void quantized_at_least(const Args& args) {
  const double limit = args.as<AtLeast>().least;
  const bool limited = limit > std::numeric_limits<T>::min();
  const T least = limited ? static_cast<T>(limit) : std::numeric_limits<T>::min();
  const T* x = args.input<T>(0);
  T* y = args.output<T>(0);
  parallel_for(args.threads, args.in[0]->size, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = x[i] > least ? x[i] : least;
  });
  write_range(args, 1, *args.input<float>(1), *args.input<float>(2));
}

}
#endif
