// Anchors of an SSD, their training targets, and the decoding of predictions: MultiBoxPrior,
// MultiBoxTarget, MultiBoxDetection.
#include <cstring>

#include "detection/boxes.h"

namespace cynet {
namespace {

// a step <= 0 means 1 / length
#define PRIOR_FIELDS(field)                                                                      \
  field(Floats, sizes) field(Floats, ratios) field(Doubles<2>, steps) field(Doubles<2>, offsets) \
      field(bool, clip)
CYNET_PARAMS(PriorParams, PRIOR_FIELDS)

// Writes boxes around each pixel of data (N, C, height, width): all sizes with the first ratio,
// then the first size with the other ratios.
template <typename T>
void multibox_prior(const Args& args) {
  const PriorParams& p = args.as<PriorParams>();
  const int64_t height = args.in[0]->shape[2], width = args.in[0]->shape[3];
  const int64_t each = p.sizes.n + p.ratios.n - 1;
  const float step_y = p.steps[0] > 0 ? float(p.steps[0]) : 1.0f / height;
  const float step_x = p.steps[1] > 0 ? float(p.steps[1]) : 1.0f / width;
  const float offset_y = float(p.offsets[0]), offset_x = float(p.offsets[1]);
  parallel_for(args.threads, height, [&](int64_t begin, int64_t end) {
    float* out = args.output<float>(0) + begin * width * each * 4;
    for (int64_t row = begin; row < end; ++row) {
      const float y = (row + offset_y) * step_y;
      for (int64_t column = 0; column < width; ++column) {
        const float x = (column + offset_x) * step_x;
        for (int64_t k = 0; k < each; ++k, out += 4) {
          const float size = p.sizes.at[k < p.sizes.n ? k : 0];
          const float ratio = std::sqrt(p.ratios.at[k < p.sizes.n ? 0 : k - p.sizes.n + 1]);
          const float w = size * height / width * ratio / 2, h = size / ratio / 2;
          float box[4] = {x - w, y - h, x + w, y + h};
          for (int i = 0; i < 4; ++i) {
            if (p.clip) box[i] = std::min(std::max(box[i], 0.0f), 1.0f);
            out[i] = args.add[0] ? out[i] + box[i] : box[i];
          }
        }
      }
    }
  });
}

#define TARGET_FIELDS(field)                                                     \
  field(double, overlap_threshold) field(double, ignore_label)                   \
      field(double, negative_mining_ratio) field(double, negative_mining_thresh) \
          field(Doubles<4>, variances)
CYNET_PARAMS(TargetParams, TARGET_FIELDS)

// The best anchor of a box among those that have no box yet, and their overlap.
struct BestAnchor {  // an anchor and its overlap
  int64_t anchor;
  float share;
};

inline int64_t target_scratch_bytes(int64_t anchors, int64_t boxes) {
  return aligned_bytes<float>(anchors * boxes) + 2 * aligned_bytes<float>(anchors) +
         2 * aligned_bytes<int32_t>(anchors) + aligned_bytes<signed char>(anchors) +
         aligned_bytes<BestAnchor>(boxes);
}

// The first free anchor with the largest overlap with a box, above `least`.
inline BestAnchor best_free_anchor(const float* shares, const signed char* taken, int64_t anchors,
                                   float least) {
  BestAnchor best = {-1, least};
  for (int64_t j = 0; j < anchors; ++j)
    if (taken[j] != 1 && shares[j] > best.share) best = {j, shares[j]};
  return best;
}

// The probability that an anchor is background: softmax over the classes, entry 0.
inline float background_share(const float* scores, int64_t classes, int64_t stride) {
  float maximum = scores[0], sum = 0;
  for (int64_t k = 1; k < classes; ++k) maximum = std::max(maximum, scores[k * stride]);
  for (int64_t k = 0; k < classes; ++k) sum += std::exp(scores[k * stride] - maximum);
  return std::exp(scores[0] - maximum) / sum;
}

// Counts the label rows (class, left, top, right, bottom, ...) before the first of class -1.
int64_t count_boxes(const float* labels, int64_t rows, int64_t width) {
  int64_t boxes = 0;
  while (boxes < rows && labels[boxes * width] != -1.0f) ++boxes;
  return boxes;
}

enum AnchorState : signed char { UNUSED = -1, NEGATIVE = 0, POSITIVE = 1 };

// The anchors of one image and the boxes that they match.
struct AnchorMatches {  // which box each anchor has
  int64_t n, boxes;
  float *shares, *best_share;  // overlaps, a row a box; the largest one of each anchor
  int32_t *match, *best_box;   // boxes of the positive anchors; of the largest overlap
  signed char* state;

