"""Regions that a region proposal network proposes; float32."""

from libc.stdint cimport int64_t

cdef extern from "detection/proposal.h" namespace "cynet" nogil:
    cdef struct ProposalOptions:
        const float* anchors
        int64_t n_anchors
        int64_t height
        int64_t width
        int64_t before
        int64_t after
        int64_t stride
        float threshold
        float min_size
        bint iou_loss

    int64_t proposal_bytes(int64_t n) noexcept
    # One image; 0, or -1 where it is larger than the map of scores. `out_scores` may be NULL.
    int proposals(const ProposalOptions& options, const float* scores, const float* deltas,
                  const float* info, float batch_index, float* out, float* out_scores,
                  void* space) noexcept
