// Adds or multiplies two 8-bit arrays, each with its range.
#include "kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "quantization/units.h"

namespace cynet {

// `calibrated`: the range of the result is low, high.
#define COMBINED_FIELDS(field) \
  field(bool, product) field(bool, calibrated) field(double, low) field(double, high)
CYNET_PARAMS(Combined, COMBINED_FIELDS)

template <typename O>
struct RoundTo {  // rounds and saturates
  static O cast(double v) {
    const double least = std::numeric_limits<O>::min(), maximum = std::numeric_limits<O>::max();
    return static_cast<O>(std::nearbyint(v > least ? (v < maximum ? v : maximum) : least));
  }
};
template <>
struct RoundTo<float> {
  static float cast(double v) { return static_cast<float>(v); }
};

template <typename L, typename R, typename O>
void combine_as_type(const Args& args, bool product, double l, double r) {
  const L* a = args.input<L>(0);
  const R* b = args.input<R>(1);
  O* y = args.output<O>(0);
  parallel_for(args.threads, args.in[0]->size, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      y[i] =
          RoundTo<O>::cast(product ? double(a[i]) * b[i] * l : double(a[i]) * l + double(b[i]) * r);
  });
}

template <typename L, typename R>
void combine_by_output_type(const Args& args, bool product, double l, double r) {
  switch (args.out[0]->dtype) {
    case U8: return combine_as_type<L, R, uint8_t>(args, product, l, r);
    case I8: return combine_as_type<L, R, int8_t>(args, product, l, r);
    case I32: return combine_as_type<L, R, int32_t>(args, product, l, r);
    default: return combine_as_type<L, R, float>(args, product, l, r);
  }
}

// in: lhs, rhs, their ranges (four arrays of one float); out: output and its range
template <typename T>
void quantized_combine(const Args& args) {
  const Combined& p = args.as<Combined>();
  if (!are_ranges_valid(args, 2, 5)) return;
  const int type = args.out[0]->dtype, left = args.in[0]->dtype, right = args.in[1]->dtype;
  const double a = max_magnitude(*args.input<float>(2), *args.input<float>(3));
  const double b = max_magnitude(*args.input<float>(4), *args.input<float>(5));
  const bool finer = type == F32 || (type == I32 && !p.product);
  double l = a / (finer ? steps_for_floats(left) : steps_between_integers(left));
  double r = b / (finer ? steps_for_floats(right) : steps_between_integers(right));
  const double maximum = std::numeric_limits<int32_t>::max();
  float low = static_cast<float>(p.low), high = static_cast<float>(p.high);
  if (type == F32) {
    low = high = 0;
  } else if (type != I32) {
    const double wide = max_magnitude(low, high);
    const double scale = wide > 0 ? steps_between_integers(type) / wide : 0;
    if (p.product) l *= r * scale;
    else l *= scale, r *= scale;
  } else if (p.product) {
    high = static_cast<float>(l * r * maximum), low = -high;
    l = 1;
  } else {
    high = static_cast<float>(a + b), low = -high;
    const double scale = a + b > 0 ? maximum / (a + b) : 0;
    l *= scale, r *= scale;
  }
  if (p.product && type == F32) l *= r;
  if (left == U8)
    right == U8 ? combine_by_output_type<uint8_t, uint8_t>(args, p.product, l, r)
                : combine_by_output_type<uint8_t, int8_t>(args, p.product, l, r);
  else
    right == U8 ? combine_by_output_type<int8_t, uint8_t>(args, p.product, l, r)
                : combine_by_output_type<int8_t, int8_t>(args, p.product, l, r);
  if (float* to = args.output<float>(1)) *to = low;
  if (float* to = args.output<float>(2)) *to = high;
}

}  // namespace cynet

CYNET_PLAIN_KERNEL(quantized_combine, Combined, 8, uint8_t, int8_t)
