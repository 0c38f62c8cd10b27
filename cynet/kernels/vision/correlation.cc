// Correlation: patches of one image with nearby patches of another, and the gradients.
//
// For each shift the products of two pixels, summed over channels, make one plane (of the padded
// image); a patch is a window of it.
#ifndef CYNET_LANES
#include "kernel.h"
#include "vision/bilinear.h"

namespace cynet {
namespace {

// shifts -reach .. reach times stride2 along both axes
#define CORRELATION_FIELDS(field)                                                             \
  field(int64_t, kernel_size) field(int64_t, max_displacement) field(int64_t, stride1) field( \
      int64_t, stride2) field(int64_t, pad_size) field(int64_t, reach) field(bool, is_multiply)
CYNET_PARAMS(CorrelationParams, CORRELATION_FIELDS)

struct CorrelationShape {  // sizes and options of Correlation
  int64_t batch, channels, height, width, kernel, displacement, stride1, stride2, pad;
  int64_t out_height, out_width, reach;
  bool multiply;
  CorrelationShape(const CorrelationParams& p, const Blob* data, const Blob* out)
      : batch(data->shape[0]),
        channels(data->shape[1]),
        height(data->shape[2]),
        width(data->shape[3]),
        kernel(p.kernel_size),
        displacement(p.max_displacement),
        stride1(p.stride1),
        stride2(p.stride2),
        pad(p.pad_size),
        out_height(out->shape[2]),
        out_width(out->shape[3]),
        reach(p.reach),
        multiply(p.is_multiply) {}
};

// Bytes of a plane for each thread.
inline int64_t correlation_workspace_bytes(const Args& args) {
  const Blob* data = args.in[0];
  return args.threads * data->shape[2] * data->shape[3] * element_size(data->dtype);
}

}  // namespace
}  // namespace cynet

#define CYNET_PER_ISA_FILE "vision/correlation.cc"
#include "isa/for_each_isa.h"

