"""Convolutions of integers of 8 bits with exact sums of 32 bits (int8_conv.h).

data (batch, *in_size, channels) of uint8 or int8, weight (filters, channels / groups, *kernel) of
int8, packed; three spatial axes, of which the first ones may be of length 1. Results do not depend
on the number of threads.
"""

from libc.stdint cimport int8_t, int32_t, int64_t

cdef extern from "quantization/int8_conv.h" namespace "cynet" nogil:
    struct Int8Conv:
        int64_t batch, channels, filters, groups
        int64_t in_size[3]
        int64_t out_size[3]
        int64_t kernel[3]
        int64_t stride[3]
        int64_t dilate[3]
        int64_t pad[3]

    # out = min(max(sum * scale[f] + bias[f] + residual * residual_unit, low), high), rounded to
    # even where out is of integers; without scale the sum itself, plus whole[f].
    struct Int8Epilogue:
        const float* scale
        const float* bias
        const int32_t* whole
        const void* residual
        int residual_dtype, out_dtype
        float residual_unit, low, high

    # Bytes of the packed weight, which int8_pack makes and int8_conv reads.
    int64_t int8_packed_size(int level, const Int8Conv& c) noexcept
    void int8_pack(int level, const Int8Conv& c, const int8_t* weight, void* packed) noexcept
    int64_t int8_workspace_bytes(int level, const Int8Conv& c, int threads) noexcept
    void int8_conv(int level, const Int8Conv& c, const void* data, bint is_signed,
                   const void* packed, const Int8Epilogue& e, void* out, int threads,
                   char* space) noexcept
    int64_t nan_index(const float* x, int64_t n, int threads) noexcept  # -1: no NaN
    # from (batch, rows, columns) to (batch, columns, rows), elements of 1 or 4 bytes, optionally
    # added to the output: integers wrap
    void transpose_integers(const void* source, void* to, int64_t size, int64_t batch, int64_t rows,
                            int64_t columns, bint add, int threads) noexcept
