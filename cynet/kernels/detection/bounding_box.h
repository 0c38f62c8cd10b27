// What box_iou, box_nms, bipartite_matching, box_encode and box_decode compute.
#ifndef CYNET_DETECTION_BOUNDING_BOX_H
#define CYNET_DETECTION_BOUNDING_BOX_H

#include <cstring>

#include "detection/boxes.h"

namespace cynet {

// out[j] (+)= overlap of a box and box j of m
template <typename T>
inline void box_overlaps(const T* box, const T* others, int64_t m, bool center, T* out, bool add) {
  const Corners<T> a = corners_of(box, center);
  for (int64_t j = 0; j < m; ++j) {
    const T value = overlap(a, corners_of(others + 4 * j, center));
    out[j] = add ? out[j] + value : value;
  }
}

struct NmsOptions {
  double overlap, valid;
  int64_t topk, coord, score, id, background;  // id and topk: -1 where there are none
  bool force, center_in, center_out;
};

template <typename T>
inline int64_t nms_bytes(int64_t n) {
  return Candidates<T>::bytes(n) + piece_bytes<T>(n) + 2 * piece_bytes<int32_t>(n);
}

template <typename T>
inline void convert_box(T* box, bool to_center) {
  const T a = box[0], b = box[1], c = box[2], d = box[3];
  if (to_center) {
    box[0] = (a + c) * T(0.5), box[1] = (b + d) * T(0.5), box[2] = c - a, box[3] = d - b;
  } else {
    box[0] = a - c * T(0.5), box[1] = b - d * T(0.5), box[2] = a + c * T(0.5);
    box[3] = b + d * T(0.5);
  }
}

// Rows of one image: those kept, the best first, then rows of -1. record[i]: the row of data that
// row i of out is, or -1.
template <typename T>
inline void box_nms(const NmsOptions& o, const T* data, int64_t n, int64_t width, T* out,
                    int32_t* record, void* space) {
  if (o.topk == 0) {  // as MXNet: nothing is dropped
    std::memcpy(out, data, n * width * sizeof(T));
    for (int64_t i = 0; i < n; ++i) record[i] = static_cast<int32_t>(i);
    return;
  }
  Pieces pieces(space);
  T* scores = pieces.take<T>(n);
  int32_t* rows = pieces.take<int32_t>(n);
  int32_t* order = pieces.take<int32_t>(n);
  int64_t valid = 0;
  for (int64_t i = 0; i < n; ++i) {
    const T* row = data + i * width;
    if (!(row[o.score] > static_cast<T>(o.valid))) continue;
    if (o.id >= 0 && row[o.id] == static_cast<T>(o.background)) continue;
    rows[valid] = static_cast<int32_t>(i);
    scores[valid++] = row[o.score];
  }
  const int64_t some = o.topk > 0 && o.topk < valid ? o.topk : valid;
  order_by_score(scores, order, valid, some, false);
  Candidates<T> candidates(&pieces, some, o.id >= 0 && !o.force, 0);
  for (int64_t i = 0; i < some; ++i) order[i] = rows[order[i]];
  candidates.fill(
      some, [=](int64_t i) { return corners_of(data + order[i] * width + o.coord, o.center_in); },
      [=](int64_t i) { return data[order[i] * width + o.id]; });
  int32_t* kept = rows;
  const int64_t found = suppress(candidates, some, some, static_cast<T>(o.overlap), false, kept);
  for (int64_t i = 0; i < found; ++i) {
    record[i] = order[kept[i]];
    std::memcpy(out + i * width, data + record[i] * width, width * sizeof(T));
    if (o.center_in != o.center_out) convert_box(out + i * width + o.coord, o.center_out);
  }
  for (int64_t i = found; i < n; ++i) record[i] = -1;
  std::fill(out + found * width, out + n * width, T(-1));
}

// dx (+)= the gradient of rows, at the rows that they were; dx is zeros already if it is not added
// to. Converted boxes: by the transposed conversion.
template <typename T>
inline void box_nms_backward(const NmsOptions& o, const T* dy, const int32_t* record, int64_t n,
                             int64_t width, T* dx) {
  for (int64_t i = 0; i < n; ++i) {
    if (record[i] < 0 || record[i] >= n) continue;
    const T* from = dy + i * width;
    T* to = dx + record[i] * width;
    if (o.topk == 0 || o.center_in == o.center_out) {
      for (int64_t k = 0; k < width; ++k) to[k] += from[k];
      continue;
    }
    const T half = T(0.5);
    for (int64_t k = 0; k < width; ++k)
      if (k < o.coord || k >= o.coord + 4) to[k] += from[k];
    from += o.coord, to += o.coord;
    for (int axis = 0; axis < 2; ++axis) {
      const T first = from[axis], second = from[axis + 2];
      to[axis] += o.center_out ? first * half - second : first + second;
      to[axis + 2] += o.center_out ? first * half + second : (second - first) * half;
    }
  }
}

// Pairs of rows and columns, the best score first, until one is not beyond the threshold.
template <typename T>
inline void bipartite_matching(const T* scores, int64_t rows, int64_t columns, T threshold,
                               bool ascending, int64_t topk, T* row_out, T* column_out,
                               int64_t* order) {
  const int64_t n = rows * columns;
  std::fill(row_out, row_out + rows, T(-1));
  std::fill(column_out, column_out + columns, T(-1));
  order_by_score(scores, order, n, n, ascending);
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t r = order[i] / columns, c = order[i] % columns;
    if (row_out[r] != T(-1) || column_out[c] != T(-1)) continue;
    const T score = scores[order[i]];
    if (!(ascending ? score < threshold : score > threshold)) break;
    row_out[r] = static_cast<T>(c), column_out[c] = static_cast<T>(r);
    if (topk > 0 && ++count > topk) break;  // topk + 1 pairs, as MXNet
  }
}

