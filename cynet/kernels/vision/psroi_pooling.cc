// PSROIPooling and DeformablePSROIPooling: means over the bins of regions, each bin from its own
// channel, and the gradients.
#include "vision/rois.h"

namespace cynet {
namespace {

// group_size 0 means the output's size
#define PSROI_FIELDS(field) field(double, spatial_scale) field(int64_t, group_size)
CYNET_PARAMS(Psroi, PSROI_FIELDS)
#define DEFORMED_PSROI_FIELDS(field) \
  PSROI_FIELDS(field)                \
  field(int64_t, part_size) field(int64_t, sample_per_part) field(double, trans_std)
CYNET_PARAMS(DeformedPsroi, DEFORMED_PSROI_FIELDS)

struct PsroiShape : RoiShape {  // sizes of position-sensitive pooling
  int64_t dim, pooled, group;  // out (rois, dim, pooled, pooled), channels = dim * group * group
  // sizes of the deformable form alone; trans (rois, 2 * classes, part, part), 0 classes: no trans
  int64_t part = 0, samples = 0, classes = 0;
  double trans_std = 0;
  template <class P>
  PsroiShape(const P& p, const Blob* data, const Blob* rois, const Blob* out)
      : RoiShape(data, rois, out, p.spatial_scale),
        dim(out->shape[1]),
        pooled(out->shape[2]),
        group(p.group_size ? p.group_size : pooled) {}
  PsroiShape(const DeformedPsroi& p, const Blob* data, const Blob* rois, const Blob* trans,
             const Blob* out)
      : PsroiShape(p, data, rois, out) {
    part = p.part_size ? p.part_size : pooled;
    samples = p.sample_per_part, trans_std = p.trans_std;
    classes = trans ? trans->shape[1] / 2 : 0;
  }
};

// The channel that bin (i, j) of output `d` reads.
CYNET_XINLINE int64_t psroi_channel(const PsroiShape& s, int64_t d, int64_t i, int64_t j) {
  const int64_t row = clamped(i * s.group / s.pooled, 0, s.group - 1);
  const int64_t column = clamped(j * s.group / s.pooled, 0, s.group - 1);
  return (d * s.group + row) * s.group + column;
}

// A region's start and length along y and x.
template <typename T>
struct PsroiRegion {  // a region's start and length along y and x
  T start[2], length[2];

  PsroiRegion(const PsroiShape& s, const T* roi, T shift) {
    const T scale = static_cast<T>(s.scale);
    for (int a = 0; a < 2; ++a) {
      start[a] = std::round(roi[2 - a]) * scale - shift;
      const T end = (std::round(roi[4 - a]) + T(1)) * scale - shift;
      length[a] = std::max(end - start[a], T(.1));
    }
  }

