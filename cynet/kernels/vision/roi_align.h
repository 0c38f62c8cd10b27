// ROIAlign: means of bilinear samples in the bins of regions, and the gradient. Included by
// roi_align.pyx; roi_align.pxd declares the struct.
//
// Samples lie on lattices along the axes, so a bin's mean is a weighted sum over rows of weighted
// sums over columns: the weights of each bin along each axis are made once for a region.
#ifndef CYNET_VISION_ROI_ALIGN_H
#define CYNET_VISION_ROI_ALIGN_H

#include "vision/rois.h"

namespace cynet {

struct RoiAlignShape {
  int64_t batch, channels, height, width, rois, pooled[2];
  double scale;
  int64_t ratio;  // samples of a bin along an axis; below 1: as many as it has pixels
  bool aligned, position_sensitive;
};

// The weights of bins along one axis: bin i reads [first[i], last[i]) of `size`, with
// weight[i * size + place].
template <typename T>
struct BinWeights {
  int64_t* first;
  int64_t* last;
  T* weight;
};

// A region's bins along both axes, and a row of sums for each of its rows of bins.
template <typename T>
struct RegionSpace {
  BinWeights<T> y, x;
  T* sums;

  static int64_t bytes(const RoiAlignShape& s) {
    const int64_t numbers = s.pooled[0] * s.height + s.pooled[1] * s.width + s.pooled[0] * s.width;
    return numbers * static_cast<int64_t>(sizeof(T)) + 16 * (s.pooled[0] + s.pooled[1]) + 64;
  }

  RegionSpace(const RoiAlignShape& s, char* at) {
    int64_t* places = reinterpret_cast<int64_t*>(at);
    y.first = places, y.last = places + s.pooled[0];
    x.first = y.last + s.pooled[0], x.last = x.first + s.pooled[1];
    y.weight = reinterpret_cast<T*>(x.last + s.pooled[1]);
    x.weight = y.weight + s.pooled[0] * s.height;
    sums = x.weight + s.pooled[1] * s.width;
  }
};

}  // namespace cynet

#define CYNET_LOOPS "vision/roi_align_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

// Room for each of so many threads.
inline int64_t roi_align_space(const RoiAlignShape* s, int dtype) {
  const int64_t bytes =
      dtype == F64 ? RegionSpace<double>::bytes(*s) : RegionSpace<float>::bytes(*s);
  return (bytes + 63) / 64 * 64;
}

struct AlignRois {
  template <typename T>
  static void run(int threads, int level, const RoiAlignShape* s, const void* data,
                  const void* rois, void* out, bool add, char* space) {
    typedef void (*Loop)(const RoiAlignShape&, const T*, const T*, T*, bool, int64_t, int64_t,
                         int64_t, char*);
    static const Loop loops[] = CYNET_AT_LEVELS(align_region<T>);
    const int64_t bins = s->pooled[0] * s->pooled[1];
    const int64_t each = s->position_sensitive ? s->channels / bins : s->channels;
    const int64_t n = s->rois * each, room = roi_align_space(s, sizeof(T) == 8 ? F64 : F32);
    const int64_t parts = std::min<int64_t>(threads, n);
    for_parts(parts, [=](int64_t part) {
      by_region(n * part / parts, n * (part + 1) / parts, each,
                [=](int64_t r, int64_t c0, int64_t c1) {
        loops[level](*s, static_cast<const T*>(data), static_cast<const T*>(rois),
                     static_cast<T*>(out), add, r, c0, c1, space + part * room);
      });
    });
  }
};

struct AlignRoisBackward {
  template <typename T>
  static void run(int threads, int level, const RoiAlignShape* s, const void* rois, const void* dy,
                  void* dx, bool add, char* space) {
    typedef void (*Loop)(const RoiAlignShape&, const T*, const T*, T*, int64_t, int64_t, int64_t,
                         char*);
    static const Loop loops[] = CYNET_AT_LEVELS(align_region_backward<T>);
    // the planes that one channel of the output reads
    const int64_t group = s->position_sensitive ? s->pooled[0] * s->pooled[1] : 1;
    const int64_t each = s->channels / group, n = s->batch * each;
    const int64_t room = roi_align_space(s, sizeof(T) == 8 ? F64 : F32);
    const int64_t parts = std::min<int64_t>(threads, n);
    for_parts(parts, [=](int64_t part) {
      by_gradient_planes(n * part / parts, n * (part + 1) / parts, each,
                         group * s->height * s->width, static_cast<T*>(dx), add,
                         [=](int64_t image, int64_t c0, int64_t c1) {
        for (int64_t r = 0; r < s->rois; ++r)
          if (image_of(static_cast<const T*>(rois) + r * 5) == image)
            loops[level](*s, static_cast<const T*>(rois), static_cast<const T*>(dy),
                         static_cast<T*>(dx), r, c0, c1, space + part * room);
      });
    });
  }
};

// The first region whose width or height is not more than 0, or -1.
struct EmptyRoi {
  template <typename T>
  static void run(const void* rois_, int64_t n, int64_t* row) {
    const T* roi = static_cast<const T*>(rois_);
    *row = -1;
    for (int64_t r = 0; r < n && *row < 0; ++r, roi += 5)
      if (roi[0] > T(-1) && (!(roi[3] > roi[1]) || !(roi[4] > roi[2]))) *row = r;
  }
};

inline int64_t empty_roi_all(int dtype, const void* rois, int64_t n) {
  int64_t row = -1;
  by_float<EmptyRoi>(dtype, rois, n, &row);
  return row;
}
inline void roi_align_all(int threads, int level, int dtype, const RoiAlignShape* s,
                          const void* data, const void* rois, void* out, bool add, char* space) {
  by_float<AlignRois>(dtype, threads, level, s, data, rois, out, add, space);
}
inline void roi_align_backward_all(int threads, int level, int dtype, const RoiAlignShape* s,
                                   const void* rois, const void* dy, void* dx, bool add,
                                   char* space) {
  by_float<AlignRoisBackward>(dtype, threads, level, s, rois, dy, dx, add, space);
}

}  // namespace cynet

#endif
