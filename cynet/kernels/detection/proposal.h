// Regions that a region proposal network proposes (Proposal, MultiProposal).
#ifndef CYNET_DETECTION_PROPOSAL_H
#define CYNET_DETECTION_PROPOSAL_H

#include "detection/boxes.h"

namespace cynet {

struct ProposalOptions {
  const float* anchors;  // (n_anchors, 4), around the first place
  int64_t n_anchors, height, width, before, after, stride;
  float threshold, min_size;
  bool iou_loss;
};

inline int64_t proposal_bytes(int64_t n) {
  return piece_bytes<float>(4 * n) + piece_bytes<float>(n) + 2 * piece_bytes<int32_t>(n) +
         Candidates<float>::bytes(n);
}

inline float within(float value, float most) {
  return std::max(std::min(value, most), 0.0f);
}

// The box that the deltas of an anchor say, inside the image.
inline Corners<float> proposed_box(const Corners<float>& a, const float* delta, int64_t step,
                                   float right, float bottom, bool iou_loss) {
  const float d0 = delta[0], d1 = delta[step], d2 = delta[2 * step], d3 = delta[3 * step];
  if (iou_loss)
    return {within(a.left + d0, right), within(a.top + d1, bottom), within(a.right + d2, right),
            within(a.bottom + d3, bottom)};
  const float w = a.right - a.left + 1.0f, h = a.bottom - a.top + 1.0f;
  const float x = d0 * w + (a.left + 0.5f * (w - 1.0f)), y = d1 * h + (a.top + 0.5f * (h - 1.0f));
  const float pw = std::exp(d2) * w, ph = std::exp(d3) * h;
  return {within(x - 0.5f * (pw - 1.0f), right), within(y - 0.5f * (ph - 1.0f), bottom),
          within(x + 0.5f * (pw - 1.0f), right), within(y + 0.5f * (ph - 1.0f), bottom)};
}

// Regions of one image: `after` rows (batch_index, left, top, right, bottom), where there are fewer
// again from the first on, and their scores if asked for. `scores` are those of the foreground
// (n_anchors, height, width), `deltas` (4 * n_anchors, height, width), `info` the image's height,
// width and scale. The result: 0, or -1 where the image is larger than the map of scores.
inline int proposals(const ProposalOptions& o, const float* scores, const float* deltas,
                     const float* info, float batch_index, float* out, float* out_scores,
                     void* space) {
  const int64_t area = o.height * o.width, n = area * o.n_anchors;
  // lengths of that part of the map which is in the image; NaN and what is too large is refused
  const float in_h = std::trunc(info[0] / o.stride), in_w = std::trunc(info[1] / o.stride);
  if (!(in_h <= o.height && in_w <= o.width)) return -1;
  const float least = o.min_size * info[2];
  Pieces pieces(space);
  Corners<float>* boxes = pieces.take<Corners<float>>(n);
  float* score = pieces.take<float>(n);
  int32_t* order = pieces.take<int32_t>(n);
  int32_t* kept = pieces.take<int32_t>(n);
  for (int64_t place = 0; place < area; ++place) {
    const float x = static_cast<float>(place % o.width), y = static_cast<float>(place / o.width);
    for (int64_t a = 0; a < o.n_anchors; ++a) {
      Corners<float> box = corners_of(o.anchors + 4 * a, false);
      box.left += x * o.stride, box.right += x * o.stride;
      box.top += y * o.stride, box.bottom += y * o.stride;
      box = proposed_box(box, deltas + 4 * a * area + place, area, info[1] - 1.0f, info[0] - 1.0f,
                         o.iou_loss);
      const int64_t i = place * o.n_anchors + a;
      score[i] = y >= in_h || x >= in_w ? -1.0f : scores[a * area + place];
      if (box.right - box.left + 1.0f < least || box.bottom - box.top + 1.0f < least) {
        box.left -= least / 2, box.top -= least / 2;  // too small: among the last
        box.right += least / 2, box.bottom += least / 2;
        score[i] = -1.0f;
      }
      boxes[i] = box;
    }
  }
  const int64_t some = o.before > 0 ? std::min(o.before, n) : n;
  order_by_score(score, order, n, some, false);
  Candidates<float> candidates(&pieces, some, false, 1.0f);
  candidates.fill(some, [=](int64_t i) { return boxes[order[i]]; }, [](int64_t) { return 0.0f; });
  const int64_t found =
      suppress(candidates, some, std::min(o.after, some), o.threshold, false, kept);
  for (int64_t i = 0; i < o.after; ++i) {
    const int64_t from = order[kept[i % found]];
    const float row[5] = {batch_index, boxes[from].left, boxes[from].top, boxes[from].right,
                          boxes[from].bottom};
    std::copy(row, row + 5, out + 5 * i);
    if (out_scores) out_scores[i] = score[from];
  }
  return 0;
}

}  // namespace cynet

#endif
