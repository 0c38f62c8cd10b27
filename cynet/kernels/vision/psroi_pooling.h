// PSROIPooling and DeformablePSROIPooling: means of the bins of regions, each bin from a channel of
// its own, and the gradients. Included by psroi_pooling.pyx.
#ifndef CYNET_VISION_PSROI_POOLING_H
#define CYNET_VISION_PSROI_POOLING_H

#include "vision/rois.h"

namespace cynet {

struct PsroiShape {
  int64_t batch, channels, height, width, rois;
  int64_t dim, pooled, group;  // out (rois, dim, pooled, pooled), channels = dim * group * group
  double scale;
  // of the deformable form alone; trans (rois, 2 * classes, part, part), classes 0: none
  int64_t part, samples, classes;
  double trans_std;
};

// The channel that bin (i, j) of output `d` reads.
CYNET_XINLINE int64_t psroi_channel(const PsroiShape& s, int64_t d, int64_t i, int64_t j) {
  const int64_t row = limited(i * s.group / s.pooled, 0, s.group - 1);
  const int64_t column = limited(j * s.group / s.pooled, 0, s.group - 1);
  return (d * s.group + row) * s.group + column;
}

// A region's start and length along y and x.
template <typename T>
struct PsroiRegion {
  T start[2], length[2];

  PsroiRegion(const PsroiShape& s, const T* roi, T shift) {
    const T scale = static_cast<T>(s.scale);
    for (int a = 0; a < 2; ++a) {
      start[a] = std::round(roi[2 - a]) * scale - shift;
      const T end = (std::round(roi[4 - a]) + T(1)) * scale - shift;
      length[a] = std::max(end - start[a], T(.1));
    }
  }

  // Pixels [first, last) of bin i along axis a.
  void pixels(const PsroiShape& s, int a, int64_t i, int64_t size, int64_t* first,
              int64_t* last) const {
    const T each = length[a] / static_cast<T>(s.pooled);
    const T from = static_cast<T>(i) * each + start[a];
    const T to = static_cast<T>(i + 1) * each + start[a];
    *first = limited(static_cast<int64_t>(std::floor(from)), 0, size);
    *last = limited(static_cast<int64_t>(std::ceil(to)), 0, size);
  }
};

// body(i, j, h0, h1, w0, w1) for each bin of a region.
template <typename T, typename Body>
void psroi_bins(const PsroiShape& s, const T* roi, const Body& body) {
  const PsroiRegion<T> region(s, roi, T(0));
  int64_t h0, h1, w0, w1;
  for (int64_t i = 0; i < s.pooled; ++i) {
    region.pixels(s, 0, i, s.height, &h0, &h1);
    for (int64_t j = 0; j < s.pooled; ++j) {
      region.pixels(s, 1, j, s.width, &w0, &w1);
      body(i, j, h0, h1, w0, w1);
    }
  }
}

struct PoolPsroi {
  template <typename T>
  static void run(int threads, const PsroiShape* s, const void* data_, const void* rois_,
                  void* out_, bool add) {
    const T* data = static_cast<const T*>(data_);
    T* out = static_cast<T*>(out_);
    parallel_for(threads, s->rois * s->dim, [=](int64_t begin, int64_t end) {
      by_region(begin, end, s->dim, [=](int64_t r, int64_t d0, int64_t d1) {
        const T* roi = static_cast<const T*>(rois_) + r * 5;
        const int64_t image = image_of(roi), plane = s->height * s->width;
        psroi_bins(*s, roi, [=](int64_t i, int64_t j, int64_t h0, int64_t h1, int64_t w0,
                                int64_t w1) {
          const int64_t area = (h1 - h0) * (w1 - w0);
          for (int64_t d = d0; d < d1; ++d) {
            T total = T(0);
            if (image >= 0 && h1 > h0 && w1 > w0) {
              const T* x = data + (image * s->channels + psroi_channel(*s, d, i, j)) * plane;
              for (int64_t h = h0; h < h1; ++h) {
                T line = T(0);
                for (int64_t w = w0; w < w1; ++w) line += x[h * s->width + w];
                total += line;
              }
              total /= static_cast<T>(area);
            }
            put(out + ((r * s->dim + d) * s->pooled + i) * s->pooled + j, total, add);
          }
        });
      });
    });
  }
};

struct PoolPsroiBackward {
  template <typename T>
  static void run(int threads, const PsroiShape* s, const void* rois_, const void* dy_, void* dx_,
                  bool add) {
    const T* dy = static_cast<const T*>(dy_);
    T* dx = static_cast<T*>(dx_);
    const int64_t plane = s->height * s->width;
    parallel_for(threads, s->batch * s->dim, [=](int64_t begin, int64_t end) {
      by_gradient_planes(begin, end, s->dim, s->group * s->group * plane, dx, add,
                         [=](int64_t image, int64_t d0, int64_t d1) {
        for (int64_t r = 0; r < s->rois; ++r) {
          const T* roi = static_cast<const T*>(rois_) + r * 5;
          if (image_of(roi) != image) continue;
          psroi_bins(*s, roi, [=](int64_t i, int64_t j, int64_t h0, int64_t h1, int64_t w0,
                                  int64_t w1) {
            for (int64_t d = d0; d < d1; ++d) {
              const T g = dy[((r * s->dim + d) * s->pooled + i) * s->pooled + j] /
                          static_cast<T>((h1 - h0) * (w1 - w0));
              T* to = dx + (image * s->channels + psroi_channel(*s, d, i, j)) * plane;
              for (int64_t h = h0; h < h1; ++h)
                for (int64_t w = w0; w < w1; ++w) to[h * s->width + w] += g;
            }
          });
        }
      });
    });
  }
};

// A bin of a region, moved by its class's share of `trans`.
template <typename T>
struct DeformedBin {
  T start[2], step[2];
  int64_t part[2];

