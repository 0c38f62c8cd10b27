// Regions that a region proposal network proposes (Proposal, MultiProposal).
#include "detection/boxes.h"

namespace cynet {
namespace {

// `anchors` (n, 4) belong to the first pixel
#define PROPOSAL_FIELDS(field)                                                                \
  field(Floats, anchors) field(int64_t, rpn_pre_nms_top_n) field(int64_t, rpn_post_nms_top_n) \
      field(int64_t, feature_stride) field(double, threshold) field(int64_t, rpn_min_size)    \
          field(bool, iou_loss)
CYNET_PARAMS(ProposalParams, PROPOSAL_FIELDS)

inline int64_t proposal_scratch_bytes(int64_t n) {
  return aligned_bytes<float>(4 * n) + aligned_bytes<float>(n) + 2 * aligned_bytes<int32_t>(n) +
         BoxCandidates<float>::bytes(n);
}

inline float clip(float value, float maximum) { return std::max(std::min(value, maximum), 0.0f); }

// The box that an anchor and its predicted deltas give, clipped to the image.
inline Corners<float> proposed_box(const Corners<float>& a, const float* delta, int64_t step,
                                   float right, float bottom, bool iou_loss) {
  const float d0 = delta[0], d1 = delta[step], d2 = delta[2 * step], d3 = delta[3 * step];
  if (iou_loss)
    return {clip(a.left + d0, right), clip(a.top + d1, bottom), clip(a.right + d2, right),
            clip(a.bottom + d3, bottom)};
  const float w = a.right - a.left + 1.0f, h = a.bottom - a.top + 1.0f;
  const float x = d0 * w + (a.left + 0.5f * (w - 1.0f)), y = d1 * h + (a.top + 0.5f * (h - 1.0f));
  const float pw = std::exp(d2) * w, ph = std::exp(d3) * h;
  return {clip(x - 0.5f * (pw - 1.0f), right), clip(y - 0.5f * (ph - 1.0f), bottom),
          clip(x + 0.5f * (pw - 1.0f), right), clip(y + 0.5f * (ph - 1.0f), bottom)};
}

// The number of feature map positions that lie in an image of this length.
inline float proposal_extent(float length, const ProposalParams& o) {
  return std::trunc(length / o.feature_stride);
}

// Writes the regions of one image: rows (batch_index, left, top, right, bottom) and scores; too few
// regions are repeated from the first on. `scores` are those of the foreground (n_anchors, height,
// width), `deltas` (4 * n_anchors, height, width), `info` the image's height, width and scale.
void select_proposals(const ProposalParams& o, int64_t height, int64_t width, const float* scores,
                      const float* deltas, const float* info, float batch_index, float* out,
                      float* out_scores, void* space) {
  const int64_t area = height * width, n_anchors = o.anchors.n / 4, n = area * n_anchors;
  const float in_h = proposal_extent(info[0], o), in_w = proposal_extent(info[1], o);
  const float least = o.rpn_min_size * info[2];
  ScratchArena pieces(space);
  Corners<float>* boxes = pieces.allocate<Corners<float>>(n);
  float* score = pieces.allocate<float>(n);
  int32_t* order = pieces.allocate<int32_t>(n);
  int32_t* keep = pieces.allocate<int32_t>(n);
  for (int64_t place = 0; place < area; ++place) {
    const float x = static_cast<float>(place % width), y = static_cast<float>(place / width);
    for (int64_t a = 0; a < n_anchors; ++a) {
      Corners<float> box = corners_of(o.anchors.at + 4 * a, false);
      box.left += x * o.feature_stride, box.right += x * o.feature_stride;
      box.top += y * o.feature_stride, box.bottom += y * o.feature_stride;
      box = proposed_box(box, deltas + 4 * a * area + place, area, info[1] - 1.0f, info[0] - 1.0f,
                         o.iou_loss);
      const int64_t i = place * n_anchors + a;
      score[i] = y >= in_h || x >= in_w ? -1.0f : scores[a * area + place];
      if (box.right - box.left + 1.0f < least || box.bottom - box.top + 1.0f < least) {
        box.left -= least / 2, box.top -= least / 2;  // too small a box sorts last
        box.right += least / 2, box.bottom += least / 2;
        score[i] = -1.0f;
      }
      boxes[i] = box;
    }
  }
  const int64_t some = o.rpn_pre_nms_top_n > 0 ? std::min(o.rpn_pre_nms_top_n, n) : n;
  order_by_score(score, order, n, some, false);
  BoxCandidates<float> candidates(&pieces, some, false, 1.0f);
  candidates.fill(some, [=](int64_t i) { return boxes[order[i]]; }, [](int64_t) { return 0.0f; });
  const int64_t after = o.rpn_post_nms_top_n, maximum = std::min(after, some);
  const int64_t found =
      suppress_overlaps(candidates, some, maximum, static_cast<float>(o.threshold), false, keep);
  for (int64_t i = 0; i < after; ++i) {
    const int64_t from = order[keep[i % found]];
    const float row[5] = {batch_index, boxes[from].left, boxes[from].top, boxes[from].right,
                          boxes[from].bottom};
    std::copy(row, row + 5, out + 5 * i);
    out_scores[i] = score[from];
  }
}

inline int64_t proposal_workspace_bytes(const Args& args) {
  return args.threads * proposal_scratch_bytes(args.in[0]->size / args.in[0]->shape[0] / 2);
}

// reads cls_prob (batch, 2 A, H, W), bbox_pred, im_info; writes output, score
template <typename T>
void proposal(const Args& args) {
  const ProposalParams& p = args.as<ProposalParams>();
  const int64_t *shape = args.in[0]->shape, n = args.in[0]->size / shape[0];
  const int64_t after = p.rpn_post_nms_top_n;
  const float* info = args.input<float>(2);
  for (int64_t i = 0; i < shape[0]; ++i)  // NaN and too large values are refused
    if (!(proposal_extent(info[3 * i], p) <= shape[2] &&
          proposal_extent(info[3 * i + 1], p) <= shape[3]))
      return args.fail(i, {info[3 * i], info[3 * i + 1], double(shape[2]), double(shape[3])});
  for_images(args, shape[0], proposal_scratch_bytes(n / 2), [&](int64_t i, char* space) {
    select_proposals(p, shape[2], shape[3], args.input<float>(0) + i * n + n / 2,
                     args.input<float>(1) + i * 2 * n, info + 3 * i, static_cast<float>(i),
                     args.output<float>(0) + i * after * 5, args.output<float>(1) + i * after,
                     space);
  });
}

}  // namespace
}  // namespace cynet

CYNET_PLAIN_SPACE_KERNEL(proposal, ProposalParams, 32, proposal_workspace_bytes, float)