  AnchorMatches(ScratchArena& pieces, int64_t anchors, int64_t labelled)
      : n(anchors), boxes(labelled) {
    shares = pieces.allocate<float>(n * boxes), best_share = pieces.allocate<float>(n);
    match = pieces.allocate<int32_t>(n), best_box = pieces.allocate<int32_t>(n);
    state = pieces.allocate<signed char>(n);
    std::memset(state, UNUSED, n);
    std::fill(match, match + n, -1);
  }

  void compute_overlaps(const float* anchors, const float* labels, int64_t width) {
    for (int64_t k = 0; k < boxes; ++k) {
      const Corners<float> box = corners_of(labels + k * width + 1, false);
      for (int64_t j = 0; j < n; ++j)
        shares[k * n + j] = overlap_ratio(corners_of(anchors + 4 * j, false), box);
    }
    for (int64_t j = 0; j < n; ++j) {  // the first box of the largest overlap
      best_share[j] = -1;
      for (int64_t k = 0; k < boxes; ++k)
        if (shares[k * n + j] > best_share[j]) {
          best_share[j] = shares[k * n + j];
          best_box[j] = static_cast<int32_t>(k);
        }
    }
  }

  // Gives every box an anchor, the pair of the largest overlap first. Returns how many have one.
  int64_t match_boxes(BestAnchor* best) {
    const float least = 1e-6f;
    int64_t positives = 0;
    for (int64_t k = 0; k < boxes; ++k) best[k] = best_free_anchor(shares + k * n, state, n, least);
    for (int64_t left = boxes; left > 0; --left) {
      int64_t chosen = -1;
      for (int64_t k = 0; k < boxes; ++k) {
        if (best[k].anchor < 0) continue;
        if (state[best[k].anchor] == POSITIVE) {
          best[k] = best_free_anchor(shares + k * n, state, n, least);
          if (best[k].anchor < 0) continue;
        }
        if (chosen < 0 || best[k].share > best[chosen].share ||
            (best[k].share == best[chosen].share && best[k].anchor < best[chosen].anchor))
          chosen = k;
      }
      if (chosen < 0) break;
      const int64_t j = best[chosen].anchor;
      state[j] = POSITIVE, match[j] = static_cast<int32_t>(chosen);
      best[chosen].anchor = -1;
      ++positives;
    }
    return positives;
  }

  // Matches further anchors that overlap a box by more than `enough`. Returns how many.
  int64_t match_overlapping_anchors(float enough) {
    int64_t positives = 0;
    for (int64_t j = 0; j < n; ++j)
      if (state[j] != POSITIVE && best_share[j] > enough) {
        state[j] = POSITIVE, match[j] = best_box[j];
        ++positives;
      }
    return positives;
  }