// Of one image: codes of the boxes that samples are matched with, 0 for samples that are none, and
// what is one. The result: the first sample whose match is no box, or -1.
template <typename T>
inline int64_t box_encode(const T* samples, const T* matches, const T* anchors, const T* refs,
                          int64_t n, int64_t boxes, const T* means, const T* stds, T* out,
                          T* mask) {
  for (int64_t i = 0; i < n; ++i) {
    const bool valid = samples[i] > T(0.5);
    if (valid && !(matches[i] > T(-1) && matches[i] < static_cast<T>(boxes))) return i;
    T code[4] = {0, 0, 0, 0};
    if (valid)
      encode_box(corners_of(anchors + 4 * i, false),
                 corners_of(refs + 4 * static_cast<int64_t>(matches[i]), false), code);
    for (int k = 0; k < 4; ++k) {
      out[4 * i + k] = valid ? (code[k] - means[k]) / stds[k] : T(0);
      mask[4 * i + k] = valid ? T(1) : T(0);
    }
  }
  return -1;
}

// out (+)= the corners that codes say, seen from anchors; `clip` > 0 bounds the logarithms of sizes
template <typename T>
inline void box_decode(const T* data, const T* anchors, int64_t n, const T* stds, T clip,
                       bool center, T* out, bool add) {
  for (int64_t i = 0; i < n; ++i) {
    const T* a = anchors + 4 * i;
    const T* d = data + 4 * i;
    const T w = center ? a[2] : a[2] - a[0], h = center ? a[3] : a[3] - a[1];
    const T x = center ? a[0] : a[0] + w * T(0.5), y = center ? a[1] : a[1] + h * T(0.5);
    T dw = d[2] * stds[2], dh = d[3] * stds[3];
    if (clip > 0) dw = std::min(dw, clip), dh = std::min(dh, clip);
    const T px = d[0] * stds[0] * w + x, py = d[1] * stds[1] * h + y;
    const T pw = std::exp(dw) * w * T(0.5), ph = std::exp(dh) * h * T(0.5);
    const T found[4] = {px - pw, py - ph, px + pw, py + ph};
    for (int k = 0; k < 4; ++k) out[4 * i + k] = add ? out[4 * i + k] + found[k] : found[k];
  }
}

}  // namespace cynet

#endif
