// RROIAlign: means of bilinear samples in the bins of rotated regions, and the gradient.
#include "vision/rois.h"

namespace cynet {
namespace {

// `sampling_ratio`: samples of a bin along an axis; below 1: as many as it has pixels
#define ROTATED_ROI_FIELDS(field) field(double, spatial_scale) field(int64_t, sampling_ratio)
CYNET_PARAMS(RotatedRoiParams, ROTATED_ROI_FIELDS)

// A block of samples: four neighbours each, and their weights.
template <typename T>
struct SampleBlock {  // some samples and weights
  int32_t at[4][POINTS];
  T weight[4][POINTS];
  int64_t n;

  T mean(const T* plane, T count) const {  // of weighted samples
    T total = T(0);
    for (int64_t i = 0; i < n; ++i)
      total += weight[0][i] * plane[at[0][i]] + weight[1][i] * plane[at[1][i]] +
               weight[2][i] * plane[at[2][i]] + weight[3][i] * plane[at[3][i]];
    return total / count;
  }
  void add_gradient(T* plane, T g) const {  // g to all samples' neighbours
    for (int64_t i = 0; i < n; ++i)
      for (int k = 0; k < 4; ++k) plane[at[k][i]] += weight[k][i] * g;
  }
};

// A rotated region (image, x, y, width, height, degrees), which maps its axes to the plane's.
template <typename T>
struct RotatedRoi {  // geometry of one region
  T middle[2], length[2], each[2], sine, cosine;  // y, then x
  int64_t samples[2];
  T count;

  RotatedRoi(const RoiShape& s, int64_t ratio, const T* roi) {
    const T scale = static_cast<T>(s.scale);
    const T angle = roi[5] * static_cast<T>(3.14159265358979323846) / T(180);
    sine = std::sin(angle), cosine = std::cos(angle);
    for (int a = 0; a < 2; ++a) {
      middle[a] = roi[2 - a] * scale;
      length[a] = std::max(roi[4 - a] * scale, T(1));
      each[a] = length[a] / static_cast<T>(s.pooled[a]);
      samples[a] = ratio > 0 ? ratio : static_cast<int64_t>(std::ceil(each[a]));
      if (samples[a] < 1) samples[a] = 1;
    }
    count = static_cast<T>(samples[0]) * static_cast<T>(samples[1]);
  }

  // The samples [*first, *last) along axis a of a bin from `from` on that may lie in the data.
  void sample_range(const RoiShape& s, int a, T from, int64_t* first, int64_t* last) const {
    double low = 0, high = 0;
    for (int corner = 0; corner < 4; ++corner) {
      const double y = (corner & 1 ? static_cast<double>(s.height) : -1.0) - middle[0];
      const double x = (corner & 2 ? static_cast<double>(s.width) : -1.0) - middle[1];
      const double at = a ? x * cosine - y * sine : y * cosine + x * sine;
      low = corner ? std::min(low, at) : at;
      high = corner ? std::max(high, at) : at;
    }
    const double step = static_cast<double>(each[a]) / static_cast<double>(samples[a]);
    const double n = static_cast<double>(samples[a]);
    const double slack = 2 + 1e-5 * (std::fabs(low) + std::fabs(high) + length[a]) / step;
    *first = static_cast<int64_t>(std::min(std::max((low - from) / step - slack, 0.0), n));
    *last = static_cast<int64_t>(std::min(std::max((high - from) / step + slack, 0.0), n));
  }

