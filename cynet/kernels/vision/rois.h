// Regions of interest: rows (image, x1, y1, x2, y2) or (image, x, y, width, height, angle).
// Included by the headers of the operators that pool them.
#ifndef CYNET_VISION_ROIS_H
#define CYNET_VISION_ROIS_H

#include "vision/bilinear.h"

namespace cynet {

enum { ROI_GOOD, ROI_IMAGE, ROI_NUMBER };

// Whether rows of `columns` numbers name images below `batch` (negative: none) and have coordinates
// that, scaled, are numbers of a size that int32 holds. The first that does not is in `row`.
struct CheckRois {
  template <typename T>
  static void run(const void* rois_, int64_t rois, int64_t columns, double scale, int64_t batch,
                  int64_t* row, int* wrong) {
    const T* roi = static_cast<const T*>(rois_);
    for (int64_t r = 0; r < rois; ++r, roi += columns) {
      *row = r;
      *wrong = ROI_IMAGE;
      if (!(roi[0] < static_cast<T>(batch)) || !(roi[0] > T(-1e9))) return;
      *wrong = ROI_NUMBER;
      for (int64_t i = 1; i < columns; ++i) {
        const double at = std::fabs(static_cast<double>(roi[i]));
        if (!(at < 1e9) || !(at * scale < 1e9)) return;
      }
    }
    *wrong = ROI_GOOD;
  }
};

inline int check_rois_all(int dtype, const void* rois, int64_t n, int64_t columns, double scale,
                          int64_t batch, int64_t* row) {
  int wrong = ROI_GOOD;
  by_float<CheckRois>(dtype, rois, n, columns, scale, batch, row, &wrong);
  return wrong;
}

// The image of a region, -1: none, whose output is 0.
template <typename T>
CYNET_XINLINE int64_t image_of(const T* roi) {
  return roi[0] <= T(-1) ? -1 : static_cast<int64_t>(roi[0]);
}

CYNET_XINLINE int64_t limited(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : (value > high ? high : value);
}

// The place of a sample along an axis: two neighbours and the weight of the second; false: outside.
template <typename T>
CYNET_XINLINE bool near_pixels(T at, int64_t size, int64_t* low, int64_t* high, T* part) {
  if (!(at >= T(-1)) || at > static_cast<T>(size)) return false;
  if (at < T(0)) at = T(0);
  *low = static_cast<int64_t>(at);
  *high = *low + 1;
  if (*low >= size - 1) {
    *low = *high = size - 1;
    at = static_cast<T>(*low);
  }
  *part = at - static_cast<T>(*low);
  return true;
}

// body(roi, first, last) for the regions of `each` planes of output that [begin, end) belong to.
template <typename Body>
inline void by_region(int64_t begin, int64_t end, int64_t each, const Body& body) {
  by_image(begin, end, each, body);
}

// dx of the planes [begin, end) of all images, `each` an image: zeros unless `add`, then
// body(image, first, last).
template <typename T, typename Body>
inline void by_gradient_planes(int64_t begin, int64_t end, int64_t each, int64_t plane, T* dx,
                               bool add, const Body& body) {
  if (!add)
    std::memset(dx + begin * plane, 0, static_cast<size_t>((end - begin) * plane) * sizeof(T));
  by_image(begin, end, each, body);
}

}  // namespace cynet

#endif
