"""Concatenates 8-bit arrays."""

from libc.stdint cimport int64_t

cdef extern from "quantization/concat.h" namespace "cynet" nogil:
    struct ConcatPart:
        const void* data
        int64_t length  # length of a line
        float scale     # step of the part / step of the output
        int is_signed
    void concat_bytes(int level, int threads, const ConcatPart* parts, int n, int64_t outer,
                      void* out, int is_signed) noexcept
