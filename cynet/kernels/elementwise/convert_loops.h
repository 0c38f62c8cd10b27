// Conversion of contiguous elements, compiled for each CPU level (levels.h). Included by
// broadcast.h and strided_copy_loops.h.

// Converts elements to float16 by the CPU's instruction; returns the number converted. (The way
// back is not used: it would make signalling NaN quiet.)
CYNET_XINLINE int64_t convert_halves(const float* src, half* dst, int64_t n) {
  int64_t i = 0;
#if CYNET_LANES == 16
  for (; i + 16 <= n; i += 16) {
    const __m256i bits = _mm512_cvtps_ph(_mm512_loadu_ps(src + i), 0);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + i), bits);
  }
#endif
  (void)src, (void)dst, (void)n;
  return i;
}

template <typename From, typename To>
void convert_run(const void* src_, void* dst_, int64_t n) {
  const From* src = static_cast<const From*>(src_);
  To* dst = static_cast<To*>(dst_);
  int64_t i = 0;
  if constexpr (std::is_same<From, float>::value && std::is_same<To, half>::value)
    i = convert_halves(src, dst, n);
  for (; i < n; ++i) dst[i] = convert_one<To>(src[i]);
}