  // The pixels [first, last) of bin i along axis a.
  void pixel_range(const PsroiShape& s, int a, int64_t i, int64_t size, int64_t* first,
                   int64_t* last) const {
    const T each = length[a] / static_cast<T>(s.pooled);
    const T from = static_cast<T>(i) * each + start[a];
    const T to = static_cast<T>(i + 1) * each + start[a];
    *first = clamped(static_cast<int64_t>(std::floor(from)), 0, size);
    *last = clamped(static_cast<int64_t>(std::ceil(to)), 0, size);
  }
};

// Calls body(i, j, h0, h1, w0, w1) for each bin of a region.
template <typename T, typename Body>
void for_psroi_bins(const PsroiShape& s, const T* roi, const Body& body) {
  const PsroiRegion<T> region(s, roi, T(0));
  int64_t h0, h1, w0, w1;
  for (int64_t i = 0; i < s.pooled; ++i) {
    region.pixel_range(s, 0, i, s.height, &h0, &h1);
    for (int64_t j = 0; j < s.pooled; ++j) {
      region.pixel_range(s, 1, j, s.width, &w0, &w1);
      body(i, j, h0, h1, w0, w1);
    }
  }
}

// reads data, rois
template <typename T>
void psroi_pool(const Args& args) {
  const PsroiShape s(args.as<Psroi>(), args.in[0], args.in[1], args.out[0]);
  const T *data = args.input<T>(0), *rois = args.input<T>(1);
  T* out = args.output<T>(0);
  if (!check_rois<T>(args, args.in[1], s.scale, s.batch)) return;
  parallel_for(args.threads, s.rois * s.dim, [&](int64_t begin, int64_t end) {
    for_images(begin, end, s.dim, [&](int64_t r, int64_t d0, int64_t d1) {
      const int64_t image = image_index(rois + r * 5), plane = s.height * s.width;
      const int64_t each = s.group * s.group * plane;
      for_psroi_bins(s, rois + r * 5,
                     [&](int64_t i, int64_t j, int64_t h0, int64_t h1, int64_t w0, int64_t w1) {
                       const int64_t area = (h1 - h0) * (w1 - w0);
                       const T* x =
                           data + (image * s.channels + psroi_channel(s, d0, i, j)) * plane;
                       for (int64_t d = d0; d < d1; ++d, x += each) {
                         T total = T(0);
                         if (image >= 0 && area > 0) {
                           for (int64_t h = h0; h < h1; ++h) {
                             T line = T(0);
                             for (int64_t w = w0; w < w1; ++w) line += x[h * s.width + w];
                             total += line;
                           }
                           total /= static_cast<T>(area);
                         }
                         write_or_add(out + ((r * s.dim + d) * s.pooled + i) * s.pooled + j, total,
                                      args.add[0]);
                       }
                     });
    });
  });
}

// reads d_output, rois
template <typename T>
void psroi_pool_grad(const Args& args) {
  const PsroiShape s(args.as<Psroi>(), args.out[0], args.in[1], args.in[0]);
  const T *dy = args.input<T>(0), *rois = args.input<T>(1);
  T* dx = args.output<T>(0);
  if (!check_rois<T>(args, args.in[1], s.scale, s.batch)) return;
  const int64_t plane = s.height * s.width, each = s.group * s.group * plane;
  parallel_for(args.threads, s.batch * s.dim, [&](int64_t begin, int64_t end) {
    for_gradient_planes(
        begin, end, s.dim, each, dx, args.add[0], [&](int64_t image, int64_t d0, int64_t d1) {
          for (int64_t r = 0; r < s.rois; ++r) {
            if (image_index(rois + r * 5) != image) continue;
            for_psroi_bins(
                s, rois + r * 5,
                [&](int64_t i, int64_t j, int64_t h0, int64_t h1, int64_t w0, int64_t w1) {
                  const T area = static_cast<T>((h1 - h0) * (w1 - w0));
                  T* to = dx + (image * s.channels + psroi_channel(s, d0, i, j)) * plane;
                  for (int64_t d = d0; d < d1; ++d, to += each) {
                    const T g = dy[((r * s.dim + d) * s.pooled + i) * s.pooled + j] / area;
                    for (int64_t h = h0; h < h1; ++h)
                      for (int64_t w = w0; w < w1; ++w) to[h * s.width + w] += g;
                  }
                });
          }
        });
  });
}

// A bin of a region, shifted by its class's entry in `trans`.
template <typename T>
struct DeformedBin {  // bin of a shifted region
  T start[2], step[2];
  int64_t part[2];

  DeformedBin(const PsroiShape& s, const PsroiRegion<T>& region, const T* trans, int64_t r,
              int64_t kind, const int64_t* bin) {
    for (int a = 0; a < 2; ++a) part[a] = bin[a] * s.part / s.pooled;
    for (int a = 0; a < 2; ++a) {
      const T each = region.length[a] / static_cast<T>(s.pooled);
      const T moved =
          trans ? trans[shift_index_in_trans(s, r, kind, a)] * static_cast<T>(s.trans_std) : T(0);
      start[a] = static_cast<T>(bin[a]) * each + region.start[a] + moved * region.length[a];
      step[a] = each / static_cast<T>(s.samples);
    }
  }

  // The index in trans of the shift along axis a (y, x): x comes first.
  int64_t shift_index_in_trans(const PsroiShape& s, int64_t r, int64_t kind, int a) const {
    return (((r * s.classes + kind) * 2 + (1 - a)) * s.part + part[0]) * s.part + part[1];
  }

