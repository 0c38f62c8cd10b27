// ROIAlign: means of bilinear samples in the bins of regions, and the gradient.
//
// Samples form a grid, so a bin's mean is a weighted sum over rows of weighted sums over columns; a
// bin's weights along each axis are computed once for a region.
#ifndef CYNET_LANES
#include "vision/rois.h"

namespace cynet {
namespace {

// `sample_ratio`: samples of a bin along an axis; below 1: as many as it has pixels. `aligned`:
// pixels have their centre at their place plus a half. `position_sensitive`: bins have own
// channels.
#define ROI_ALIGN_FIELDS(field)                                                  \
  field(double, spatial_scale) field(int64_t, sample_ratio) field(bool, aligned) \
      field(bool, position_sensitive)
CYNET_PARAMS(RoiAlign, ROI_ALIGN_FIELDS)

struct RoiAlignShape : RoiShape {  // sizes and options of RoiAlign
  int64_t ratio;
  bool aligned, position_sensitive;
  RoiAlignShape(const Args& args, const Blob* data, const Blob* rois, const Blob* out)
      : RoiShape(data, rois, out, args.as<RoiAlign>().spatial_scale),
        ratio(args.as<RoiAlign>().sample_ratio),
        aligned(args.as<RoiAlign>().aligned),
        position_sensitive(args.as<RoiAlign>().position_sensitive) {}
};

// The weights of bins along one axis: bin i reads [first[i], last[i]) of `size`, with
// weight[i * size + place].
template <typename T>
struct BinWeights {  // weights along one axis
  int64_t* first;
  int64_t* last;
  T* weight;
};

// A region's bins along both axes, and a row of sums for each of its rows of bins.
template <typename T>
struct RegionScratch {  // weights and sums of one region
  BinWeights<T> y, x;
  T* sums;

  static int64_t bytes(const RoiAlignShape& s) {  // that a region's scratch takes
    const int64_t numbers = s.pooled[0] * s.height + s.pooled[1] * s.width + s.pooled[0] * s.width;
    const int64_t n = numbers * int64_t(sizeof(T)) + 16 * (s.pooled[0] + s.pooled[1]) + 64;
    return (n + 63) / 64 * 64;
  }

  RegionScratch(const RoiAlignShape& s, char* at) {
    int64_t* ranges = reinterpret_cast<int64_t*>(at);
    y.first = ranges, y.last = ranges + s.pooled[0];
    x.first = y.last + s.pooled[0], x.last = x.first + s.pooled[1];
    y.weight = reinterpret_cast<T*>(x.last + s.pooled[1]);
    x.weight = y.weight + s.pooled[0] * s.height;
    sums = x.weight + s.pooled[1] * s.width;
  }
};

inline int64_t region_scratch_bytes(const RoiAlignShape& s, int dtype) {
  return dtype == F64 ? RegionScratch<double>::bytes(s) : RegionScratch<float>::bytes(s);
}
inline int64_t roi_align_workspace_bytes(const Args& args) {
  const RoiAlignShape s(args, args.in[0], args.in[1], args.out[0]);
  return args.threads * region_scratch_bytes(s, args.in[0]->dtype);
}
inline int64_t roi_align_grad_workspace_bytes(const Args& args) {
  const RoiAlignShape s(args, args.out[0], args.in[1], args.in[0]);
  return args.threads * region_scratch_bytes(s, args.in[0]->dtype);
}

// Like check_rois; `aligned` regions must also have a positive width and height.
template <typename T>
bool check_aligned_rois(const Args& args, const RoiAlignShape& s, const Blob* rois) {
  if (!check_rois<T>(args, rois, s.scale, s.batch)) return false;
  const T* roi = static_cast<const T*>(rois->data);
  for (int64_t r = 0; s.aligned && r < s.rois; ++r, roi += 5)
    if (roi[0] > T(-1) && (!(roi[3] > roi[1]) || !(roi[4] > roi[2])))
      return report_bad_roi(args, r, ROI_EMPTY, roi, 5, s.batch);
  return true;
}

}  // namespace
}  // namespace cynet

#define CYNET_PER_ISA_FILE "vision/roi_align.cc"
#include "isa/for_each_isa.h"

