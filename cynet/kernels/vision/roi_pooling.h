// ROIPooling: maxima of the bins of regions, and the gradient. Included by roi_pooling.pyx.
#ifndef CYNET_VISION_ROI_POOLING_H
#define CYNET_VISION_ROI_POOLING_H

#include "vision/rois.h"

namespace cynet {

struct RoiPoolShape {
  int64_t batch, channels, height, width, rois, pooled[2];
  double scale;
};

// Bin `i` of `n` along an axis from pixel `start` to `end`: [*first, *last) of `size`.
template <typename T>
CYNET_XINLINE void roi_bin(T start, T end, int64_t i, int64_t n, int64_t size, int64_t* first,
                           int64_t* last) {
  const T length = end - start + T(1) < T(1) ? T(1) : end - start + T(1);
  const T each = length / static_cast<T>(n);
  const int64_t from = static_cast<int64_t>(start);
  *first = limited(static_cast<int64_t>(std::floor(static_cast<T>(i) * each)) + from, 0, size);
  *last = limited(static_cast<int64_t>(std::ceil(static_cast<T>(i + 1) * each)) + from, 0, size);
}

// y (+)= the maxima; `places`, where they are in their plane, -1 of an empty bin, which gives 0
struct RoiPool {
  template <typename T>
  static void run(int threads, const RoiPoolShape* s, const void* data_, const void* rois_,
                  void* out_, int32_t* places, bool write, bool add, bool add_places) {
    const T* data = static_cast<const T*>(data_);
    T* out = static_cast<T*>(out_);
    const T scale = static_cast<T>(s->scale);
    const int64_t plane = s->height * s->width, bins = s->pooled[0] * s->pooled[1];
    parallel_for(threads, s->rois * s->channels, [=](int64_t begin, int64_t end) {
      by_region(begin, end, s->channels, [=](int64_t r, int64_t c0, int64_t c1) {
        const T* roi = static_cast<const T*>(rois_) + r * 5;
        const int64_t image = image_of(roi);
        T at[4];
        for (int i = 0; i < 4; ++i) at[i] = std::round(roi[1 + i] * scale);
        for (int64_t bin = 0; bin < bins; ++bin) {
          int64_t h0 = 0, h1 = 0, w0 = 0, w1 = 0;
          if (image >= 0) {
            roi_bin(at[1], at[3], bin / s->pooled[1], s->pooled[0], s->height, &h0, &h1);
            roi_bin(at[0], at[2], bin % s->pooled[1], s->pooled[1], s->width, &w0, &w1);
          }
          for (int64_t c = c0; c < c1; ++c) {
            const T* x = data + (image * s->channels + c) * plane;
            int64_t best = -1;
            T most = T(0);
            for (int64_t h = h0; h < h1; ++h)
              for (int64_t w = w0; w < w1; ++w) {
                const T value = x[h * s->width + w];
                if (best < 0 || value > most || (value != value && most == most)) {
                  most = value;
                  best = h * s->width + w;
                }
              }
            const int64_t k = (r * s->channels + c) * bins + bin;
            if (write) put(out + k, most, add);
            if (places) places[k] = static_cast<int32_t>(best) + (add_places ? places[k] : 0);
          }
        }
      });
    });
  }
};

struct RoiPoolBackward {
  template <typename T>
  static void run(int threads, const RoiPoolShape* s, const void* rois_, const int32_t* places,
                  const void* dy_, void* dx_, bool add) {
    const T* dy = static_cast<const T*>(dy_);
    T* dx = static_cast<T*>(dx_);
    const int64_t plane = s->height * s->width, bins = s->pooled[0] * s->pooled[1];
    parallel_for(threads, s->batch * s->channels, [=](int64_t begin, int64_t end) {
      by_gradient_planes(begin, end, s->channels, plane, dx, add,
                         [=](int64_t image, int64_t c0, int64_t c1) {
        for (int64_t r = 0; r < s->rois; ++r) {
          if (image_of(static_cast<const T*>(rois_) + r * 5) != image) continue;
          for (int64_t c = c0; c < c1; ++c) {
            T* to = dx + (image * s->channels + c) * plane;
            const int64_t first = (r * s->channels + c) * bins;
            for (int64_t k = first; k < first + bins; ++k)
              if (places[k] >= 0) to[places[k]] += dy[k];
          }
        }
      });
    });
  }
};

inline void roi_pool_all(int threads, int dtype, const RoiPoolShape* s, const void* data,
                         const void* rois, void* out, int32_t* places, bool write, bool add,
                         bool add_places) {
  by_float<RoiPool>(dtype, threads, s, data, rois, out, places, write, add, add_places);
}
inline void roi_pool_backward_all(int threads, int dtype, const RoiPoolShape* s, const void* rois,
                                  const int32_t* places, const void* dy, void* dx, bool add) {
  by_float<RoiPoolBackward>(dtype, threads, s, rois, places, dy, dx, add);
}

}  // namespace cynet

#endif