CYNET_SPACE_KERNEL(correlate, CorrelationParams, 64, correlation_workspace_bytes, CYNET_FLOATS)
CYNET_SPACE_KERNEL(correlate_grad, CorrelationParams, 64, correlation_workspace_bytes, CYNET_FLOATS)
#else
namespace {

// The rows or columns [*first, *last) in which a pixel and the one `shift` further both lie.
CYNET_XINLINE void overlapping_range(int64_t size, int64_t shift, int64_t* first, int64_t* last) {
  *first = shift < 0 ? (-shift < size ? -shift : size) : 0;
  *last = shift > 0 ? (size - shift > 0 ? size - shift : 0) : size;
}

// The pixel (h, w), or 0 outside of the plane.
template <typename T>
CYNET_XINLINE T padded_pixel(const T* plane, int64_t h, int64_t w, int64_t height, int64_t width) {
  return h >= 0 && h < height && w >= 0 && w < width ? plane[h * width + w] : T(0);
}

// The first pixel of window `at` along an axis, without padding.
CYNET_XINLINE int64_t window_start(const CorrelationShape& s, int64_t at) {
  return s.displacement + at * s.stride1 - s.pad;
}

// Computes one plane of the output: one shift of one image. sums (height, width) has products.
template <typename T>
CYNET_NOINLINE void correlate_shift(const CorrelationShape& s, const T* a, const T* b, T* out,
                                    bool add, int64_t k, T* sums) {
  const int64_t grid = 2 * s.reach + 1, image = k / (grid * grid), plane = s.height * s.width;
  const int64_t down = (k / grid % grid - s.reach) * s.stride2;
  const int64_t right = (k % grid - s.reach) * s.stride2;
  const T count = static_cast<T>(s.kernel * s.kernel * s.channels);
  a += image * s.channels * plane;
  b += image * s.channels * plane;
  T* y = out + k * s.out_height * s.out_width;
  if (!s.multiply) {
    for (int64_t i = 0; i < s.out_height; ++i)
      for (int64_t j = 0; j < s.out_width; ++j) {
        const int64_t h0 = window_start(s, i), w0 = window_start(s, j);
        T total = T(0);
        for (int64_t h = h0; h < h0 + s.kernel; ++h)
          for (int64_t w = w0; w < w0 + s.kernel; ++w)
            for (int64_t c = 0; c < s.channels; ++c) {
              const T gap = padded_pixel(a + c * plane, h, w, s.height, s.width) -
                            padded_pixel(b + c * plane, h + down, w + right, s.height, s.width);
              total += gap < T(0) ? -gap : gap;
            }
        write_or_add(y++, total / count, add);
      }
    return;
  }
  int64_t h0, h1, w0, w1;
  overlapping_range(s.height, down, &h0, &h1);
  overlapping_range(s.width, right, &w0, &w1);
  for (int64_t h = h0; h < h1; ++h) {
    T* row = sums + h * s.width;
    for (int64_t w = w0; w < w1; ++w) row[w] = T(0);
    for (int64_t c = 0; c < s.channels; ++c) {
      const T* x = a + c * plane + h * s.width;
      const T* z = b + c * plane + (h + down) * s.width + right;
      CYNET_IVDEP
      for (int64_t w = w0; w < w1; ++w) row[w] += x[w] * z[w];
    }
  }
  for (int64_t i = 0; i < s.out_height; ++i)
    for (int64_t j = 0; j < s.out_width; ++j) {
      const int64_t top = window_start(s, i), left = window_start(s, j);
      T total = T(0);
      for (int64_t h = top < h0 ? h0 : top; h < (top + s.kernel < h1 ? top + s.kernel : h1); ++h)
        for (int64_t w = left < w0 ? w0 : left; w < (left + s.kernel < w1 ? left + s.kernel : w1);
             ++w)
          total += sums[h * s.width + w];
      write_or_add(y++, total / count, add);
    }
}

// grads (height, width) = the gradient of each pixel's product with the one `shift` further, summed
// over the windows that contain it; `dy` is the plane of that shift.
template <typename T>
CYNET_XINLINE void sum_product_grads(const CorrelationShape& s, const T* dy, T* grads) {
  const T count = static_cast<T>(s.kernel * s.kernel * s.channels);
  for (int64_t i = 0; i < s.height * s.width; ++i) grads[i] = T(0);
  for (int64_t i = 0; i < s.out_height; ++i)
    for (int64_t h = window_start(s, i); h < window_start(s, i) + s.kernel; ++h) {
      if (h < 0 || h >= s.height) continue;
      T* row = grads + h * s.width;
      const T* g = dy + i * s.out_width;
      for (int64_t j = 0; j < s.out_width; ++j) {
        const int64_t left = window_start(s, j);
        for (int64_t w = left < 0 ? 0 : left; w < left + s.kernel && w < s.width; ++w)
          row[w] += g[j] / count;
      }
    }
}

// Computes dx for channels [c0, c1) of an image. Shifts one after another.
template <typename T>
CYNET_NOINLINE void correlate_backward(const CorrelationShape& s, bool second, const T* own,
                                       const T* other, const T* dy, T* dx, bool add, int64_t image,
                                       int64_t c0, int64_t c1, T* grads) {
  const int64_t grid = 2 * s.reach + 1, plane = s.height * s.width;
  own += image * s.channels * plane;
  other += image * s.channels * plane;
  dx += image * s.channels * plane;
  if (!add)
    for (int64_t i = c0 * plane; i < c1 * plane; ++i) dx[i] = T(0);
  const T count = static_cast<T>(s.kernel * s.kernel * s.channels);
  for (int64_t k = 0; k < grid * grid; ++k) {
    const int64_t down = (k / grid - s.reach) * s.stride2, right = (k % grid - s.reach) * s.stride2;
    const T* g = dy + (image * grid * grid + k) * s.out_height * s.out_width;
    if (!s.multiply) {
      for (int64_t c = c0; c < c1; ++c)
        for (int64_t i = 0; i < s.out_height; ++i)
          for (int64_t j = 0; j < s.out_width; ++j) {
            const int64_t top = window_start(s, i), left = window_start(s, j);
            const T each = g[i * s.out_width + j] / count;
            for (int64_t h = top; h < top + s.kernel; ++h)
              for (int64_t w = left; w < left + s.kernel; ++w) {
                const int64_t y = second ? h + down : h, x = second ? w + right : w;
                if (y < 0 || y >= s.height || x < 0 || x >= s.width) continue;
                const T gap = own[c * plane + y * s.width + x] -
                              padded_pixel(other + c * plane, second ? h : h + down,
                                           second ? w : w + right, s.height, s.width);
                const bool rises = second ? gap > T(0) : gap >= T(0);
                dx[c * plane + y * s.width + x] += rises ? each : -each;
              }
          }
      continue;
    }
    sum_product_grads(s, g, grads);
    int64_t h0, h1, w0, w1;
    overlapping_range(s.height, down, &h0, &h1);
    overlapping_range(s.width, right, &w0, &w1);
    for (int64_t c = c0; c < c1; ++c)
      for (int64_t h = h0; h < h1; ++h) {
        const T* weight = grads + h * s.width;
        const int64_t here = c * plane + h * s.width, there = here + down * s.width + right;
        const T* x = other + (second ? here : there);
        T* to = dx + (second ? there : here);
        CYNET_IVDEP
        for (int64_t w = w0; w < w1; ++w) to[w] += weight[w] * x[w];
      }
  }
}

// reads data1, data2
template <typename T>
void correlate(const Args& args) {
  const CorrelationShape s(args.as<CorrelationParams>(), args.in[0], args.out[0]);
  const int64_t n = s.batch * args.out[0]->shape[1], plane = s.height * s.width;
  const int64_t parts = args.threads < n ? args.threads : n;
  for_parts(parts, [&](int64_t part) {
    for (int64_t k = n * part / parts; k < n * (part + 1) / parts; ++k)
      correlate_shift(s, args.input<T>(0), args.input<T>(1), args.output<T>(0), args.add[0], k,
                      static_cast<T*>(args.space) + part * plane);
  });
}

// reads data1, data2, d_output; writes d_data1, d_data2
template <typename T>
void correlate_grad(const Args& args) {
  const CorrelationShape s(args.as<CorrelationParams>(), args.in[0], args.in[2]);
  const int64_t n = s.batch * s.channels, plane = s.height * s.width;
  const int64_t parts = args.threads < n ? args.threads : n;
  for (int i = 0; i < 2; ++i)
    if (args.wanted[i])
      for_parts(parts, [&](int64_t part) {
        for_images(n * part / parts, n * (part + 1) / parts, s.channels,
                   [&](int64_t image, int64_t c0, int64_t c1) {
                     correlate_backward(s, i == 1, args.input<T>(i), args.input<T>(1 - i),
                                        args.input<T>(2), args.output<T>(i), args.add[i], image, c0,
                                        c1, static_cast<T*>(args.space) + part * plane);
                   });
      });
}

}  // namespace
#endif