// a bin costs some tens of operations per channel
CYNET_SPACE_KERNEL(roi_align, RoiAlign, 8, roi_align_workspace_bytes, CYNET_FLOATS)
CYNET_SPACE_KERNEL(roi_align_grad, RoiAlign, 8, roi_align_grad_workspace_bytes, CYNET_FLOATS)
#else
namespace {

// Computes the weights of `bins` bins of length `each` from `start` on, of `samples` samples each.
template <typename T>
CYNET_XINLINE void compute_bin_weights(T start, T each, int64_t samples, int64_t bins, int64_t size,
                                       BinWeights<T>* to) {
  const T step = each / static_cast<T>(samples);
  for (int64_t b = 0; b < bins; ++b) {
    const T from = start + static_cast<T>(b) * each;
    T* weight = to->weight + b * size;
    // samples far outside the data are skipped
    const double before = std::floor((-1.0 - from) / step - 0.5) - 1;
    const double behind = std::ceil((static_cast<double>(size) - from) / step - 0.5) + 1;
    const int64_t i0 = before > 0 ? (before < samples ? static_cast<int64_t>(before) : samples) : 0;
    const int64_t i1 = behind < samples ? (behind > 0 ? static_cast<int64_t>(behind) : 0) : samples;
    int64_t first = size, last = 0, low, high;
    T part;
    for (int64_t i = i0; i < i1; ++i) {
      if (!find_neighbors(from + (static_cast<T>(i) + T(.5)) * each / static_cast<T>(samples), size,
                          &low, &high, &part))
        continue;
      if (first > last) first = last = low;
      while (last <= high) weight[last++] = T(0);
      weight[low] += T(1) - part;
      weight[high] += part;
    }
    to->first[b] = first > last ? 0 : first;
    to->last[b] = first > last ? 0 : last;
  }
}

// Computes the weights of a region; returns the number of samples of a bin.
template <typename T>
CYNET_XINLINE T compute_region_weights(const RoiAlignShape& s, const T* roi,
                                       RegionScratch<T>* space) {
  const T scale = static_cast<T>(s.scale), shift = s.aligned ? T(.5) : T(0);
  T start[2], length[2];
  int64_t samples[2];
  for (int a = 0; a < 2; ++a) {  // y, then x
    start[a] = roi[2 - a] * scale - shift;
    length[a] = roi[4 - a] * scale - shift - start[a];
    if (!s.aligned && length[a] < T(1)) length[a] = T(1);
    const T each = length[a] / static_cast<T>(s.pooled[a]);
    samples[a] = s.ratio > 0 ? s.ratio : static_cast<int64_t>(std::ceil(each));
    if (samples[a] < 1) samples[a] = 1;
    compute_bin_weights(start[a], each, samples[a], s.pooled[a], a ? s.width : s.height,
                        a ? &space->x : &space->y);
  }
  return static_cast<T>(samples[0]) * static_cast<T>(samples[1]);
}

// sums[x] = the rows of bin row i, weighted, for x of [x0, x1)
template <typename T>
CYNET_XINLINE void sum_weighted_rows(const RoiAlignShape& s, const BinWeights<T>& y, int64_t i,
                                     const T* plane, int64_t x0, int64_t x1, T* sums) {
  for (int64_t x = x0; x < x1; ++x) sums[x] = T(0);
  for (int64_t h = y.first[i]; h < y.last[i]; ++h) {
    const T weight = y.weight[i * s.height + h];
    const T* row = plane + h * s.width;
    CYNET_IVDEP
    for (int64_t x = x0; x < x1; ++x) sums[x] += weight * row[x];
  }
}

template <typename T>
void align_region(const RoiAlignShape& s, const T* data, const T* rois, T* out, bool add, int64_t r,
                  int64_t c0, int64_t c1, char* scratch) {
  RegionScratch<T> space(s, scratch);
  const T* roi = rois + r * 5;
  const int64_t image = image_index(roi), bins = s.pooled[0] * s.pooled[1],
                plane = s.height * s.width;
  const int64_t each = s.position_sensitive ? s.channels / bins : s.channels;
  T* y = out + (r * each + c0) * bins;
  if (image < 0) {
    for (int64_t k = 0; k < (c1 - c0) * bins; ++k) write_or_add(y + k, T(0), add);
    return;
  }
  const T count = compute_region_weights(s, roi, &space);
  int64_t x0 = s.width, x1 = 0;
  for (int64_t j = 0; j < s.pooled[1]; ++j) {
    if (space.x.first[j] == space.x.last[j]) continue;
    x0 = space.x.first[j] < x0 ? space.x.first[j] : x0;
    x1 = space.x.last[j] > x1 ? space.x.last[j] : x1;
  }
  for (int64_t c = c0; c < c1; ++c)
    for (int64_t i = 0; i < s.pooled[0]; ++i) {
      const T* from = data + (image * s.channels + c) * plane;
      if (!s.position_sensitive) sum_weighted_rows(s, space.y, i, from, x0, x1, space.sums);
      for (int64_t j = 0; j < s.pooled[1]; ++j) {
        const int64_t first = space.x.first[j], last = space.x.last[j];
        if (s.position_sensitive) {
          from = data + (image * s.channels + c * bins + i * s.pooled[1] + j) * plane;
          sum_weighted_rows(s, space.y, i, from, first, last, space.sums);
        }
        T total = T(0);
        for (int64_t x = first; x < last; ++x)
          total += space.x.weight[j * s.width + x] * space.sums[x];
        write_or_add(y++, total / count, add);
      }
    }
}

// Adds the gradient of a row of bins to the rows that they read.
template <typename T>
CYNET_XINLINE void spread_rows(const RoiAlignShape& s, const BinWeights<T>& y, int64_t i, T* plane,
                               int64_t x0, int64_t x1, const T* sums) {
  for (int64_t h = y.first[i]; h < y.last[i]; ++h) {
    const T weight = y.weight[i * s.height + h];
    T* row = plane + h * s.width;
    CYNET_IVDEP
    for (int64_t x = x0; x < x1; ++x) row[x] += weight * sums[x];
  }
}

template <typename T>
void align_region_backward(const RoiAlignShape& s, const T* rois, const T* dy, T* dx, int64_t r,
                           int64_t c0, int64_t c1, char* scratch) {
  RegionScratch<T> space(s, scratch);
  const T* roi = rois + r * 5;
  const int64_t image = image_index(roi), bins = s.pooled[0] * s.pooled[1],
                plane = s.height * s.width;
  const int64_t each = s.position_sensitive ? s.channels / bins : s.channels;
  const T count = compute_region_weights(s, roi, &space);
  const T* g = dy + (r * each + c0) * bins;
  int64_t x0 = s.width, x1 = 0;
  for (int64_t j = 0; j < s.pooled[1]; ++j) {
    if (space.x.first[j] == space.x.last[j]) continue;
    x0 = space.x.first[j] < x0 ? space.x.first[j] : x0;
    x1 = space.x.last[j] > x1 ? space.x.last[j] : x1;
  }
  for (int64_t c = c0; c < c1; ++c)
    for (int64_t i = 0; i < s.pooled[0]; ++i) {
      T* to = dx + (image * s.channels + c) * plane;
      if (!s.position_sensitive)
        for (int64_t x = x0; x < x1; ++x) space.sums[x] = T(0);
      for (int64_t j = 0; j < s.pooled[1]; ++j) {
        const int64_t first = space.x.first[j], last = space.x.last[j];
        const T each_sample = *g++ / count;
        const T* weight = space.x.weight + j * s.width;
        if (!s.position_sensitive) {
          for (int64_t x = first; x < last; ++x) space.sums[x] += weight[x] * each_sample;
          continue;
        }
        to = dx + (image * s.channels + c * bins + i * s.pooled[1] + j) * plane;
        for (int64_t x = first; x < last; ++x) space.sums[x] = weight[x] * each_sample;
        spread_rows(s, space.y, i, to, first, last, space.sums);
      }
      if (!s.position_sensitive) spread_rows(s, space.y, i, to, x0, x1, space.sums);
    }
}

// reads data, rois
template <typename T>
void roi_align(const Args& args) {
  const RoiAlignShape s(args, args.in[0], args.in[1], args.out[0]);
  if (!check_aligned_rois<T>(args, s, args.in[1])) return;
  const int64_t each = args.out[0]->shape[1], n = s.rois * each,
                scratch = RegionScratch<T>::bytes(s);
  const int64_t parts = args.threads < n ? args.threads : n;
  for_parts(parts, [&](int64_t part) {
    for_images(n * part / parts, n * (part + 1) / parts, each,
               [&](int64_t r, int64_t c0, int64_t c1) {
                 align_region(s, args.input<T>(0), args.input<T>(1), args.output<T>(0), args.add[0],
                              r, c0, c1, static_cast<char*>(args.space) + part * scratch);
               });
  });
}

// reads d_output, rois
template <typename T>
void roi_align_grad(const Args& args) {
  const RoiAlignShape s(args, args.out[0], args.in[1], args.in[0]);
  if (!check_aligned_rois<T>(args, s, args.in[1])) return;
  const T* rois = args.input<T>(1);
  // `group` planes are read by one channel of the output
  const int64_t each = args.in[0]->shape[1], group = s.channels / each, n = s.batch * each;
  const int64_t parts = args.threads < n ? args.threads : n, scratch = RegionScratch<T>::bytes(s);
  for_parts(parts, [&](int64_t part) {
    for_gradient_planes(n * part / parts, n * (part + 1) / parts, each, group * s.height * s.width,
                        args.output<T>(0), args.add[0], [&](int64_t image, int64_t c0, int64_t c1) {
                          for (int64_t r = 0; r < s.rois; ++r)
                            if (image_index(rois + r * 5) == image)
                              align_region_backward(
                                  s, rois, args.input<T>(0), args.output<T>(0), r, c0, c1,
                                  static_cast<char*>(args.space) + part * scratch);
                        });
  });
}

}  // namespace
#endif
