// Regions of interest: rows (image, x1, y1, x2, y2) or (image, x, y, width, height, angle).
// Included by the kernels of the operators that pool them.
#ifndef CYNET_VISION_ROIS_H
#define CYNET_VISION_ROIS_H

#include <vector>

#include "kernel.h"
#include "vision/bilinear.h"

namespace cynet {

// Errors of a region: its image index, a coordinate, no width or height. A run fails at ROI_FAULTS
// * row + error, with the row's numbers and then the number of images.
enum { ROI_IMAGE, ROI_NUMBER, ROI_EMPTY, ROI_FAULTS };

template <typename T>
bool report_bad_roi(const Args& args, int64_t row, int fault, const T* roi, int64_t columns,
                    int64_t batch) {
  std::vector<double> values(roi, roi + columns);
  values.push_back(static_cast<double>(batch));
  args.fail(ROI_FAULTS * row + fault, values);
  return false;
}

// True if all rows of `rois` (rows, columns) have an image index below `batch` (negative:
// unchecked) and scaled coordinates that fit into int32.
template <typename T>
bool check_rois(const Args& args, const Blob* rois, double scale, int64_t batch) {
  const T* roi = static_cast<const T*>(rois->data);
  const int64_t columns = rois->shape[1];
  for (int64_t r = 0; r < rois->shape[0]; ++r, roi += columns) {
    if (!(roi[0] < static_cast<T>(batch)) || !(roi[0] > T(-1e9)))
      return report_bad_roi(args, r, ROI_IMAGE, roi, columns, batch);
    for (int64_t i = 1; i < columns; ++i) {
      const double at = std::fabs(static_cast<double>(roi[i]));
      if (!(at < 1e9) || !(at * scale < 1e9))
        return report_bad_roi(args, r, ROI_NUMBER, roi, columns, batch);
    }
  }
  return true;
}

// data (batch, channels, height, width), rois (rois, columns), out (rois, ..., pooled)
struct RoiShape {  // sizes of data and of pooled regions
  int64_t batch, channels, height, width, rois, pooled[2];
  double scale;
  RoiShape(const Blob* data, const Blob* rois, const Blob* out, double scale)
      : batch(data->shape[0]),
        channels(data->shape[1]),
        height(data->shape[2]),
        width(data->shape[3]),
        rois(rois->shape[0]),
        pooled{out->shape[2], out->shape[3]},
        scale(scale) {}
};

// The image index of a region; -1: no image, the output is 0.
template <typename T>
CYNET_XINLINE int64_t image_index(const T* roi) {
  return roi[0] <= T(-1) ? -1 : static_cast<int64_t>(roi[0]);
}

CYNET_XINLINE int64_t clamped(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : (value > high ? high : value);
}

// Locates a sample along an axis: two neighbours and the weight of the second; false if outside.
template <typename T>
CYNET_XINLINE bool find_neighbors(T at, int64_t size, int64_t* low, int64_t* high, T* part) {
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

// Clears planes [begin, end) of dx unless `add`, then calls body(image, first, last) by image.
template <typename T, typename Body>
inline void for_gradient_planes(int64_t begin, int64_t end, int64_t each, int64_t plane, T* dx,
                                bool add, const Body& body) {
  if (!add)
    std::memset(dx + begin * plane, 0, static_cast<size_t>((end - begin) * plane) * sizeof(T));
  for_images(begin, end, each, body);
}

}  // namespace cynet

#endif
