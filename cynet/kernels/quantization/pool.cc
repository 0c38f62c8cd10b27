// The maximum or the mean of every window of an 8-bit array, whose range stays the same.
#ifndef CYNET_LANES
#include "kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cynet {

typedef Int64s<3> Three;
// (batch, channels, *in_size), or with `last` (batch, *in_size, channels); `mean`: not the maximum
#define QUANTIZED_POOL_FIELDS(field)                                                          \
  field(int64_t, batch) field(int64_t, channels) field(Three, in_size) field(Three, out_size) \
      field(Three, kernel) field(Three, stride) field(Three, pad) field(Three, pad_after)     \
          field(bool, mean) field(bool, count_pad) field(bool, last)
CYNET_PARAMS(QuantizedPool, QUANTIZED_POOL_FIELDS)

struct PoolSpan {  // pixels of a window along an axis
  int64_t begin, end, padded;  // begin and end of the window in the data; its length with padding
  PoolSpan(const QuantizedPool& p, int axis, int64_t at) {
    const int64_t first = at * p.stride[axis] - p.pad[axis];
    padded = std::min(first + p.kernel[axis], p.in_size[axis] + p.pad_after[axis]) - first;
    begin = std::max<int64_t>(first, 0);
    end = std::max(begin, std::min(first + p.kernel[axis], p.in_size[axis]));
  }
};

// Calls pixel(index) for each pixel of a window of the data.
template <class Pixel>
inline void for_pixels(const QuantizedPool& p, const PoolSpan& d, const PoolSpan& h,
                       const PoolSpan& w, Pixel pixel) {
  for (int64_t z = d.begin; z < d.end; ++z)
    for (int64_t r = h.begin; r < h.end; ++r)
      for (int64_t c = w.begin; c < w.end; ++c) pixel((z * p.in_size[1] + r) * p.in_size[2] + c);
}

}  // namespace cynet

#define CYNET_PER_ISA_FILE "quantization/pool.cc"
#include "isa/for_each_isa.h"

CYNET_KERNEL(quantized_pool, QuantizedPool, 2, uint8_t, int8_t)
#else
namespace {

enum { TOGETHER = 256 };  // channels of a pixel
enum { EXACT = 1 << 14 };  // up to so many integers, the mean in float32 rounds right

template <typename T>
void update_maxima(const T* __restrict x, T* __restrict found, int64_t n) {
  for (int64_t k = 0; k < n; ++k) found[k] = found[k] > x[k] ? found[k] : x[k];
}

template <typename T>
void add_to_sums(const T* __restrict x, int32_t* __restrict found, int64_t n) {
  for (int64_t k = 0; k < n; ++k) found[k] += x[k];
}

template <typename T>
void quantized_pool(const Args& args) {
  const QuantizedPool& p = args.as<QuantizedPool>();
  const T* x = args.input<T>(0);
  T* y = args.output<T>(0);
  const int64_t points = p.in_size[0] * p.in_size[1] * p.in_size[2];
  const int64_t out_pixels = p.out_size[0] * p.out_size[1] * p.out_size[2];
  // planes of one channel each, or images with all channels of a pixel together
  const int64_t planes = p.last ? p.batch : p.batch * p.channels, wide = p.last ? p.channels : 1;
  parallel_for(args.threads, planes * out_pixels, [&](int64_t begin, int64_t end) {
    int32_t sums[TOGETHER];
    for (int64_t i = begin; i < end; ++i) {
      int64_t at = i % out_pixels;
      const T* plane = x + i / out_pixels * points * wide;
      const PoolSpan w(p, 2, at % p.out_size[2]);
      at /= p.out_size[2];
      const PoolSpan h(p, 1, at % p.out_size[1]), d(p, 0, at / p.out_size[1]);
      T* to = y + i * wide;
      if (!p.mean) {
        std::fill(to, to + wide, std::numeric_limits<T>::min());
        for_pixels(p, d, h, w, [=](int64_t at) { update_maxima(plane + at * wide, to, wide); });
        continue;
      }
      const int64_t here = (d.end - d.begin) * (h.end - h.begin) * (w.end - w.begin);
      const int64_t count = p.count_pad ? d.padded * h.padded * w.padded : here;
      const double parts = static_cast<double>(std::max<int64_t>(count, 1));
      for (int64_t first = 0; first < wide; first += TOGETHER) {
        const int64_t n = std::min<int64_t>(TOGETHER, wide - first);
        std::fill(sums, sums + n, 0);
        for_pixels(p, d, h, w,
                   [&](int64_t at) { add_to_sums(plane + at * wide + first, sums, n); });
        if (count < EXACT) {
          const float by = static_cast<float>(parts);
          const float shift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
          for (int64_t k = 0; k < n; ++k)
            to[first + k] = static_cast<T>(
                static_cast<int32_t>(static_cast<float>(sums[k]) / by + shift - shift));
          continue;
        }
        for (int64_t k = 0; k < n; ++k)
          to[first + k] = static_cast<T>(std::nearbyint(sums[k] / parts));
      }
    }
  });
  if (float* to = args.output<float>(1)) *to = *args.input<float>(1);
  if (float* to = args.output<float>(2)) *to = *args.input<float>(2);
}

}
#endif
