// ROIPooling: maxima of the bins of regions, and the gradient.
#include "vision/rois.h"

namespace cynet {
namespace {

#define ROI_POOL_FIELDS(field) field(double, spatial_scale)
CYNET_PARAMS(RoiPool, ROI_POOL_FIELDS)

// Bin `i` of `n` along an axis from pixel `start` to `end`: [*first, *last) of `size`.
template <typename T>
CYNET_XINLINE void roi_bin_range(T start, T end, int64_t i, int64_t n, int64_t size, int64_t* first,
                                 int64_t* last) {
  const T length = end - start + T(1) < T(1) ? T(1) : end - start + T(1);
  const T each = length / static_cast<T>(n);
  const int64_t from = static_cast<int64_t>(start);
  *first = clamped(static_cast<int64_t>(std::floor(static_cast<T>(i) * each)) + from, 0, size);
  *last = clamped(static_cast<int64_t>(std::ceil(static_cast<T>(i + 1) * each)) + from, 0, size);
}

// reads data, rois; writes the maxima and their offset in the plane: 0 and -1 for an empty bin
template <typename T>
void roi_pool(const Args& args) {
  const RoiShape s(args.in[0], args.in[1], args.out[0], args.as<RoiPool>().spatial_scale);
  const T *data = args.input<T>(0), *rois = args.input<T>(1);
  T* out = args.output<T>(0);
  int32_t* argmax = args.output<int32_t>(1);
  if (!check_rois<T>(args, args.in[1], s.scale, s.batch)) return;
  const T scale = static_cast<T>(s.scale);
  const int64_t plane = s.height * s.width, bins = s.pooled[0] * s.pooled[1];
  parallel_for(args.threads, s.rois * s.channels, [&](int64_t begin, int64_t end) {
    for_images(begin, end, s.channels, [&](int64_t r, int64_t c0, int64_t c1) {
      const T* roi = rois + r * 5;
      const int64_t image = image_index(roi);
      T at[4];
      for (int i = 0; i < 4; ++i) at[i] = std::round(roi[1 + i] * scale);
      for (int64_t bin = 0; bin < bins; ++bin) {
        int64_t h0 = 0, h1 = 0, w0 = 0, w1 = 0;
        if (image >= 0) {
          roi_bin_range(at[1], at[3], bin / s.pooled[1], s.pooled[0], s.height, &h0, &h1);
          roi_bin_range(at[0], at[2], bin % s.pooled[1], s.pooled[1], s.width, &w0, &w1);
        }
        for (int64_t c = c0; c < c1; ++c) {
          const T* x = data + (image * s.channels + c) * plane;
          int64_t best = -1;
          T maximum = T(0);
          for (int64_t h = h0; h < h1; ++h)
            for (int64_t w = w0; w < w1; ++w) {
              const T value = x[h * s.width + w];
              if (best < 0 || value > maximum || (value != value && maximum == maximum)) {
                maximum = value;
                best = h * s.width + w;
              }
            }
          const int64_t k = (r * s.channels + c) * bins + bin;
          if (out) write_or_add(out + k, maximum, args.add[0]);
          if (argmax) argmax[k] = static_cast<int32_t>(best) + (args.add[1] ? argmax[k] : 0);
        }
      }
    });
  });
}

// reads d_output, data, rois, argmax
template <typename T>
void roi_pool_grad(const Args& args) {
  const RoiShape s(args.in[1], args.in[2], args.in[0], args.as<RoiPool>().spatial_scale);
  const T *dy = args.input<T>(0), *rois = args.input<T>(2);
  const int32_t* argmax = args.input<int32_t>(3);
  T* dx = args.output<T>(0);
  const bool add = args.add[0];
  const int64_t plane = s.height * s.width, bins = s.pooled[0] * s.pooled[1];
  parallel_for(args.threads, s.batch * s.channels, [=](int64_t begin, int64_t end) {
    for_gradient_planes(begin, end, s.channels, plane, dx, add,
                        [=](int64_t image, int64_t c0, int64_t c1) {
                          for (int64_t r = 0; r < s.rois; ++r) {
                            if (image_index(rois + r * 5) != image) continue;
                            for (int64_t c = c0; c < c1; ++c) {
                              T* to = dx + (image * s.channels + c) * plane;
                              const int32_t* place = argmax + (r * s.channels + c) * bins;
                              const T* g = dy + (r * s.channels + c) * bins;
                              for (int64_t k = 0; k < bins; ++k)
                                if (place[k] >= 0) to[place[k]] += g[k];
                            }
                          }
                        });
  });
}

}  // namespace
}  // namespace cynet

CYNET_PLAIN_KERNEL(roi_pool, RoiPool, 8, CYNET_FLOATS)
CYNET_PLAIN_KERNEL(roi_pool_grad, RoiPool, 2, CYNET_FLOATS)
