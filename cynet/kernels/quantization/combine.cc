// Sums and products of two arrays of 8 bits, each with its range, and pooling of one.
#include "kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "quantization/units.h"

namespace cynet {

// `calibrated`: the range of the result is low, high.
#define COMBINED(field) \
  field(bool, product) field(bool, calibrated) field(double, low) field(double, high)
CYNET_PARAMS(Combined, COMBINED)

template <typename O>
struct Rounded {
  static O of(double v) {
    const double least = std::numeric_limits<O>::min(), most = std::numeric_limits<O>::max();
    return static_cast<O>(std::nearbyint(v > least ? (v < most ? v : most) : least));
  }
};
template <>
struct Rounded<float> {
  static float of(double v) { return static_cast<float>(v); }
};

template <typename L, typename R, typename O>
void combine_as(const Args& args, bool product, double l, double r) {
  const L* a = args.input<L>(0);
  const R* b = args.input<R>(1);
  O* y = args.output<O>(0);
  parallel_for(args.threads, args.in[0]->size, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      y[i] = Rounded<O>::of(product ? double(a[i]) * b[i] * l
                                    : double(a[i]) * l + double(b[i]) * r);
  });
}

template <typename L, typename R>
void combine_by(const Args& args, bool product, double l, double r) {
  switch (args.out[0]->dtype) {
    case U8:
      return combine_as<L, R, uint8_t>(args, product, l, r);
    case I8:
      return combine_as<L, R, int8_t>(args, product, l, r);
    case I32:
      return combine_as<L, R, int32_t>(args, product, l, r);
    default:
      return combine_as<L, R, float>(args, product, l, r);
  }
}

// lhs, rhs, their ranges (four arrays of one float) -> output and its range
template <typename T>
void quantized_combine(const Args& args) {
  const Combined& p = args.as<Combined>();
  const int type = args.out[0]->dtype, left = args.in[0]->dtype, right = args.in[1]->dtype;
  const double a = reach(*args.input<float>(2), *args.input<float>(3));
  const double b = reach(*args.input<float>(4), *args.input<float>(5));
  const bool finer = type == F32 || (type == I32 && !p.product);
  double l = a / (finer ? steps_of_floats(left) : steps_between_integers(left));
  double r = b / (finer ? steps_of_floats(right) : steps_between_integers(right));
  const double most = std::numeric_limits<int32_t>::max();
  float low = static_cast<float>(p.low), high = static_cast<float>(p.high);
  if (type == F32) {
    low = high = 0;
  } else if (type != I32) {
    const double wide = reach(low, high);
    const double scale = wide > 0 ? steps_between_integers(type) / wide : 0;
    if (p.product)
      l *= r * scale;
    else
      l *= scale, r *= scale;
  } else if (p.product) {
    high = static_cast<float>(l * r * most), low = -high;
    l = 1;
  } else {
    high = static_cast<float>(a + b), low = -high;
    const double scale = a + b > 0 ? most / (a + b) : 0;
    l *= scale, r *= scale;
  }
  if (p.product && type == F32) l *= r;
  if (left == U8)
    right == U8 ? combine_by<uint8_t, uint8_t>(args, p.product, l, r)
                : combine_by<uint8_t, int8_t>(args, p.product, l, r);
  else
    right == U8 ? combine_by<int8_t, uint8_t>(args, p.product, l, r)
                : combine_by<int8_t, int8_t>(args, p.product, l, r);
  if (float* to = args.output<float>(1)) *to = low;
  if (float* to = args.output<float>(2)) *to = high;
}

typedef Int64s<3> Three;
// (batch, channels, *in_size), or with `last` (batch, *in_size, channels); `mean`: not the maximum
#define QUANTIZED_POOL(field)                                                                     \
  field(int64_t, batch) field(int64_t, channels) field(Three, in_size) field(Three, out_size)     \
      field(Three, kernel) field(Three, stride) field(Three, pad) field(Three, pad_after)         \
          field(bool, mean) field(bool, count_pad) field(bool, last)
CYNET_PARAMS(QuantizedPool, QUANTIZED_POOL)

struct Span {
  int64_t begin, end, padded;  // of the window within the data; its length with padding
  Span(const QuantizedPool& p, int axis, int64_t at) {
    const int64_t first = at * p.stride[axis] - p.pad[axis];
    padded = std::min(first + p.kernel[axis], p.in_size[axis] + p.pad_after[axis]) - first;
    begin = std::max<int64_t>(first, 0);
    end = std::max(begin, std::min(first + p.kernel[axis], p.in_size[axis]));
  }
};

template <typename T>
void quantized_pool(const Args& args) {
  const QuantizedPool& p = args.as<QuantizedPool>();
  const T* x = args.input<T>(0);
  T* y = args.output<T>(0);
  const int64_t points = p.in_size[0] * p.in_size[1] * p.in_size[2];
  const int64_t places = p.out_size[0] * p.out_size[1] * p.out_size[2];
  // planes of one channel each, or images of which all channels of a pixel are together
  const int64_t planes = p.last ? p.batch : p.batch * p.channels, wide = p.last ? p.channels : 1;
  parallel_for(args.threads, planes * places, [&](int64_t begin, int64_t end) {
    enum { TOGETHER = 64 };
    int32_t found[TOGETHER];
    for (int64_t i = begin; i < end; ++i) {
      int64_t at = i % places;
      const T* plane = x + i / places * points * wide;
      const Span w(p, 2, at % p.out_size[2]);
      at /= p.out_size[2];
      const Span h(p, 1, at % p.out_size[1]), d(p, 0, at / p.out_size[1]);
      const int64_t here = (d.end - d.begin) * (h.end - h.begin) * (w.end - w.begin);
      const int64_t count = p.count_pad ? d.padded * h.padded * w.padded : here;
      for (int64_t first = 0; first < wide; first += TOGETHER) {
        const int64_t n = std::min<int64_t>(TOGETHER, wide - first);
        const int32_t none = p.mean ? 0 : std::numeric_limits<T>::min();
        std::fill(found, found + n, none);
        for (int64_t z = d.begin; z < d.end; ++z)
          for (int64_t r = h.begin; r < h.end; ++r)
            for (int64_t c = w.begin; c < w.end; ++c) {
              const T* v = plane + ((z * p.in_size[1] + r) * p.in_size[2] + c) * wide + first;
              if (p.mean)
                for (int64_t k = 0; k < n; ++k) found[k] += v[k];
              else
                for (int64_t k = 0; k < n; ++k) found[k] = std::max<int32_t>(found[k], v[k]);
            }
        T* to = y + i * wide + first;
        const double parts = p.mean ? std::max<int64_t>(count, 1) : 1;
        for (int64_t k = 0; k < n; ++k) to[k] = static_cast<T>(std::nearbyint(found[k] / parts));
      }
    }
  });
  if (float* to = args.output<float>(1)) *to = *args.input<float>(1);
  if (float* to = args.output<float>(2)) *to = *args.input<float>(2);
}

}  // namespace cynet

CYNET_PLAIN_KERNEL(quantized_combine, Combined, 8, uint8_t, int8_t)
CYNET_PLAIN_KERNEL(quantized_pool, QuantizedPool, 1, uint8_t, int8_t)
