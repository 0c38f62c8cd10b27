"""Changes of an image's colors, and draws of how much."""

from libc.stdint cimport int64_t, uint64_t

cdef extern from "image/colors.h" namespace "cynet" nogil:
    cdef enum ColorKind:
        kBrightness
        kContrast
        kSaturation
        kHue
        kLight

    cdef struct ColorChange:
        int kind
        float factor
        float light[3]

    # out = the changed image `image`, of n pixels; out may be data
    void change_colors(int dtype, const ColorChange& how, const void* data, int64_t image,
                       int64_t n, int64_t channels, void* out) noexcept
    void light_of(const float* parts, float* light) noexcept
    bint draw_mirrored(uint64_t seed, uint64_t stream, int64_t image) noexcept
    void draw_factor(uint64_t seed, uint64_t stream, int64_t image, float low, float high,
                     ColorChange* how) noexcept
    void draw_light(uint64_t seed, uint64_t stream, int64_t image, float deviation,
                    ColorChange* how) noexcept
    # At most four changes, in a drawn order; how many.
    int draw_jitter(uint64_t seed, uint64_t stream, int64_t image, const float* strengths,
                    ColorChange* changes) noexcept