  DeformedBin(const PsroiShape& s, const PsroiRegion<T>& region, const T* trans, int64_t r,
              int64_t kind, const int64_t* bin) {
    for (int a = 0; a < 2; ++a) part[a] = bin[a] * s.part / s.pooled;
    for (int a = 0; a < 2; ++a) {
      const T each = region.length[a] / static_cast<T>(s.pooled);
      const T moved = trans ? trans[at(s, r, kind, a)] * static_cast<T>(s.trans_std) : T(0);
      start[a] = static_cast<T>(bin[a]) * each + region.start[a] + moved * region.length[a];
      step[a] = each / static_cast<T>(s.samples);
    }
  }

  // Where trans has the shift along axis a (y, x): x comes first.
  int64_t at(const PsroiShape& s, int64_t r, int64_t kind, int a) const {
    return (((r * s.classes + kind) * 2 + (1 - a)) * s.part + part[0]) * s.part + part[1];
  }

  // The place of sample i along axis a: two neighbours, the weight of the second; false: outside.
  bool sample(int a, int64_t i, int64_t size, int64_t* low, int64_t* high, T* weight) const {
    T at = start[a] + static_cast<T>(i) * step[a];
    if (!(at >= T(-.5)) || at > static_cast<T>(size) - T(.5)) return false;
    at = std::min(std::max(at, T(0)), static_cast<T>(size - 1));
    *low = static_cast<int64_t>(std::floor(at));
    *high = static_cast<int64_t>(std::ceil(at));
    *weight = at - static_cast<T>(*low);
    return true;
  }

