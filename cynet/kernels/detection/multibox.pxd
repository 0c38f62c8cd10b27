"""Anchors of an SSD, their targets, and detections; float32."""

from libc.stdint cimport int64_t

cdef extern from "detection/multibox.h" namespace "cynet" nogil:
    cdef struct PriorOptions:
        const float* sizes
        const float* ratios
        int64_t n_sizes
        int64_t n_ratios
        float step_y
        float step_x
        float offset_y
        float offset_x
        bint clip

    # One row of places: (width * (n_sizes + n_ratios - 1), 4) boxes
    void multibox_prior(const PriorOptions& options, int64_t row, int64_t height, int64_t width,
                        float* out, bint add) noexcept

    cdef struct TargetOptions:
        float overlap
        float ignore
        float mining_ratio
        float mining_overlap
        float variances[4]

    int64_t target_bytes(int64_t anchors, int64_t boxes) noexcept
    # One image of n anchors and `rows` labels; -1, or the row that is neither label nor padding.
    int64_t multibox_target(const TargetOptions& options, const float* anchors, int64_t n,
                            const float* labels, int64_t rows, int64_t width, const float* scores,
                            int64_t classes, float* codes, float* mask, float* kinds,
                            void* space) noexcept

    cdef struct DetectionOptions:
        float threshold
        float overlap
        float variances[4]
        int64_t topk
        bint clip
        bint force

    int64_t detection_bytes(int64_t n) noexcept
    # One image of n anchors.
    void multibox_detection(const DetectionOptions& options, const float* scores, int64_t classes,
                            const float* codes, const float* anchors, int64_t n, float* out,
                            void* space) noexcept
