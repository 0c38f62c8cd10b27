"""Overlaps, suppression, matching, and codes of boxes; T is float or double."""

from libc.stdint cimport int32_t, int64_t

cdef extern from "detection/bounding_box.h" namespace "cynet" nogil:
    # out[j] (+)= overlap of a box (4 numbers) and box j of m
    void box_overlaps[T](const T* box, const T* others, int64_t m, bint center, T* out,
                         bint add) noexcept

    cdef struct NmsOptions:
        double overlap
        double valid
        int64_t topk
        int64_t coord
        int64_t score
        int64_t id
        int64_t background
        bint force
        bint center_in
        bint center_out

    int64_t nms_bytes[T](int64_t n) noexcept
    # One image of n rows of `width` numbers; `space` has nms_bytes(n).
    void box_nms[T](const NmsOptions& options, const T* data, int64_t n, int64_t width, T* out,
                    int32_t* record, void* space) noexcept
    # Adds to dx.
    void box_nms_backward[T](const NmsOptions& options, const T* dy, const int32_t* record,
                             int64_t n, int64_t width, T* dx) noexcept
    # `order` has rows * columns elements.
    void bipartite_matching[T](const T* scores, int64_t rows, int64_t columns, T threshold,
                               bint ascending, int64_t topk, T* row_out, T* column_out,
                               int64_t* order) noexcept
    # One image; the first sample whose match is no box, or -1.
    int64_t box_encode[T](const T* samples, const T* matches, const T* anchors, const T* refs,
                          int64_t n, int64_t boxes, const T* means, const T* stds, T* out,
                          T* mask) noexcept
    # One image.
    void box_decode[T](const T* data, const T* anchors, int64_t n, const T* stds, T clip,
                       bint center, T* out, bint add) noexcept