  // Calls body(samples, count) for blocks of the samples of bin (i, j) that lie in the data.
  template <typename Body>
  void for_bin_samples(const RoiShape& s, int64_t i, int64_t j, const Body& body) const {
    SampleBlock<T> block;
    block.n = 0;
    const T y0 = static_cast<T>(i) * each[0] - length[0] / T(2);
    const T x0 = static_cast<T>(j) * each[1] - length[1] / T(2);
    int64_t first[2], last[2], low[2], high[2];
    if (samples[0] <= 8 && samples[1] <= 8) {  // few samples: no need to select those in the data
      first[0] = first[1] = 0;
      last[0] = samples[0], last[1] = samples[1];
    } else {
      sample_range(s, 0, y0, first, last);
      sample_range(s, 1, x0, first + 1, last + 1);
    }
    for (int64_t iy = first[0]; iy < last[0]; ++iy)
      for (int64_t ix = first[1]; ix < last[1]; ++ix) {
        const T yy = y0 + (static_cast<T>(iy) + T(.5)) * each[0] / static_cast<T>(samples[0]);
        const T xx = x0 + (static_cast<T>(ix) + T(.5)) * each[1] / static_cast<T>(samples[1]);
        T part[2];
        if (!find_neighbors(yy * cosine - xx * sine + middle[0], s.height, low, high, part) ||
            !find_neighbors(yy * sine + xx * cosine + middle[1], s.width, low + 1, high + 1,
                            part + 1))
          continue;
        for (int k = 0; k < 4; ++k) {
          const int64_t row = k & 2 ? high[0] : low[0], column = k & 1 ? high[1] : low[1];
          block.at[k][block.n] = static_cast<int32_t>(row * s.width + column);
          block.weight[k][block.n] =
              (k & 2 ? part[0] : T(1) - part[0]) * (k & 1 ? part[1] : T(1) - part[1]);
        }
        if (++block.n == POINTS) {
          body(block);
          block.n = 0;
        }
      }
    if (block.n) body(block);
  }
};

// reads data, rois
template <typename T>
void rotated_roi_align(const Args& args) {
  const RotatedRoiParams& p = args.as<RotatedRoiParams>();
  const RoiShape s(args.in[0], args.in[1], args.out[0], p.spatial_scale);
  const T *data = args.input<T>(0), *rois = args.input<T>(1);
  T* out = args.output<T>(0);
  if (!check_rois<T>(args, args.in[1], s.scale, s.batch)) return;
  const int64_t plane = s.height * s.width, bins = s.pooled[0] * s.pooled[1];
  parallel_for(args.threads, s.rois * s.channels, [&](int64_t begin, int64_t end) {
    if (!args.add[0]) std::fill(out + begin * bins, out + end * bins, T(0));
    for_images(begin, end, s.channels, [&](int64_t r, int64_t c0, int64_t c1) {
      const int64_t image = image_index(rois + r * 6);
      if (image < 0) return;
      const RotatedRoi<T> region(s, p.sampling_ratio, rois + r * 6);
      for (int64_t k = 0; k < bins; ++k)
        region.for_bin_samples(
            s, k / s.pooled[1], k % s.pooled[1], [&](const SampleBlock<T>& samples) {
              for (int64_t c = c0; c < c1; ++c)
                out[(r * s.channels + c) * bins + k] +=
                    samples.mean(data + (image * s.channels + c) * plane, region.count);
            });
    });
  });
}

// reads d_output, rois
template <typename T>
void rotated_roi_align_grad(const Args& args) {
  const RotatedRoiParams& p = args.as<RotatedRoiParams>();
  const RoiShape s(args.out[0], args.in[1], args.in[0], p.spatial_scale);
  const T *dy = args.input<T>(0), *rois = args.input<T>(1);
  T* dx = args.output<T>(0);
  if (!check_rois<T>(args, args.in[1], s.scale, s.batch)) return;
  const int64_t plane = s.height * s.width, bins = s.pooled[0] * s.pooled[1];
  parallel_for(args.threads, s.batch * s.channels, [&](int64_t begin, int64_t end) {
    for_gradient_planes(
        begin, end, s.channels, plane, dx, args.add[0], [&](int64_t image, int64_t c0, int64_t c1) {
          for (int64_t r = 0; r < s.rois; ++r) {
            if (image_index(rois + r * 6) != image) continue;
            const RotatedRoi<T> region(s, p.sampling_ratio, rois + r * 6);
            for (int64_t k = 0; k < bins; ++k)
              region.for_bin_samples(
                  s, k / s.pooled[1], k % s.pooled[1], [&](const SampleBlock<T>& samples) {
                    for (int64_t c = c0; c < c1; ++c)
                      samples.add_gradient(dx + (image * s.channels + c) * plane,
                                           dy[(r * s.channels + c) * bins + k] / region.count);
                  });
          }
        });
  });
}

}  // namespace
}  // namespace cynet

CYNET_PLAIN_KERNEL(rotated_roi_align, RotatedRoiParams, 8, CYNET_FLOATS)
CYNET_PLAIN_KERNEL(rotated_roi_align_grad, RotatedRoiParams, 8, CYNET_FLOATS)