  // Makes negatives of `most` anchors that look least like background, among those that overlap no
  // box by `maximum`. Overwrites best_share and best_box.
  void mine_negatives(int64_t most, float maximum, const float* scores, int64_t classes,
                      float* likely) {
    int64_t found = 0;
    int32_t* which = best_box;
    for (int64_t j = 0; j < n && most > 0; ++j)
      if (state[j] != POSITIVE && best_share[j] < maximum) {
        likely[found] = background_share(scores + j, classes, n);
        which[found++] = static_cast<int32_t>(j);
      }
    most = std::min(most, found);
    int32_t* ranks = reinterpret_cast<int32_t*>(best_share);
    order_by_score(likely, ranks, found, most, true);
    for (int64_t i = 0; i < most; ++i) state[which[ranks[i]]] = NEGATIVE;
  }
};

// Computes the targets of the anchors of one image.
void match_anchors(const TargetParams& o, const float* anchors, int64_t n, const float* labels,
                   int64_t boxes, int64_t width, const float* scores, int64_t classes, float* codes,
                   float* mask, float* kinds, char* space) {
  const float enough = float(o.overlap_threshold), ratio = float(o.negative_mining_ratio);
  std::memset(codes, 0, 4 * n * sizeof(float));
  std::memset(mask, 0, 4 * n * sizeof(float));
  std::fill(kinds, kinds + n, static_cast<float>(o.ignore_label));
  if (boxes == 0) return;

  ScratchArena pieces(space);
  AnchorMatches matches(pieces, n, boxes);
  float* likely = pieces.allocate<float>(n);
  matches.compute_overlaps(anchors, labels, width);
  int64_t positives = matches.match_boxes(pieces.allocate<BestAnchor>(boxes));
  if (enough > 0) positives += matches.match_overlapping_anchors(enough);
  if (ratio > 0) {
    const int64_t most = static_cast<int64_t>(static_cast<float>(positives) * ratio);
    matches.mine_negatives(std::min(most, n - positives), float(o.negative_mining_thresh), scores,
                           classes, likely);
  }
  for (int64_t j = 0; j < n; ++j) {
    if (matches.state[j] == NEGATIVE || (ratio <= 0 && matches.state[j] == UNUSED)) kinds[j] = 0;
    if (matches.state[j] != POSITIVE) continue;
    const float* label = labels + matches.match[j] * width;
    kinds[j] = label[0] + 1;
    encode_box(corners_of(anchors + 4 * j, false), corners_of(label + 1, false), codes + 4 * j);
    for (int k = 0; k < 4; ++k) {
      mask[4 * j + k] = 1;
      codes[4 * j + k] /= float(o.variances[k]);
    }
  }
}

inline int64_t target_workspace_bytes(const Args& args) {
  return args.threads * target_scratch_bytes(args.in[0]->shape[1], args.in[1]->shape[1]);
}

// reads anchor (1, n, 4), label (batch, rows, width), cls_pred (batch, classes, n)
template <typename T>
void multibox_target(const Args& args) {
  const int64_t n = args.in[0]->shape[1], batch = args.in[1]->shape[0];
  const int64_t rows = args.in[1]->shape[1], width = args.in[1]->shape[2];
  const int64_t classes = args.in[2]->shape[1];
  const float* labels = args.input<float>(1);
  for (int64_t i = 0; i < batch; ++i) {  // a row of class -1 is padding
    const int64_t row = count_boxes(labels + i * rows * width, rows, width);
    for (int64_t k = 1; row < rows && k < 5; ++k)
      if (labels[(i * rows + row) * width + k] != -1.0f)
        return args.fail(i * rows + row, {double(i), double(row)});
  }
  for_images(args, batch, target_scratch_bytes(n, rows), [&](int64_t i, char* space) {
    const float* mine = labels + i * rows * width;
    match_anchors(args.as<TargetParams>(), args.input<float>(0), n, mine,
                  count_boxes(mine, rows, width), width, args.input<float>(2) + i * n * classes,
                  classes, args.output<float>(0) + i * n * 4, args.output<float>(1) + i * n * 4,
                  args.output<float>(2) + i * n, space);
  });
}

#define DETECTION_FIELDS(field)                                                      \
  field(double, threshold) field(double, nms_threshold) field(Doubles<4>, variances) \
      field(int64_t, nms_topk) field(bool, clip) field(bool, force_suppress)
CYNET_PARAMS(DetectionParams, DETECTION_FIELDS)

inline int64_t detection_scratch_bytes(int64_t n) {
  return aligned_bytes<float>(6 * n) + aligned_bytes<float>(n) + 2 * aligned_bytes<int32_t>(n) +
         BoxCandidates<float>::bytes(n);
}

// Writes rows (class, score, left, top, right, bottom) of one image; class -1: unused row.
void detect_boxes(const DetectionParams& o, const float* scores, int64_t classes,
                  const float* codes, const float* anchors, int64_t n, float* out, void* space) {
  const float threshold = float(o.threshold), maximum = float(o.nms_threshold);
  ScratchArena pieces(space);
  float* best = pieces.allocate<float>(n);
  int32_t* best_kind = pieces.allocate<int32_t>(n);
  std::fill(best, best + n, -1.0f);
  std::fill(best_kind, best_kind + n, 0);
  for (int64_t k = 1; k < classes; ++k)  // a row of scores at a time
    for (int64_t i = 0; i < n; ++i) {
      const bool more = scores[k * n + i] > best[i];
      best[i] = more ? scores[k * n + i] : best[i];
      best_kind[i] = more ? static_cast<int32_t>(k) : best_kind[i];
    }
  int64_t valid = 0;
  for (int64_t i = 0; i < n; ++i) {
    const float score = best[i];
    const int32_t kind = best_kind[i];
    if (kind == 0 || score < threshold) continue;
    float* row = out + 6 * valid++;
    row[0] = static_cast<float>(kind - 1);
    row[1] = score;
    const float* a = anchors + 4 * i;
    const float* c = codes + 4 * i;
    const float w = a[2] - a[0], h = a[3] - a[1];
    const float x = c[0] * float(o.variances[0]) * w + (a[0] + a[2]) / 2;
    const float y = c[1] * float(o.variances[1]) * h + (a[1] + a[3]) / 2;
    const float half_w = std::exp(c[2] * float(o.variances[2])) * w / 2;
    const float half_h = std::exp(c[3] * float(o.variances[3])) * h / 2;
    const float box[4] = {x - half_w, y - half_h, x + half_w, y + half_h};
    for (int k = 0; k < 4; ++k)
      row[2 + k] = o.clip ? std::max(0.0f, std::min(1.0f, box[k])) : box[k];
  }
  std::fill(out + 6 * valid, out + 6 * n, -1.0f);
  if (valid == 0 || !(maximum > 0 && maximum <= 1)) return;

  float* rows = pieces.allocate<float>(6 * valid);
  float* score = best;  // reuses memory that is no longer needed
  int32_t* order = best_kind;
  int32_t* keep = pieces.allocate<int32_t>(valid);
  std::memcpy(rows, out, 6 * valid * sizeof(float));
  for (int64_t i = 0; i < valid; ++i) score[i] = rows[6 * i + 1];
  const int64_t some = o.nms_topk > 0 && o.nms_topk < valid ? o.nms_topk : valid;
  order_by_score(score, order, valid, some, false);
  BoxCandidates<float> candidates(&pieces, some, !o.force_suppress, 0);
  for (int64_t i = 0; i < some; ++i)
    std::memcpy(out + 6 * i, rows + 6 * order[i], 6 * sizeof(float));
  candidates.fill(
      some, [=](int64_t i) { return corners_of(out + 6 * i + 2, false); },
      [=](int64_t i) { return out[6 * i]; });
  suppress_overlaps(candidates, some, some, maximum, true, keep);
  for (int64_t i = 0; i < valid; ++i)  // suppressed rows still have score and box, as in MXNet
    if (i >= some || candidates.gone[i] != 0) out[6 * i] = -1;
}

inline int64_t detection_workspace_bytes(const Args& args) {
  return args.threads * detection_scratch_bytes(args.in[2]->shape[1]);
}

// reads cls_prob (batch, classes, n), loc_pred (batch, 4 n), anchor (1, n, 4)
template <typename T>
void multibox_detection(const Args& args) {
  const int64_t batch = args.in[0]->shape[0], classes = args.in[0]->shape[1];
  const int64_t n = args.in[2]->shape[1];
  for_images(args, batch, detection_scratch_bytes(n), [&](int64_t i, char* space) {
    detect_boxes(args.as<DetectionParams>(), args.input<float>(0) + i * n * classes, classes,
                 args.input<float>(1) + i * n * 4, args.input<float>(2), n,
                 args.output<float>(0) + i * n * 6, space);
  });
}

}  // namespace
}  // namespace cynet

CYNET_PLAIN_KERNEL(multibox_prior, PriorParams, 8, float)
CYNET_PLAIN_SPACE_KERNEL(multibox_target, TargetParams, 64, target_workspace_bytes, float)
CYNET_PLAIN_SPACE_KERNEL(multibox_detection, DetectionParams, 16, detection_workspace_bytes, float)