  // body(row0, row1, by_y, column0, column1, by_x) for its samples in the data; their number.
  template <typename Body>
  int64_t each_sample(const PsroiShape& s, const Body& body) const {
    int64_t n = 0, y0, y1, x0, x1;
    T by_y, by_x;
    for (int64_t i = 0; i < s.samples; ++i)
      if (sample(0, i, s.height, &y0, &y1, &by_y))
        for (int64_t j = 0; j < s.samples; ++j)
          if (sample(1, j, s.width, &x0, &x1, &by_x)) {
            body(y0 * s.width, y1 * s.width, by_y, x0, x1, by_x);
            ++n;
          }
    return n;
  }
};

struct PoolDeformed {
  template <typename T>
  static void run(int threads, const PsroiShape* s, const void* data_, const void* rois_,
                  const void* trans_, void* out_, bool add) {
    const T* data = static_cast<const T*>(data_);
    const T* trans = static_cast<const T*>(trans_);
    T* out = static_cast<T*>(out_);
    const int64_t plane = s->height * s->width;
    const int64_t of_class = s->dim / std::max<int64_t>(s->classes, 1);
    parallel_for(threads, s->rois * s->dim, [=](int64_t begin, int64_t end) {
      by_region(begin, end, s->dim, [=](int64_t r, int64_t d0, int64_t d1) {
        const T* roi = static_cast<const T*>(rois_) + r * 5;
        const int64_t image = image_of(roi);
        const PsroiRegion<T> region(*s, roi, T(.5));
        for (int64_t k = d0 * s->pooled * s->pooled; k < d1 * s->pooled * s->pooled; ++k) {
          const int64_t d = k / s->pooled / s->pooled;
          const int64_t bin[2] = {k / s->pooled % s->pooled, k % s->pooled};
          T total = T(0);
          int64_t n = 0;
          if (image >= 0) {
            const int64_t channel = psroi_channel(*s, d, bin[0], bin[1]);
            const T* x = data + (image * s->channels + channel) * plane;
            n = DeformedBin<T>(*s, region, trans, r, d / of_class, bin)
                    .each_sample(*s, [&](int64_t r0, int64_t r1, T by_y, int64_t c0, int64_t c1,
                                         T by_x) {
              total += (T(1) - by_y) * (times(T(1) - by_x, x[r0 + c0]) + times(by_x, x[r0 + c1])) +
                       times(by_y, times(T(1) - by_x, x[r1 + c0]) + times(by_x, x[r1 + c1]));
            });
          }
          put(out + r * s->dim * s->pooled * s->pooled + k,
              n ? total / static_cast<T>(n) : T(0), add);
        }
      });
    });
  }
};

struct PoolDeformedData {
  template <typename T>
  static void run(int threads, const PsroiShape* s, const void* rois_, const void* trans_,
                  const void* dy_, void* dx_, bool add) {
    const T* trans = static_cast<const T*>(trans_);
    const T* dy = static_cast<const T*>(dy_);
    T* dx = static_cast<T*>(dx_);
    const int64_t plane = s->height * s->width;
    const int64_t of_class = s->dim / std::max<int64_t>(s->classes, 1);
    const int64_t bins = s->pooled * s->pooled;
    parallel_for(threads, s->batch * s->dim, [=](int64_t begin, int64_t end) {
      by_gradient_planes(begin, end, s->dim, s->group * s->group * plane, dx, add,
                         [=](int64_t image, int64_t d0, int64_t d1) {
        for (int64_t r = 0; r < s->rois; ++r) {
          const T* roi = static_cast<const T*>(rois_) + r * 5;
          if (image_of(roi) != image) continue;
          const PsroiRegion<T> region(*s, roi, T(.5));
          for (int64_t k = d0 * bins; k < d1 * bins; ++k) {
            const int64_t d = k / bins;
            const int64_t bin[2] = {k / s->pooled % s->pooled, k % s->pooled};
            const DeformedBin<T> there(*s, region, trans, r, d / of_class, bin);
            const int64_t n =
                there.each_sample(*s, [](int64_t, int64_t, T, int64_t, int64_t, T) {});
            if (!n) continue;
            const T g = dy[r * s->dim * bins + k] / static_cast<T>(n);
            T* to = dx + (image * s->channels + psroi_channel(*s, d, bin[0], bin[1])) * plane;
            there.each_sample(*s, [&](int64_t r0, int64_t r1, T by_y, int64_t c0, int64_t c1,
                                      T by_x) {
              to[r0 + c0] += g * (T(1) - by_y) * (T(1) - by_x);
              to[r0 + c1] += g * (T(1) - by_y) * by_x;
              to[r1 + c0] += g * by_y * (T(1) - by_x);
              to[r1 + c1] += g * by_y * by_x;
            });
          }
        }
      });
    });
  }
};

struct PoolDeformedTrans {
  template <typename T>
  static void run(int threads, const PsroiShape* s, const void* data_, const void* rois_,
                  const void* trans_, const void* dy_, void* dtrans_, bool add) {
    const T* data = static_cast<const T*>(data_);
    const T* trans = static_cast<const T*>(trans_);
    const T* dy = static_cast<const T*>(dy_);
    T* dtrans = static_cast<T*>(dtrans_);
    const int64_t plane = s->height * s->width, of_class = s->dim / s->classes;
    const int64_t bins = s->pooled * s->pooled, shifts = 2 * s->classes * s->part * s->part;
    parallel_for(threads, s->rois, [=](int64_t begin, int64_t end) {
      if (!add) std::fill(dtrans + begin * shifts, dtrans + end * shifts, T(0));
      for (int64_t r = begin; r < end; ++r) {
        const T* roi = static_cast<const T*>(rois_) + r * 5;
        const int64_t image = image_of(roi);
        if (image < 0) continue;
        const PsroiRegion<T> region(*s, roi, T(.5));
        for (int64_t k = 0; k < s->dim * bins; ++k) {
          const int64_t d = k / bins, kind = d / of_class;
          const int64_t bin[2] = {k / s->pooled % s->pooled, k % s->pooled};
          const DeformedBin<T> there(*s, region, trans, r, kind, bin);
          const T* x = data + (image * s->channels + psroi_channel(*s, d, bin[0], bin[1])) * plane;
          T slope[2] = {T(0), T(0)};
          const int64_t n = there.each_sample(*s, [&](int64_t r0, int64_t r1, T by_y, int64_t c0,
                                                      int64_t c1, T by_x) {
            const T upper = x[r0 + c1] - x[r0 + c0], lower = x[r1 + c1] - x[r1 + c0];
            const T left = x[r1 + c0] - x[r0 + c0], right = x[r1 + c1] - x[r0 + c1];
            slope[0] += left * (T(1) - by_x) + right * by_x;
            slope[1] += upper * (T(1) - by_y) + lower * by_y;
          });
          if (!n) continue;
          const T g = dy[r * s->dim * bins + k] / static_cast<T>(n) * static_cast<T>(s->trans_std);
          for (int a = 0; a < 2; ++a)
            dtrans[there.at(*s, r, kind, a)] += g * slope[a] * region.length[a];
        }
      }
    });
  }
};

inline void psroi_pool_all(int threads, int dtype, const PsroiShape* s, const void* data,
                           const void* rois, void* out, bool add) {
  by_float<PoolPsroi>(dtype, threads, s, data, rois, out, add);
}
inline void psroi_pool_backward_all(int threads, int dtype, const PsroiShape* s, const void* rois,
                                    const void* dy, void* dx, bool add) {
  by_float<PoolPsroiBackward>(dtype, threads, s, rois, dy, dx, add);
}
inline void deformed_pool_all(int threads, int dtype, const PsroiShape* s, const void* data,
                              const void* rois, const void* trans, void* out, bool add) {
  by_float<PoolDeformed>(dtype, threads, s, data, rois, trans, out, add);
}
inline void deformed_pool_data_all(int threads, int dtype, const PsroiShape* s, const void* rois,
                                   const void* trans, const void* dy, void* dx, bool add) {
  by_float<PoolDeformedData>(dtype, threads, s, rois, trans, dy, dx, add);
}
inline void deformed_pool_trans_all(int threads, int dtype, const PsroiShape* s, const void* data,
                                    const void* rois, const void* trans, const void* dy,
                                    void* dtrans, bool add) {
  by_float<PoolDeformedTrans>(dtype, threads, s, data, rois, trans, dy, dtrans, add);
}

}  // namespace cynet

#endif