  // Locates sample i along axis a: two neighbours and the weight of the second; false if outside.
  bool locate_sample(int a, int64_t i, int64_t size, int64_t* low, int64_t* high, T* weight) const {
    T at = start[a] + static_cast<T>(i) * step[a];
    if (!(at >= T(-.5)) || at > static_cast<T>(size) - T(.5)) return false;
    at = std::min(std::max(at, T(0)), static_cast<T>(size - 1));
    *low = static_cast<int64_t>(std::floor(at));
    *high = static_cast<int64_t>(std::ceil(at));
    *weight = at - static_cast<T>(*low);
    return true;
  }

  // Calls body(row0, row1, by_y, column0, column1, by_x) for samples in the data; returns the
  // count.
  template <typename Body>
  int64_t for_samples(const PsroiShape& s, const Body& body) const {
    int64_t n = 0, y0, y1, x0, x1;
    T by_y, by_x;
    for (int64_t i = 0; i < s.samples; ++i)
      if (locate_sample(0, i, s.height, &y0, &y1, &by_y))
        for (int64_t j = 0; j < s.samples; ++j)
          if (locate_sample(1, j, s.width, &x0, &x1, &by_x)) {
            body(y0 * s.width, y1 * s.width, by_y, x0, x1, by_x);
            ++n;
          }
    return n;
  }
};

// reads data, rois, trans
template <typename T>
void deformed_psroi_pool(const Args& args) {
  const PsroiShape s(args.as<DeformedPsroi>(), args.in[0], args.in[1], args.in[2], args.out[0]);
  const T *data = args.input<T>(0), *rois = args.input<T>(1), *trans = args.input<T>(2);
  T* out = args.output<T>(0);
  if (!check_rois<T>(args, args.in[1], s.scale, s.batch)) return;
  const int64_t plane = s.height * s.width, bins = s.pooled * s.pooled;
  const int64_t of_class = s.dim / std::max<int64_t>(s.classes, 1);
  parallel_for(args.threads, s.rois * s.dim, [&](int64_t begin, int64_t end) {
    for_images(begin, end, s.dim, [&](int64_t r, int64_t d0, int64_t d1) {
      const int64_t image = image_index(rois + r * 5);
      const PsroiRegion<T> region(s, rois + r * 5, T(.5));
      for (int64_t k = d0 * bins; k < d1 * bins; ++k) {
        const int64_t d = k / bins;
        const int64_t bin[2] = {k / s.pooled % s.pooled, k % s.pooled};
        T total = T(0);
        int64_t n = 0;
        if (image >= 0) {
          const T* x = data + (image * s.channels + psroi_channel(s, d, bin[0], bin[1])) * plane;
          n = DeformedBin<T>(s, region, trans, r, d / of_class, bin)
                  .for_samples(s, [&](int64_t r0, int64_t r1, T by_y, int64_t c0, int64_t c1,
                                      T by_x) {
                    total +=
                        (T(1) - by_y) * (weigh(T(1) - by_x, x[r0 + c0]) + weigh(by_x, x[r0 + c1])) +
                        weigh(by_y, weigh(T(1) - by_x, x[r1 + c0]) + weigh(by_x, x[r1 + c1]));
                  });
        }
        write_or_add(out + r * s.dim * bins + k, n ? total / static_cast<T>(n) : T(0), args.add[0]);
      }
    });
  });
}

template <typename T>
void deformed_data_gradient(const Args& args, const PsroiShape& s) {
  const T *dy = args.input<T>(0), *rois = args.input<T>(2), *trans = args.input<T>(3);
  T* dx = args.output<T>(0);
  const int64_t plane = s.height * s.width, bins = s.pooled * s.pooled;
  const int64_t of_class = s.dim / std::max<int64_t>(s.classes, 1);
  parallel_for(args.threads, s.batch * s.dim, [&](int64_t begin, int64_t end) {
    for_gradient_planes(
        begin, end, s.dim, s.group * s.group * plane, dx, args.add[0],
        [&](int64_t image, int64_t d0, int64_t d1) {
          for (int64_t r = 0; r < s.rois; ++r) {
            if (image_index(rois + r * 5) != image) continue;
            const PsroiRegion<T> region(s, rois + r * 5, T(.5));
            for (int64_t k = d0 * bins; k < d1 * bins; ++k) {
              const int64_t d = k / bins;
              const int64_t bin[2] = {k / s.pooled % s.pooled, k % s.pooled};
              const DeformedBin<T> there(s, region, trans, r, d / of_class, bin);
              const int64_t n =
                  there.for_samples(s, [](int64_t, int64_t, T, int64_t, int64_t, T) {});
              if (!n) continue;
              const T g = dy[r * s.dim * bins + k] / static_cast<T>(n);
              T* to = dx + (image * s.channels + psroi_channel(s, d, bin[0], bin[1])) * plane;
              there.for_samples(
                  s, [&](int64_t r0, int64_t r1, T by_y, int64_t c0, int64_t c1, T by_x) {
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

template <typename T>
void deformed_trans_gradient(const Args& args, const PsroiShape& s) {
  const T *dy = args.input<T>(0), *data = args.input<T>(1), *rois = args.input<T>(2);
  const T* trans = args.input<T>(3);
  T* dtrans = args.output<T>(1);
  const int64_t plane = s.height * s.width, of_class = s.dim / s.classes;
  const int64_t bins = s.pooled * s.pooled, shifts = 2 * s.classes * s.part * s.part;
  parallel_for(args.threads, s.rois, [&](int64_t begin, int64_t end) {
    if (!args.add[1]) std::fill(dtrans + begin * shifts, dtrans + end * shifts, T(0));
    for (int64_t r = begin; r < end; ++r) {
      const int64_t image = image_index(rois + r * 5);
      if (image < 0) continue;
      const PsroiRegion<T> region(s, rois + r * 5, T(.5));
      for (int64_t k = 0; k < s.dim * bins; ++k) {
        const int64_t d = k / bins, kind = d / of_class;
        const int64_t bin[2] = {k / s.pooled % s.pooled, k % s.pooled};
        const DeformedBin<T> there(s, region, trans, r, kind, bin);
        const T* x = data + (image * s.channels + psroi_channel(s, d, bin[0], bin[1])) * plane;
        T slope[2] = {T(0), T(0)};
        const int64_t n = there.for_samples(
            s, [&](int64_t r0, int64_t r1, T by_y, int64_t c0, int64_t c1, T by_x) {
              const T upper = x[r0 + c1] - x[r0 + c0], lower = x[r1 + c1] - x[r1 + c0];
              const T left = x[r1 + c0] - x[r0 + c0], right = x[r1 + c1] - x[r0 + c1];
              slope[0] += left * (T(1) - by_x) + right * by_x;
              slope[1] += upper * (T(1) - by_y) + lower * by_y;
            });
        if (!n) continue;
        const T g = dy[r * s.dim * bins + k] / static_cast<T>(n) * static_cast<T>(s.trans_std);
        for (int a = 0; a < 2; ++a)
          dtrans[there.shift_index_in_trans(s, r, kind, a)] += g * slope[a] * region.length[a];
      }
    }
  });
}

// reads d_output, data, rois, trans; writes d_data, d_trans
template <typename T>
void deformed_psroi_pool_grad(const Args& args) {
  const PsroiShape s(args.as<DeformedPsroi>(), args.in[1], args.in[2], args.in[3], args.in[0]);
  if (!check_rois<T>(args, args.in[2], s.scale, s.batch)) return;
  if (args.wanted[0]) deformed_data_gradient<T>(args, s);
  if (args.wanted[1]) deformed_trans_gradient<T>(args, s);
}

}  // namespace
}  // namespace cynet

// a bin costs some tens of operations
CYNET_PLAIN_KERNEL(psroi_pool, Psroi, 8, CYNET_FLOATS)
CYNET_PLAIN_KERNEL(psroi_pool_grad, Psroi, 8, CYNET_FLOATS)
CYNET_PLAIN_KERNEL(deformed_psroi_pool, DeformedPsroi, 8, CYNET_FLOATS)
CYNET_PLAIN_KERNEL(deformed_psroi_pool_grad, DeformedPsroi, 8, CYNET_FLOATS)
