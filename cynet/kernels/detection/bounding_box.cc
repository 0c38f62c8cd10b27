// box_iou, box_nms, bipartite_matching, box_encode and box_decode.
#include <cstring>

#include "detection/boxes.h"
#include "kernel.h"

namespace cynet {
namespace {

#define BOX_FORMAT_FIELDS(field) field(bool, center)
CYNET_PARAMS(BoxFormat, BOX_FORMAT_FIELDS)

// out[j] (+)= overlap of a box and box j of n
template <typename T>
CYNET_NOINLINE void write_overlaps(const Corners<T>& box, const T* others, int64_t n, T* out,
                                   bool add) {
  const Corners<T> a = box;
  CYNET_IVDEP
  for (int64_t j = 0; j < n; ++j) {
    const T value = overlap_ratio(a, corners_of(others + 4 * j, false));
    out[j] = add ? out[j] + value : value;
  }
}

// reads lhs (n, 4), rhs (m, 4): overlaps of all pairs (n, m)
template <typename T>
void box_iou(const Args& args) {
  enum { BLOCK = 64 };
  const bool center = args.as<BoxFormat>().center, add = args.add[0];
  const T *lhs = args.input<T>(0), *rhs = args.input<T>(1);
  T* out = args.output<T>(0);
  const int64_t m = args.in[1]->size / 4;
  parallel_for(args.threads, args.in[0]->size / 4, [=](int64_t begin, int64_t end) {
    Corners<T> corners[BLOCK];
    for (int64_t j = 0; j < m; j += BLOCK) {
      const int64_t n = std::min<int64_t>(BLOCK, m - j);
      for (int64_t k = 0; k < n; ++k) corners[k] = corners_of(rhs + 4 * (j + k), center);
      for (int64_t i = begin; i < end; ++i)
        write_overlaps(corners_of(lhs + 4 * i, center), &corners[0].left, n, out + i * m + j, add);
    }
  });
}

#define NMS_FIELDS(field)                                                                  \
  field(double, overlap_thresh) field(double, valid_thresh) field(int64_t, topk)           \
      field(int64_t, coord_start) field(int64_t, score_index) field(int64_t, id_index)     \
          field(int64_t, background_id) field(bool, force_suppress) field(bool, center_in) \
              field(bool, center_out)
CYNET_PARAMS(Nms, NMS_FIELDS)

template <typename T>
int64_t nms_bytes(int64_t n) {
  return BoxCandidates<T>::bytes(n) + aligned_bytes<T>(n) + 2 * aligned_bytes<int32_t>(n);
}
inline int64_t nms_workspace_bytes(const Args& args) {
  const int64_t n = args.in[0]->shape[args.in[0]->ndim - 2];
  return args.threads * (args.in[0]->dtype == F64 ? nms_bytes<double>(n) : nms_bytes<float>(n));
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

// Writes the rows of one image: the boxes that stay, best first, then rows of -1. record[i]: the
// row of data for row i of out, or -1.
template <typename T>
inline void suppress_boxes(const Nms& o, const T* data, int64_t n, int64_t width, T* out,
                           int32_t* record, void* space) {
  if (o.topk == 0) {  // topk = 0 drops no box, as in MXNet
    std::memcpy(out, data, n * width * sizeof(T));
    for (int64_t i = 0; i < n; ++i) record[i] = static_cast<int32_t>(i);
    return;
  }
  ScratchArena pieces(space);
  T* scores = pieces.allocate<T>(n);
  int32_t* rows = pieces.allocate<int32_t>(n);
  int32_t* order = pieces.allocate<int32_t>(n);
  int64_t valid = 0;
  for (int64_t i = 0; i < n; ++i) {
    const T* row = data + i * width;
    if (!(row[o.score_index] > static_cast<T>(o.valid_thresh))) continue;
    if (o.id_index >= 0 && row[o.id_index] == static_cast<T>(o.background_id)) continue;
    rows[valid] = static_cast<int32_t>(i);
    scores[valid++] = row[o.score_index];
  }
  const int64_t some = o.topk > 0 && o.topk < valid ? o.topk : valid;
  order_by_score(scores, order, valid, some, false);
  BoxCandidates<T> candidates(&pieces, some, o.id_index >= 0 && !o.force_suppress, 0);
  for (int64_t i = 0; i < some; ++i) order[i] = rows[order[i]];
  candidates.fill(
      some,
      [=](int64_t i) { return corners_of(data + order[i] * width + o.coord_start, o.center_in); },
      [=](int64_t i) { return data[order[i] * width + o.id_index]; });
  int32_t* keep = rows;
  const T maximum = static_cast<T>(o.overlap_thresh);
  const int64_t found = suppress_overlaps(candidates, some, some, maximum, false, keep);
  for (int64_t i = 0; i < found; ++i) {
    record[i] = order[keep[i]];
    std::memcpy(out + i * width, data + record[i] * width, width * sizeof(T));
    if (o.center_in != o.center_out) convert_box(out + i * width + o.coord_start, o.center_out);
  }
  for (int64_t i = found; i < n; ++i) record[i] = -1;
  std::fill(out + found * width, out + n * width, T(-1));
}

// reads data (..., n, width); writes output0, output1, which is of int32
template <typename T>
void box_nms(const Args& args) {
  const int64_t* lengths = args.in[0]->shape + args.in[0]->ndim - 2;
  const int64_t n = lengths[0], width = lengths[1], each = n * width;
  for_images(args, args.in[0]->size / each, nms_bytes<T>(n), [&](int64_t i, char* space) {
    suppress_boxes(args.as<Nms>(), args.input<T>(0) + i * each, n, width,
                   args.output<T>(0) + i * each, args.output<int32_t>(1) + i * n, space);
  });
}

// dx (+)= the gradient, moved back to the original rows; dx must be zeros unless it is added to.
// Converted boxes: by the transposed conversion.
template <typename T>
inline void scatter_kept_gradients(const Nms& o, const T* dy, const int32_t* record, int64_t n,
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
      if (k < o.coord_start || k >= o.coord_start + 4) to[k] += from[k];
    from += o.coord_start, to += o.coord_start;
    for (int axis = 0; axis < 2; ++axis) {
      const T first = from[axis], second = from[axis + 2];
      to[axis] += o.center_out ? first * half - second : first + second;
      to[axis + 2] += o.center_out ? first * half + second : (second - first) * half;
    }
  }
}

// reads d_output0, output1
template <typename T>
void box_nms_grad(const Args& args) {
  const int64_t* lengths = args.in[0]->shape + args.in[0]->ndim - 2;
  const int64_t n = lengths[0], width = lengths[1], each = n * width;
  T* dx = args.output<T>(0);
  if (!args.add[0]) std::fill(dx, dx + args.out[0]->size, T(0));
  for (int64_t i = 0; i < args.out[0]->size / each; ++i)
    scatter_kept_gradients(args.as<Nms>(), args.input<T>(0) + i * each,
                           args.input<int32_t>(1) + i * n, n, width, dx + i * each);
}

#define MATCHING_FIELDS(field) field(double, threshold) field(bool, is_ascend) field(int64_t, topk)
CYNET_PARAMS(Matching, MATCHING_FIELDS)

// Matches rows and columns, best score first, until a score does not pass the threshold.
template <typename T>
void match_pairs(const T* scores, int64_t rows, int64_t columns, T threshold, bool ascending,
                 int64_t topk, T* row_out, T* column_out, int64_t* order) {
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

inline int64_t matching_workspace_bytes(const Args& args) {
  const int64_t* lengths = args.in[0]->shape + args.in[0]->ndim - 2;
  return args.threads * lengths[0] * lengths[1] * sizeof(int64_t);
}

// reads data (..., n, m); writes output0 (..., n), output1 (..., m)
template <typename T>
void bipartite_matching(const Args& args) {
  const Matching& p = args.as<Matching>();
  const int64_t* lengths = args.in[0]->shape + args.in[0]->ndim - 2;
  const int64_t n = lengths[0], m = lengths[1];
  const int64_t batch = args.in[0]->size / (n * m);
  for_images(args, batch, n * m * sizeof(int64_t), [&](int64_t i, char* space) {
    match_pairs(args.input<T>(0) + i * n * m, n, m, static_cast<T>(p.threshold), p.is_ascend,
                p.topk, args.output<T>(0) + i * n, args.output<T>(1) + i * m,
                reinterpret_cast<int64_t*>(space));
  });
}

// reads samples, matches, anchors, refs, means, stds; writes codes of the boxes matched to samples
// (0 for other anchors), and a mask of the samples. Fails at a sample whose match is not a box.
template <typename T>
void box_encode(const Args& args) {
  const T *samples = args.input<T>(0), *matches = args.input<T>(1), *anchors = args.input<T>(2);
  const T *refs = args.input<T>(3), *means = args.input<T>(4), *stds = args.input<T>(5);
  T *out = args.output<T>(0), *mask = args.output<T>(1);
  const int64_t n = args.in[0]->shape[1], boxes = args.in[3]->shape[1];
  for (int64_t i = 0; i < args.in[0]->size; ++i) {
    const bool valid = samples[i] > T(0.5);
    if (valid && !(matches[i] > T(-1) && matches[i] < static_cast<T>(boxes)))
      return args.fail(i, {double(i / n), double(i % n), double(boxes)});
    T code[4] = {0, 0, 0, 0};
    if (valid)
      encode_box(corners_of(anchors + 4 * i, false),
                 corners_of(refs + 4 * (i / n * boxes + static_cast<int64_t>(matches[i])), false),
                 code);
    for (int k = 0; k < 4; ++k) {
      out[4 * i + k] = valid ? (code[k] - means[k]) / stds[k] : T(0);
      mask[4 * i + k] = valid ? T(1) : T(0);
    }
  }
}

// `clip` > 0 bounds the logarithms of sizes
#define BOX_DECODE_FIELDS(field) field(Doubles<4>, stds) field(double, clip) field(bool, center)
CYNET_PARAMS(BoxDecode, BOX_DECODE_FIELDS)

// reads codes (batch, n, 4), anchors (1, n, 4); writes the corners of the decoded boxes
template <typename T>
void box_decode(const Args& args) {
  const BoxDecode& p = args.as<BoxDecode>();
  const int64_t n = args.in[1]->shape[1];
  T stds[4];
  for (int k = 0; k < 4; ++k) stds[k] = static_cast<T>(p.stds[k]);
  const T clip = static_cast<T>(p.clip);
  const T *data = args.input<T>(0), *anchors = args.input<T>(1);
  T* boxes = args.output<T>(0);
  const bool center = p.center, add = args.add[0];
  parallel_for(args.threads, args.in[0]->size / 4, [=](int64_t begin, int64_t end) {
    int64_t anchor = begin % n;
    for (int64_t i = begin; i < end; ++i) {
      const T* a = anchors + 4 * anchor;
      const T* d = data + 4 * i;
      T* out = boxes + 4 * i;
      const T w = center ? a[2] : a[2] - a[0], h = center ? a[3] : a[3] - a[1];
      const T x = center ? a[0] : a[0] + w * T(0.5), y = center ? a[1] : a[1] + h * T(0.5);
      T dw = d[2] * stds[2], dh = d[3] * stds[3];
      if (clip > 0) dw = std::min(dw, clip), dh = std::min(dh, clip);
      const T px = d[0] * stds[0] * w + x, py = d[1] * stds[1] * h + y;
      const T pw = std::exp(dw) * w * T(0.5), ph = std::exp(dh) * h * T(0.5);
      const auto put = [=](int k, T value) { out[k] = add ? out[k] + value : value; };
      put(0, px - pw), put(1, py - ph), put(2, px + pw), put(3, py + ph);
      if (++anchor == n) anchor = 0;
    }
  });
}

}  // namespace
}  // namespace cynet

CYNET_PLAIN_KERNEL(box_iou, BoxFormat, 16, CYNET_FLOATS)
CYNET_PLAIN_SPACE_KERNEL(box_nms, Nms, 64, nms_workspace_bytes, CYNET_FLOATS)
CYNET_PLAIN_KERNEL(box_nms_grad, Nms, 1, CYNET_FLOATS)
CYNET_PLAIN_SPACE_KERNEL(bipartite_matching, Matching, 32, matching_workspace_bytes, CYNET_FLOATS)
CYNET_PLAIN_KERNEL(box_encode, NoParams, 1, CYNET_FLOATS)
CYNET_PLAIN_KERNEL(box_decode, BoxDecode, 8, CYNET_FLOATS)
